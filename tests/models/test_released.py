"""Released models outside the installation are downloaded from a Hub repository, and their files are checked."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest

import models
from models import catalogue
from models.storage import checkpoint, released
from models.storage.checkpoint import digest

NAME, COMMIT = "assignment-softmax", "0123456789abcdef0123456789abcdef01234567"
CHECKPOINT = f"{NAME}@100"
CLONE = released.PACKAGED


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the folder of a simulated Hub repository with one model. The installation has no model files; the
    downloads read this folder."""
    installed, repository = tmp_path / "installed", tmp_path / "hub"
    shutil.copytree(CLONE / NAME, repository / NAME)
    installed.mkdir()
    (installed / released.DIGESTS).write_text(json.dumps(
        {name: {path.name: digest(path) for path in (CLONE / released.place_of(name)).iterdir() if path.is_file()}
         for name in (NAME, CHECKPOINT)} | {"assignment-random": {}}))

    def download(repo_id: str, filename: str, *, revision: str) -> str:
        assert (repo_id, revision) == ("ORG/models", COMMIT)
        if not (repository / filename).exists():
            raise OSError(f"404 {filename}\nmore")
        return str(repository / filename)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", installed)
    found = json.loads((installed / released.DIGESTS).read_text())
    monkeypatch.setattr(released, "digests", lambda: found)
    monkeypatch.setenv(released.SETTING, f"ORG/models@{COMMIT}")
    yield repository
    released._downloaded.cache_clear()


def test_a_repository_that_is_named_has_the_model(hub: Path):
    assert models.names() == []
    info = catalogue.find(NAME)
    assert (info.name, info.shape) == (NAME, {"self": (3, 4)})
    assert catalogue.find(CHECKPOINT).steps == 100


def test_a_file_that_is_not_the_released_one_is_refused(hub: Path):
    with (hub / NAME / "config.json").open("a") as file:
        file.write(" ")
    with pytest.raises(ValueError, match="config.json of assignment-softmax in ORG/models is not the released file"):
        catalogue.find(NAME)


def test_a_file_that_does_not_come_is_named(hub: Path):
    (hub / NAME / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=rf"ORG/models \(ATTENTION_LAB_MODELS\): 404 {NAME}/model.safetensors$"):
        catalogue.find(NAME)


def test_a_name_that_is_not_released_asks_the_hub_nothing(hub: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", None)
    for name in ("other", "../hub/assignment-softmax"):
        with pytest.raises(ValueError, match="no model is called"):
            catalogue.find(name)


@pytest.mark.parametrize("place", ["", "/nowhere", "ORG/models@main", f"ORG/models@{COMMIT[1:]}"])
def test_without_a_repository_the_message_says_what_to_set(hub: Path, monkeypatch: pytest.MonkeyPatch, place: str):
    monkeypatch.setenv(released.SETTING, place)
    with pytest.raises(ValueError, match="is not installed.*ATTENTION_LAB_MODELS can"):
        catalogue.find(NAME)


def test_a_place_that_is_neither_a_folder_nor_a_repository_is_named(hub: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(released.SETTING, "ORG/models@main")
    assert released.checkpoints() == Path("ORG/models@main")
    with pytest.raises(ValueError, match="ORG/models@main, neither a folder nor ORG/NAME@COMMIT"):
        catalogue.find("other")


def test_a_folder_replaces_the_packaged_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(released.SETTING, str(tmp_path))
    assert released.checkpoints() == tmp_path

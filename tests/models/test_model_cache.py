"""Loaded models: the most recently used ones stay within MEMORY; models that are not installed come from a Hub."""

import gc
import json
import shutil
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import huggingface_hub
import pytest
from tiny import make_lab, make_model, random_ids, trace_of, written

import models
from models import catalogue, loading
from models.nets.mean_patterns import mean_patterns
from models.storage import checkpoint, released
from models.storage.checkpoint import CheckpointError, digest
from models.tasks import TASKS
from models.tasks.assignment import AssignmentReader
from models.training.recipes import RECIPES

NAMES = [name for name in RECIPES if name.startswith("assignment")]  # the four models of assignment


@pytest.fixture
def loads(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the released models by tiny models of equal size. Returns the list of names in the order of loading."""
    for seed, name in enumerate(NAMES):
        model = make_model("softmax", seed, length=21)
        texts = TASKS["assignment"].build().corpus.typical(4)
        constant = mean_patterns(model, texts[:, :model.limit(AssignmentReader.limit)])
        written(checkpoints / name, "assignment", model, {"self": constant})
    read, read_model = [], checkpoint.read_model

    def counted(folder):
        read.append(folder.name)
        return read_model(folder)

    monkeypatch.setattr(checkpoint, "read_model", counted)
    return read


def room_for(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empties the cache and sets its memory to the size of `count` and a half tiny models."""
    sizes = {models.load(name).nbytes for name in NAMES}
    assert len(sizes) == 1
    loading._held.clear()
    monkeypatch.setattr(loading, "MEMORY", (count + 0.5) * sizes.pop())


def test_nbytes_is_the_memory_of_weights_and_matrices():
    tables = 2 * 4 * 128**2  # parameters of the tables: 2 layers of 4 heads
    others = 64 * 32 + 2 * (2 * 32**2 + 8 * 32**2 + 2 * 32) + 32  # parameters of embedding, blocks and norm
    for attention in ("random", "fixed-random"):  # the tables of fixed-random are buffers, which are counted too
        assert make_lab(attention).nbytes == 4 * (tables + others + 2 * 4 * 128**2)


def test_the_least_recently_used_model_is_evicted(loads: list[str], monkeypatch: pytest.MonkeyPatch):
    room_for(2, monkeypatch)
    loads.clear()
    one, two, three, _ = NAMES
    for name in (one, two, one, three):  # `two` is evicted; `one` is not, because it was used again
        models.load(name)
    models.load(one)
    assert loads == [one, two, three]
    models.load(two)
    assert loads == [one, two, three, two]
    assert sum(held.nbytes for held in loading._held.values()) <= loading.MEMORY


def test_an_evicted_model_is_freed(loads: list[str], monkeypatch: pytest.MonkeyPatch):
    room_for(1, monkeypatch)
    gone = weakref.ref(models.load(NAMES[0]))
    weights = weakref.ref(gone().model.embedding.weight)
    models.load(NAMES[1])
    gc.collect()
    assert gone() is None and weights() is None


def test_what_somebody_uses_lives_on(loads: list[str], monkeypatch: pytest.MonkeyPatch):
    """An evicted model still works for its user. A new request gets another object with the same weights."""
    room_for(1, monkeypatch)
    used = models.load(NAMES[0])
    before = trace_of(used, random_ids(1, 12)[0]).output.distribution
    models.load(NAMES[1])
    assert (trace_of(used, random_ids(1, 12)[0]).output.distribution == before).all()
    again = models.load(NAMES[0])
    assert again is not used
    assert (trace_of(again, random_ids(1, 12)[0]).output.distribution == before).all()


def test_one_model_is_cached_whatever_its_size(loads: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loading, "MEMORY", 1)
    for name in NAMES:
        assert models.load(name) is models.load(name)
    assert loads == NAMES


def test_a_model_that_cannot_be_read_pushes_nobody_out(loads: list[str], monkeypatch: pytest.MonkeyPatch):
    room_for(2, monkeypatch)
    held = [models.load(name) for name in NAMES[:2]]
    (checkpoint.CHECKPOINTS / NAMES[2] / "model.safetensors").unlink()
    with pytest.raises(CheckpointError):
        models.load(NAMES[2])
    assert [models.load(name) for name in NAMES[:2]] == held


def test_many_visitors_with_little_memory(loads: list[str], monkeypatch: pytest.MonkeyPatch):
    room_for(2, monkeypatch)
    wanted = NAMES * 10
    with ThreadPoolExecutor(8) as pool:
        assert [found.name for found in pool.map(models.load, wanted)] == wanted
    assert sum(held.nbytes for held in loading._held.values()) <= loading.MEMORY


def test_models_of_a_family_share_their_task(loads: list[str]):
    """Its tokenizer is large."""
    assert len({id(models.load(name).task) for name in NAMES}) == 1


def test_the_name_of_version_1_0_still_works():
    assert models.held is models.cached


NAME, COMMIT = "assignment-softmax", "0123456789abcdef0123456789abcdef01234567"
CHECKPOINT = f"{NAME}@100"
CLONE = released.PACKAGED


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the folder that a simulated Hub repository serves; the installation itself has no model files."""
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

"""The repository's data sets: every file has the digest in its SOURCE.txt, and every file is listed there."""

import gzip
import hashlib
import re
import runpy
from pathlib import Path

import pytest

from models.storage.datasets import DATA, files

SETS = ("banking77", "blimp", "broad_twitter_corpus", "hellaswag_activitynet", "ntsb_probable_cause", "snips",
        "snli_small", "standard_ebooks_children", "synthetic_persona_chat", "tatoeba_deu_eng", "tatoeba_paraphrase",
        "tinystories_excerpt", "tinystories_next_sentence", "ud_english_ewt", "wnut17")
MEGABYTES = 26  # size limit of the data folder, because many people clone the repository only to look at it


def sums(source: str) -> dict[str, list[str]]:
    """Returns file -> digests of SOURCE.txt: of the stored file, and of the content if it is compressed."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in source.partition("\nFiles (sha256")[2].splitlines()[1:]:
        if digest := re.search(r"sha256.* ([0-9a-f]{64})$", line):
            found[name].append(digest[1])
        elif line.strip():
            name = line.split()[0]
            found[name] = []
    return found


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("name", SETS)
def test_every_file_is_the_one_that_its_source_names(name: str):
    folder = DATA / name
    listed = sums((folder / "SOURCE.txt").read_text(encoding="utf-8"))
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {"SOURCE.txt", *listed}
    for file, digests in listed.items():
        stored = (folder / file).read_bytes()
        assert digests == ([sha256(stored), sha256(gzip.decompress(stored))] if file.endswith(".gz")
                           else [sha256(stored)]), file


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_a_licence_and_an_attribution(name: str):
    source = (DATA / name / "SOURCE.txt").read_text(encoding="utf-8")
    assert re.search(r"^Licence: \S", source, re.MULTILINE) and re.search(r"^Attribution.*: \S", source, re.MULTILINE)
    assert f"`{name}`" in (DATA / "README.md").read_text(encoding="utf-8")
    assert "/work" not in source


def test_there_is_no_other_set_and_not_too_much():
    assert sorted(path.name for path in DATA.iterdir() if path.is_dir()) == sorted(SETS)
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < MEGABYTES * 2**20


def test_files_that_are_not_there(tmp_path: Path):
    (tmp_path / "one").mkdir()
    for name in ("b.txt", "a.txt"):
        (tmp_path / "one" / name).touch()
    assert [path.name for path in files(tmp_path, "one/*.txt")] == ["a.txt", "b.txt"]
    with pytest.raises(FileNotFoundError, match="--data takes the folder that holds two"):
        files(tmp_path, "two/*.txt")


@pytest.mark.parametrize("command", ["models.training.evaluate", "models.training.trainer",
                                     "models.training.sweeps.__main__",
                                     "studies.prune_heads", "studies.seeds",
                                     "studies.corpus.lengths", "studies.corpus.forgetting",
                                     "studies.claims.__main__", "studies.papa.__main__"])
def test_commands_need_no_folder(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.argv", [command, "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(f"{command.replace('.', '/')}.py", run_name="__main__")
    assert "--data DIR" in (printed := capsys.readouterr().out) and "assets/data" in printed

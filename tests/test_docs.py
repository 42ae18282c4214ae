"""README, docs, CONTRIBUTING, guide, cards, code and data files agree: numbers, commands, paths, digests."""

import ast
import gzip
import hashlib
import importlib
import importlib.util
import json
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

import attention_lab
import models
from app.panels.choosing import card_of
from app.state.link import query_of, read_query
from models.storage.datasets import DATA, files
from models.tasks import TASKS
from models.training.recipes import RECIPES
from studies import claims, encoders
from studies.claims import MISSING, OPEN
from studies.prune_heads import SHIPPED
from tests.browser import ROOT
from tools import readme

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = {path: (ROOT / path).read_text(encoding="utf-8")
         for path in ("README.md", "CONTRIBUTING.md", "assets/guide.md", "assets/data/README.md",
                      "benchmarks/README.md", "docs/findings.md", "docs/models.md", "docs/python.md",
                      "docs/speed.md", "docs/hosting.md", "docs/command-line.md")}
OURS = ("app", "assets", "attention_lab", "benchmarks", "components", "deploy", "figures", "learning", "models",
        "studies", "tests", "tools")
ANY = re.compile(r"NAME|KIND|FAMILY")  # a placeholder in a path, which stands for any name


@pytest.mark.parametrize("page", readme.PAGES)
def test_the_generated_parts_are_new(page: str):
    assert readme.renewed(PAGES[page]) == PAGES[page], "python -m tools.readme"


def test_a_generated_part_is_renewed_where_it_is_older():
    row = next(line for line in PAGES["docs/models.md"].splitlines() if line.startswith("| `stories-softmax` |"))
    older = PAGES["docs/models.md"].replace(row, f"{row[:-1]}9 |")
    assert older != PAGES["docs/models.md"] and readme.renewed(older) == PAGES["docs/models.md"]
    older = README.replace("statements: holds", "statements: holds 9,")
    assert older != README and readme.renewed(older) == README
    with pytest.raises(KeyError, match="unknown"):
        readme.renewed("<!-- tools.readme: unknown -->\n<!-- end -->")


def test_the_readme_and_contributing_are_short_and_the_map_has_every_folder():
    assert len(README.encode()) <= 9_000
    assert len(CONTRIBUTING.encode()) <= 6_144
    the_map = CONTRIBUTING[CONTRIBUTING.index("## Map"):CONTRIBUTING.index("## How to add")]
    for place in ("app", "models"):
        for folder in (path.parent for path in (ROOT / place).glob("*/__init__.py")):
            assert f" {folder.name}/" in the_map, folder


def test_findings_are_the_stored_verdicts():
    """The page equals the stored verdicts, and each statement has its interval with a bar of one width."""
    page = PAGES["docs/findings.md"]
    assert page == readme.findings(), "python -m tools.readme"
    bars = [readme.bar(statement.verdict) for claim in claims.read() for statement in claim.statements
            if statement.verdict.value is not None]
    assert bars and all(len(bar) == readme.WIDTH and "o" in bar for bar in bars)
    assert all(f"`{bar}`" in page for bar in bars)


NUMBER = re.compile(r"\d+\.\d+%?")


def test_the_readmes_findings_repeat_numbers_of_results_digit_by_digit():
    """Each is also in the findings or on the Results page."""
    shown = [PAGES["docs/findings.md"], *(cell for claim in claims.read() for its in claim.statements
                                          for row in its.table for cell in row.values())]
    known = {number for text in shown for number in NUMBER.findall(text)}
    known |= {number.rstrip("%") for number in known}
    section = README.split("## Findings")[1].split("\n## ")[0]
    assert {number.rstrip("%") for number in NUMBER.findall(section)} <= known  # the unit stands apart in the findings


def test_the_studies_list_what_would_decide_each_open_statement():
    page = (ROOT / "docs/studies.md").read_text(encoding="utf-8")
    section = page.split("## What would decide")[1].split("\n## ")[0]
    named = [key for line in section.splitlines() if line.startswith("| `") for key in
             re.findall(r"`([a-z0-9-]+)`", line.split(" | ")[0])]
    assert sorted(named) == sorted(statement.key for claim in claims.read() for statement in claim.statements
                                   if statement.verdict.word in (OPEN, MISSING))


def test_every_make_target_exists_and_every_shipped_model_has_a_recipe():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^    |`)make (\w+)", "".join(PAGES.values()), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert {*models.names()} == {*RECIPES, *SHIPPED}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str):
    """Paths are relative to the root or to the page; a bare file name can be in any folder."""
    text = PAGES[page]
    named = [*re.findall(rf"`((?:{'|'.join(OURS)})/[\w./*-]*)`", text),
             *re.findall(r"`([\w.-]+\.(?:py|md|txt|toml|js|css))`", text), *re.findall(r"\]\(((?!http)[^)]+)\)", text),
             *re.findall(rf"^    ((?:{'|'.join(OURS)})/[\w./-]*)", text, re.MULTILINE)]
    for path in set(named):
        pattern = ANY.sub("*", path).split("#")[0].rstrip("/")
        found = [*ROOT.glob(pattern), *(ROOT / page).parent.glob(pattern)]
        if "/" not in path:
            found += [file for place in OURS for file in (ROOT / place).rglob(pattern)]
        assert found, f"{page}: {path}"


def commands() -> Iterator[tuple[str, str]]:
    """Yields (location, text after `python -m`) of every command in a page, a card or a measurement."""
    texts = dict(PAGES)
    texts |= {f"card of {name}": json.dumps(card_of(name)) for name in models.names()}
    texts |= {path.name: path.read_text() for path in (ROOT / "studies" / "measurements").glob("*.json")}
    texts |= {statement.key: statement.command for claim in claims.read() for statement in claim.statements}
    texts |= {str(path): path.read_text() for place in set(OURS) - {"tests"} for path in (ROOT / place).rglob("*.py")}
    for where, text in texts.items():
        found = re.findall(r"python -m ([a-z_]\w*(?:\.\w+)*)((?: [^\s`\"#;|)]+)*)", text)
        yield from ((where, module + rest) for module, rest in found)


def test_every_command_that_is_named_exists():
    """It accepts the options, and the models that it names have a recipe."""
    named = sorted(set(commands()))
    modules = {command.split()[0] for _, command in named}
    assert {"models.training", "models.training.evaluate", "models.training.sweeps", "studies.corpus.lengths",
            "benchmarks"} <= modules
    for where, command in named:
        module, *rest = command.split()
        if module.split(".")[0] not in OURS:
            assert importlib.util.find_spec(module), f"{where}: {command}"
            continue
        assert main_of(module), f"{where}: {command}"
        for option in (word.strip("[],.'") for word in rest if re.match(r"\[?--\w", word)):
            assert option in options_of(module), f"{where}: {command}"
        for name in (word for word in rest if re.fullmatch(rf"(?:{'|'.join(TASKS)})-[\w-]+", word)):
            assert name in {*RECIPES, *SHIPPED, *encoders.ALL}, f"{where}: {command}"


@cache
def main_of(module: str) -> Path | None:
    """Returns the file that `python -m` runs for a module, or None if there is none."""
    path = ROOT.joinpath(*module.split("."))
    for file in (path / "__main__.py", path.with_suffix(".py")):
        if file.exists() and (file.name == "__main__.py" or '__name__ == "__main__"' in file.read_text()):
            elsewhere = re.search(r"^from ([\w.]+) import main$", file.read_text(), re.MULTILINE)
            return main_of(elsewhere[1]) if elsewhere else file
    return None


STUDY, TRAINER = "studies.command", "models.training.trainer"


@cache
def options_of(module: str) -> set[str]:
    """Returns the options of a module's parser. They are the arguments of add_argument in the module's file, and
    options that the file adds by a function. A study also has the options of studies/command.py and of its `Option`
    list; a training has those of trainer.py."""
    file = ROOT / "studies" / "command.py" if module == STUDY else main_of(module)
    calls = [node for node in ast.walk(ast.parse(file.read_text() if file else "")) if isinstance(node, ast.Call)]
    named = {getattr(call.func, "attr", getattr(call.func, "id", "")): call for call in calls}
    options = {argument.value for call in calls if getattr(call.func, "attr", "") == "add_argument"
               for argument in call.args if isinstance(argument, ast.Constant)}
    if "study" in named:
        options |= {f"--{call.args[0].value}" for call in calls if getattr(call.func, "id", "") == "Option"
                    and isinstance(call.args[0], ast.Constant)} | options_of(STUDY)
    if "training_parser" in named and module != TRAINER:
        options |= options_of(TRAINER) - {"--target"}
    if "add_processes_option" in named:
        options |= {"--processes"}
    if "add_folder_options" in named:
        options |= {"--data", "--runs"}
    return options | ({"--data"} if "add_data_option" in named else set())


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_examples_run(page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                          tmp_path: Path):
    """The output is the one on the page; the model from the Hub is replaced by a tiny one."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "models"))
    monkeypatch.chdir(tmp_path)  # an example writes a folder to the working directory
    foreign_tiny = importlib.import_module("foreign_tiny")
    load = models.load
    monkeypatch.setattr(attention_lab, "load", lambda name, **step: load(name, **step) if name in models.names() else
                        foreign_tiny.lab_of(name.split("/")[-1]), raising=False)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python(?: hf)?\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL):
        exec(block, names)
    trace = names["trace"]
    assert isinstance(trace, models.Trace) and trace.tokens
    printed = "".join(re.findall(r"^```text\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL))
    assert capsys.readouterr().out == printed


def test_the_links_to_try_open():
    """Each link opens without a problem, and the link of the resulting state opens the same state."""
    links = re.findall(r"`/\?([^`]+)`", README)
    assert len(links) == 7
    for link in links:
        fields = dict(parse_qsl(link))
        state, problems = read_query(fields)
        assert not problems and read_query(dict(parse_qsl(query_of(state))))[0] == state, link


def test_requirements_are_pinned():
    """No URL, no build of one system, and no uvloop, which does not exist for Windows."""
    line_of_every_system = r'(?!uvloop)[\w.-]+==[\w.]+|uvloop==[\w.]+; sys_platform != "win32"'
    for file in ("requirements.txt", "requirements-test.txt", "requirements-test-alone.txt"):
        lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith(("#", "--"))]
        assert lines
        assert all(re.fullmatch(line_of_every_system, line) for line in lines)


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

"""The files of the wheel: our packages inside `attention_lab`, the required data, and some released models.

    python -m build        # writes dist/attention_lab-VERSION-py3-none-any.whl and the source distribution

Hatchling finds WheelHook by the table `tool.hatch.build.hooks.custom` in pyproject.toml, which has the wheel's models.

Imports are rewritten: `from models.plan import HeadPlan` becomes `from attention_lab.models.plan import HeadPlan`.
Edits are made at positions of the syntax tree and of string tokens, so line numbers do not change, and text that only
looks like an import is not edited.
"""

import ast
import hashlib
import io
import json
import re
import tempfile
import tokenize
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DOOR = "attention_lab"
IMPORTERS = ("import_module", "find_spec", "run_module", "get")  # the first argument may be a bare package
COMMAND = re.compile(r"(?:\\n|\b)python -m ([A-Za-z_][\w.]*)")  # also after an escaped line break
Edit = tuple[int, int, str, str]  # line from 1, column in characters, old text, new text
# packages of the repository; each becomes attention_lab.NAME
PACKAGES = ("app", "components", "deploy", "figures", "learning", "models", "studies", "widget")
CHECKPOINTS = "models/checkpoints"
STEPS = "steps"  # name of a model's folder of checkpoints; the wheel has none of them
RELEASED = "released.json"  # name of a file in CHECKPOINTS that models/storage/released.py reads
PROBES = "studies/probes"  # has one folder per model; the wheel contains the folders of packaged models
SUFFIXES = (".py", ".pyi", ".typed", ".js", ".css", ".json", ".safetensors", ".po", ".svg", ".cfg", ".toml", ".bin")
ASSETS = ("guide.md", "colours.json", "glossary.json", "icon.svg", "picture.png", "style.css")
DATA = ("banking77", "snips")  # licences CC BY 4.0 and CC0; for all other data sets, the wheel has only NOTICES
NOTICES = ("SOURCE.txt", "LICENSE*", "README*")
CONFIG = ".streamlit/config.toml"  # Streamlit reads this file from the folder of the script


def rewritten(source: str, modules: Collection[str]) -> str:
    """Returns the source of a module with `attention_lab.` before every reference to one of our modules.

    References are: imports; strings that are a module's dotted name (also the literal start of an f-string); top-level
    packages in calls of IMPORTERS; and modules after `python -m` in any string.
    """
    lines = source.splitlines(keepends=True)
    edits = {*_of_tree(ast.parse(source), lines, modules), *_of_commands(source, modules)}
    for line, column, old, new in sorted(edits, reverse=True):
        text = lines[line - 1]
        if not text.startswith(old, column):
            raise ValueError(f"line {line}: expected {old!r} at column {column}: {text!r}")
        lines[line - 1] = text[:column] + new + text[column + len(old):]
    result = "".join(lines)
    ast.parse(result)
    return result


def _of_tree(tree: ast.AST, lines: list[str], modules: Collection[str]) -> Iterator[Edit]:
    """Yields the edits of imports and of strings."""
    inside_f_strings = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    bare = {id(node.args[0]) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args and
            getattr(node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in modules:
            line, column = _place(node, lines)
            start = re.compile(r"from\s+").match(lines[line - 1], column)
            if start is None:
                raise ValueError(f"line {line}: no import at column {column}")
            yield line, start.end(), node.module, f"{DOOR}.{node.module}"
        elif isinstance(node, ast.Import):
            yield from _of_import(node, lines, modules)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside_f_strings:
            if node.value in modules and ("." in node.value or id(node) in bare):
                yield _in_string(node, lines, node.value)
        elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            start_text = str(node.values[0].value)
            if start_text.endswith(".") and start_text[:-1] in modules:
                yield _in_string(node, lines, start_text)


def _of_import(node: ast.Import, lines: list[str], modules: Collection[str]) -> Iterator[Edit]:
    for alias in node.names:
        if alias.name not in modules:
            continue
        inside = f"{DOOR}.{alias.name}"
        if not alias.asname:  # `import models.plan` binds `models`
            package = alias.name.partition(".")[0]
            inside = f"{inside}, {DOOR}.{package} as {package}" if "." in alias.name else f"{inside} as {package}"
        yield (*_place(alias, lines), alias.name, inside)


def _in_string(node: ast.expr, lines: list[str], text: str) -> Edit:
    """Returns the edit of a string literal on one line that begins with `text`."""
    line, column = _place(node, lines)
    start = re.compile(r"[fFrRuU]*['\"]").match(lines[line - 1], column)
    if start is None:
        raise ValueError(f"line {line}: no string at column {column}")
    return line, start.end(), text, f"{DOOR}.{text}"


def _place(node: ast.stmt | ast.expr | ast.alias, lines: list[str]) -> tuple[int, int]:
    """Returns line and column in characters; the syntax tree counts UTF-8 bytes."""
    before = lines[node.lineno - 1].encode()[:node.col_offset]
    return node.lineno, len(before.decode())


def _of_commands(source: str, modules: Collection[str]) -> Iterator[Edit]:
    """Yields the edits of `python -m MODULE` in strings."""
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in strings:
            continue
        for match in COMMAND.finditer(token.string):
            name = match[1].rstrip(".")
            if name in modules:
                before = token.string[:match.start(1)]
                column = len(before) - before.rfind("\n") - 1 + (0 if "\n" in before else token.start[1])
                yield token.start[0] + before.count("\n"), column, name, f"{DOOR}.{name}"


def files(root: Path, models: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yields (file in the repository, path in the wheel) for all files except RELEASED."""
    wanted = set(models)
    yield from ((path, f"{DOOR}/{path.name}") for path in _sorted(root / DOOR) if path.suffix in SUFFIXES)
    for package in PACKAGES:
        for path in _sorted(root / package):
            place = path.relative_to(root).as_posix()
            if path.suffix in SUFFIXES and path.name != RELEASED and _is_wanted(place, wanted):
                yield path, f"{DOOR}/{place}"
    yield root / CONFIG, f"{DOOR}/app/{CONFIG}"
    for path in _sorted(root / "assets"):
        place = path.relative_to(root / "assets")
        if str(place) in ASSETS or place.parts[0] in ("lessons", "texts") or place.parts[0] == "data" and (
                place.parts[1] in DATA or any(path.match(notice) for notice in NOTICES)):
            yield path, f"{DOOR}/assets/{place.as_posix()}"


def _sorted(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _is_wanted(place: str, models: set[str]) -> bool:
    """Returns False for a file that belongs to a model which is not packaged, or to a checkpoint."""
    return f"/{STEPS}/" not in place and all(
        not place.startswith(f"{folder}/") or place.removeprefix(f"{folder}/").partition("/")[0] in models
        for folder in (CHECKPOINTS, PROBES))


def released(root: Path) -> str:
    """Returns the content of RELEASED (JSON), from the file of a source distribution, or computed from the models."""
    stored = root / CHECKPOINTS / RELEASED
    if stored.exists():
        return stored.read_text(encoding="utf-8")
    digests = {card.parent.relative_to(root / CHECKPOINTS).as_posix().replace(f"/{STEPS}/", "@"): {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(card.parent.iterdir()) if path.is_file()}
        for card in sorted((root / CHECKPOINTS).rglob("card.json"))}
    return json.dumps(digests, indent=1) + "\n"


def write(root: Path, target: Path, models: Iterable[str]) -> None:
    """Writes the content of the wheel below a folder, with the imports of Python modules rewritten."""
    contents = list(files(root, models))
    known = _modules(path for _file, path in contents)
    for path, place in contents:
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in (".py", ".pyi"):
            code = rewritten(path.read_text(encoding="utf-8"), known)
            (target / place).write_text(code, encoding="utf-8")
        else:
            (target / place).write_bytes(path.read_bytes())
    (target / DOOR / CHECKPOINTS / RELEASED).write_text(released(root), encoding="utf-8")


def _modules(paths: Iterable[str]) -> set[str]:
    """Returns the dotted names of our modules and packages in the repository."""
    names = set()
    for path in paths:
        package, _, name = path.removesuffix(".py").removesuffix("/__init__").partition("/")
        if path.endswith(".py") and package == DOOR and name.partition("/")[0] in PACKAGES:
            parts = name.split("/")
            names |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return names


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling finds this class by its base class
    """Adds the generated files to a build, and deletes them afterwards."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Sets `force_include`: file or folder -> its path in the distribution."""
        root, models = Path(self.root), self.config["models"]
        self._folder = tempfile.TemporaryDirectory()
        target = Path(self._folder.name)
        included: dict[str, str] = build_data["force_include"]
        if self.target_name == "wheel":
            write(root, target, models)
            included[str(target / DOOR)] = DOOR
            return
        (target / RELEASED).write_text(released(root), encoding="utf-8")
        included[str(target / RELEASED)] = f"{CHECKPOINTS}/{RELEASED}"
        for path, place in files(root, models):
            if place.split("/")[1] in ("models", "studies", "assets") and path.suffix != ".py":
                included[str(path)] = path.relative_to(root).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Deletes the generated files."""
        self._folder.cleanup()

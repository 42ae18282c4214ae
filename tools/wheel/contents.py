"""The files of the wheel: our packages inside `attention_lab`, the required data, and some released models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.wheel.rewriting import DOOR, rewritten

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

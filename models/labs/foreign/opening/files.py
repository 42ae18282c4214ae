"""What may be read of a model's folder: safetensors, JSON and the tokenizer's own files, if they lie inside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from models.labs.foreign.refusals import refuse

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")


def check_folder(folder: Path, root: Path) -> None:
    """Raises ForeignError if the folder holds no model that may be read.

    Args:
        root: resolved, no file may lie outside of it.
    """
    if not folder.is_dir():
        raise refuse("no folder")
    if not (folder / "config.json").is_file():
        raise refuse("no config")
    inside = root.resolve()
    files = [path for path in folder.iterdir() if not path.is_dir()]
    for path in files:
        if not path.resolve().is_relative_to(inside):
            raise refuse("outside", file=path.name)
    if (folder / "adapter_config.json").exists():
        raise refuse("adapter")
    _check_weights(folder, [path.name for path in files])
    _check_tokenizer(folder, inside)


def _check_weights(folder: Path, names: list[str]) -> None:
    weights = weight_files(names, lambda name: _json(folder / name))
    if not weights:
        if any(name.endswith(PICKLES) for name in names):
            raise refuse("pickle")
        raise refuse("no weights")
    if missing := sorted(set(weights) - set(names)):
        raise refuse("file missing", file=missing[0])


def weight_files(names: list[str], read: Any) -> list[str]:
    """The files that hold the weights: one, or the parts that an index names; none if there is no safetensors.

    Args:
        read: file name -> its JSON.
    """
    if "model.safetensors" in names:
        return ["model.safetensors"]
    index = "model.safetensors.index.json"
    if index not in names:
        return []
    said = read(index)
    parts = said.get("weight_map") if isinstance(said, dict) else None
    if not isinstance(parts, dict) or not parts:
        raise refuse("index damaged", file=index)
    files = sorted(set(map(str, parts.values())))
    if any(Path(file).name != file or not file.endswith(".safetensors") for file in files):
        raise refuse("outside", file=index)
    return files


def _check_tokenizer(folder: Path, inside: Path) -> None:
    """A tokenizer's config may name files, and transformers opens them."""
    path = folder / "tokenizer_config.json"
    said = _json(path) if path.exists() else {}
    for key, value in said.items() if isinstance(said, dict) else ():
        if key.endswith("_file") and isinstance(value, str):
            named = (folder / value).resolve()
            if named.exists() and not named.is_relative_to(inside):
                raise refuse("tokenizer outside", key=key)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise refuse("unreadable", file=path.name) from error

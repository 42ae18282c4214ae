"""Checks a model's folder: safetensors, JSON and tokenizer files inside the folder, and the numbers in its config.

This module imports neither torch nor transformers, because the inspection (inspection.py) uses it in a small process.
"""

import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from models.labs.foreign.refusals import ForeignError, refuse

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", ".model", ".spm")  # endings of vocabulary files
MOST_HEADER = 100_000_000  # largest number of bytes of a safetensors header, as the format defines it
MOST_TEXT = 100_000_000  # bytes of the largest JSON file whose encoding is changed
SPARE_TOKENS = 1_000  # a tokenizer may have at most this many tokens more than twice the rows of the model's embedding
MOST_LAYERS = 1_000
MOST_PARTS = 4_096  # largest number of heads or experts per layer
MOST_EXPERTS = 20_000  # largest number of experts of all layers; DeepSeek-V3 has 15,616
MOST_PATCHES = 2_048  # largest number of patches of a picture; DINOv2 has 1,369
DEPTH = 100  # largest depth of nested objects and lists
_LAYERS = re.compile(r"layer|block|stage|depth")
_PARTS = re.compile(r"head|expert")
# ends of the names of fields whose numbers are sizes, not counts of parts
_NO_COUNT = re.compile(r"(size|dim|dims|id|ids|rank|freq|period|step|offset|width)$")


def check_folder(folder: Path, root: Path) -> None:
    """Raises ForeignError unless the folder contains a model whose files may all be read."""
    if not folder.is_dir():
        raise refuse("no folder")
    if not (folder / "config.json").is_file():
        raise refuse("no config")
    inside = root.resolve()
    files = [path for path in folder.iterdir() if not path.is_dir()]
    for path in files:
        try:
            where = path.resolve(strict=True)
        except FileNotFoundError:
            where = path.resolve()
        except (OSError, RuntimeError) as error:
            raise refuse("link loop", file=path.name) from error
        if not where.is_relative_to(inside):
            raise refuse("outside", file=path.name)
        if where.exists() and not where.is_file():
            raise refuse("no file", file=path.name)
    if (folder / "adapter_config.json").exists():
        raise refuse("adapter")
    names = {path.name for path in files}
    if missing := sorted(set(checked_weights([*names], lambda name: _json(folder / name))) - names):
        raise refuse("file missing", file=missing[0])
    _check_tokenizer(folder, inside)


def checked_weights(names: list[str], read: Any) -> list[str]:
    """Returns the result of `weight_files`; raises ForeignError if it is empty."""
    weights = weight_files(names, read)
    if not weights:
        raise refuse("pickle" if any(name.endswith(PICKLES) for name in names) else "no weights")
    return weights


def weight_files(names: list[str], read: Any) -> list[str]:
    """Returns the names of the weight files: one file, or the files that an index names; empty without safetensors."""
    if "model.safetensors" in names:
        return ["model.safetensors"]
    index = "model.safetensors.index.json"
    if index not in names:
        return []
    weight_index = read(index)
    parts = weight_index.get("weight_map") if isinstance(weight_index, dict) else None
    if not isinstance(parts, dict) or not parts:
        raise refuse("index damaged", file=index)
    files = sorted(set(map(str, parts.values())))
    if any(Path(file).name != file or not file.endswith(".safetensors") for file in files):
        raise refuse("outside", file=index)
    return files


def weights_of(folder: Path) -> list[str]:
    """Returns the names of a folder's weight files; see `weight_files`."""
    return weight_files([path.name for path in folder.iterdir()], lambda name: _json(folder / name))


def elements(path: Path) -> int:
    """Returns the number of weights in a safetensors file, from its header."""
    try:
        with path.open("rb") as file:
            first = file.read(8)
            if first == b"version ":
                raise refuse("pointer", file=path.name)
            size = int.from_bytes(first, "little")
            if size > min(MOST_HEADER, path.stat().st_size):
                raise ValueError("the header is longer than the file")
            header = json.loads(file.read(size))
            return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
    except RecursionError as error:
        raise refuse("nested", file=path.name) from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise error if isinstance(error, ForeignError) else refuse("weights damaged") from error


def check_rows(tokens: int, config: Any) -> None:
    """Raises ForeignError if a tokenizer has far more tokens than the model's embedding has rows."""
    parts = [config, *(config.get(name) for name in ("text_config", "encoder"))] if isinstance(config, dict) else []
    rows = max((part["vocab_size"] for part in parts
                if isinstance(part, dict) and isinstance(part.get("vocab_size"), int)), default=tokens)
    if tokens > 2 * rows + SPARE_TOKENS:
        raise refuse("large tokenizer", tokens=tokens, rows=rows)


def is_panic(error: BaseException) -> bool:
    """Returns True for a panic of a library written in Rust, which `except Exception` does not catch."""
    return type(error).__name__ == "PanicException"


def _check_tokenizer(folder: Path, inside: Path) -> None:
    """Checks the file names in a tokenizer's config, because transformers opens these files."""
    path = folder / "tokenizer_config.json"
    config = _json(path) if path.exists() else {}
    for key, value in config.items() if isinstance(config, dict) else ():
        if key.endswith("_file") and isinstance(value, str):
            named = (folder / value).resolve()
            if named.exists() and not named.is_relative_to(inside):
                raise refuse("tokenizer outside", key=key)


def content(path: Path) -> Any:
    """Returns the content of a JSON file; None if it is not JSON."""
    try:
        return json.loads(path.read_bytes())  # of bytes, json reads UTF-16 and byte order marks too
    except RecursionError as error:
        raise refuse("nested", file=path.name) from error
    except (OSError, ValueError):
        return None


def _json(path: Path) -> Any:
    result = content(path)
    if result is None:
        raise refuse("unreadable", file=path.name)
    return result


@contextmanager
def in_utf8(folder: Path) -> Iterator[Path]:
    """Context manager: the folder, or a temporary copy in which the JSON files are UTF-8 without a byte order mark."""
    encoded = {path: encoding for path in folder.glob("*.json")
               if path.is_file() and path.stat().st_size <= MOST_TEXT
               and (encoding := _encoding(path)) != "utf-8"}  # transformers reads no other
    if not encoded:
        yield folder
        return
    check_folder(folder, folder)  # a file outside the folder is not copied
    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        copy = Path(place) / folder.name
        copy.mkdir()
        for path in folder.iterdir():
            if path in encoded:
                (copy / path.name).write_text(path.read_text(encoded[path], errors="replace"), encoding="utf-8")
            elif path.is_file():
                try:
                    os.link(path.resolve(), copy / path.name)
                except OSError:  # another disk
                    shutil.copyfile(path, copy / path.name)
        yield copy


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        return json.detect_encoding(file.read(4))


def check_numbers(config: Any) -> None:
    """Raises ForeignError if a config describes more layers, heads, experts or patches than the limits allow."""
    most: dict[str, int] = {"layers": 1, "experts": 1}
    for name, value in _counts(config, DEPTH):
        bound = MOST_LAYERS if _LAYERS.search(name) else MOST_PARTS
        if value > bound:
            raise refuse("number", field=name[:60], value=value, least=0, most=bound)
        kind = "layers" if _LAYERS.search(name) else "experts" if "expert" in name else None
        if kind:
            most[kind] = max(most[kind], value)
    if most["layers"] * most["experts"] > MOST_EXPERTS:
        raise refuse("number", field="experts", value=most["layers"] * most["experts"], least=0, most=MOST_EXPERTS)
    check_patches(config)


def check_patches(config: Any) -> None:
    """Raises ForeignError if a picture would be split into no patch, or into more than MOST_PATCHES patches."""
    for part in _parts(config, DEPTH):
        steps, sizes = (_numbers(part.get(name)) for name in ("patch_size", "image_size"))
        for step in steps:
            if not 1 <= step <= min([2**16, *sizes]):
                raise refuse("number", field="patch_size", value=step, least=1, most=min([2**16, *sizes]))
        if steps and sizes:
            patches = (sizes[0] // steps[0]) * (sizes[-1] // steps[-1])
            if patches > MOST_PATCHES:
                raise refuse("patches", patches=patches, most=MOST_PATCHES)


def _counts(value: Any, depth: int) -> Iterator[tuple[str, int]]:
    """Yields (field, number) for every field that counts layers or parts of layers; for a list also its length."""
    for part in _parts(value, depth):
        for name, content in part.items():
            if not isinstance(name, str) or _NO_COUNT.search(name) or not (_LAYERS.search(name) or _PARTS.search(name)):
                continue
            yield from ((name, number) for number in _numbers(content))
            if isinstance(content, list | tuple):
                yield name, len(content)


def _parts(value: Any, depth: int) -> Iterator[dict[Any, Any]]:
    """Yields a dictionary and all dictionaries inside it."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in inner if depth else ():
        yield from _parts(each, depth - 1)


def _numbers(value: Any) -> list[int]:
    values = value if isinstance(value, list | tuple) else [value]
    return [number for number in values if isinstance(number, int) and not isinstance(number, bool)]

"""Limits on the numbers in a foreign model's config, which are checked before the model is built.

This module imports neither torch nor transformers, because the inspection (inspection.py) uses it in a small process.
"""

import re
from collections.abc import Iterator
from typing import Any

from models.labs.foreign.refusals import refuse

MOST_LAYERS = 1_000
MOST_PARTS = 4_096  # largest number of heads or experts per layer
MOST_EXPERTS = 20_000  # largest number of experts of all layers; DeepSeek-V3 has 15,616
MOST_PATCHES = 2_048  # largest number of patches of a picture; DINOv2 has 1,369
DEPTH = 100  # largest depth of nested objects and lists

_LAYERS = re.compile(r"layer|block|stage|depth")
_PARTS = re.compile(r"head|expert")
# ends of the names of fields whose numbers are sizes, not counts of parts
_NO_COUNT = re.compile(r"(size|dim|dims|id|ids|rank|freq|period|step|offset|width)$")


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

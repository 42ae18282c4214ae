"""Positions of a text's tokens on the grid of the constant matrices, by PAPA's rules (arXiv 2211.03495 and its code).

CLS has the first position and the last SEP has the last position of the grid, for every text length. In a pair of
texts, the first SEP and the tokens after it start in the middle of the grid. Tokens of a causal model are at their own
positions, so the matrices only need to be cut.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence

import torch
from torch import Tensor

from models.kind import TEXT, Kind
from models.labs.foreign.reading.readers import TextReader
from models.labs.foreign.reading.vision import PictureReader
from models.nets.constants import cut_to
from models.prompt import Prompt

SIZES = 4  # largest number of cached cut matrices per model; each is for one block and one text size


def grid_positions(n: int, size: int, first_break: int | None = None) -> list[int]:
    """Returns the positions of n tokens of an encoder on a grid: 0, 1, 2, 7 for `[CLS] a b [SEP]` and size 8."""
    if n > size:
        raise ValueError(f"constant matrices are for texts of at most {size} tokens; this one has {n}")
    last, half = n - 1, size // 2
    if first_break is not None and first_break <= half and last - first_break <= size - half:
        return [*range(first_break), *range(half, half + last - first_break), size - 1]
    return [*range(last), size - 1]


class FittedConstants:
    """A cache of constant matrices, cut to recently used text sizes."""

    def __init__(self, matrices: Mapping[str, Tensor]) -> None:
        """Stores the matrices, block -> (L, H, size, size)."""
        self._matrices = matrices
        self._cut: OrderedDict[Hashable, Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, kind: Kind, queries: int, keys: int, task: TextReader, prompt: Prompt | None) -> Tensor:
        """Returns matrices (L, H, queries, keys) with rows that sum to 1; the arguments are those of `fitted`."""
        may_be_pair = not kind.causal and not isinstance(task, PictureReader)
        pair = first_break(task, prompt.ids) if prompt is not None and may_be_pair else None
        key = (kind.name, queries, keys, pair)
        with self._lock:
            if key in self._cut:
                self._cut.move_to_end(key)
                return self._cut[key]
        cut = fitted(self._matrices[kind.name], kind, queries, keys, task, prompt)
        with self._lock:
            self._cut[key] = cut
            while len(self._cut) > SIZES:
                self._cut.popitem(last=False)
        return cut


def fitted(matrix: Tensor, kind: Kind, queries: int, keys: int, task: TextReader, prompt: Prompt | None) -> Tensor:
    """Returns matrices (L, H, size, size) cut to a text's positions, (L, H, queries, keys).

    See models.nets.constants.cut_to.
    """
    size = matrix.shape[-1]
    if max(queries, keys) > size:
        raise ValueError(f"constant matrices are for texts of at most {size} tokens; this one has {max(queries, keys)}")
    rows, columns = grid(kind, queries, keys, size, task, prompt)
    return cut_to(matrix, rows, columns, kind.causal)


def grid(kind: Kind, queries: int, keys: int, size: int, task: TextReader,
         prompt: Prompt | None) -> tuple[Tensor, Tensor]:
    """Returns the positions of a text's queries and keys on a grid of this size."""
    return (torch.tensor(_grid_indices(kind, kind.query_row, queries, size, task, prompt)),
            torch.tensor(_grid_indices(kind, kind.key_row, keys, size, task, prompt)))


def _grid_indices(kind: Kind, row: str, n: int, size: int, task: TextReader, prompt: Prompt | None) -> Sequence[int]:
    """Returns the positions of one token sequence."""
    if kind.causal or row != TEXT or isinstance(task, PictureReader):
        return range(n)
    return grid_positions(n, size, None if prompt is None else first_break(task, prompt.ids))


def first_break(task: TextReader, ids: Sequence[int]) -> int | None:
    """Returns the index of the separator between two texts; None if the tokens are not a pair."""
    separator = task.tokenizer.sep_token_id
    return next((i for i, token in enumerate(ids[:-1]) if i and token == separator), None)

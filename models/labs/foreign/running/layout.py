"""Positions of a text's tokens on the grid of the constant matrices, by PAPA's rules (arXiv 2211.03495 and its code).

CLS has the first position and the last SEP has the last position of the grid, for every text length. In a pair of
texts, the first SEP and the tokens after it start in the middle of the grid. Tokens of a causal model are at their own
positions, so the matrices only need to be cut.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from models.kind import TEXT, Kind
from models.labs.foreign.reading.readers import TextReader
from models.labs.foreign.reading.vision import PictureReader
from models.nets.mean_patterns import cut_to
from models.prompt import Prompt

SIZES = 4  # largest number of cut matrices that a model caches; each is for one block and one text size


def grid_positions(n: int, size: int, first_break: int | None = None) -> list[int]:
    """Returns the positions of n tokens of an encoder on a grid: 0, 1, 2, 7 for `[CLS] a b [SEP]` and size 8."""
    if n > size:
        raise ValueError(f"constant matrices are for texts of at most {size} tokens; this one has {n}")
    last, half = n - 1, size // 2
    if first_break is not None and first_break <= half and last - first_break <= size - half:
        return [*range(first_break), *range(half, half + last - first_break), size - 1]
    return [*range(last), size - 1]


def fitted(matrices: Mapping[str, Tensor], task: TextReader, kind: Kind, queries: int, keys: int,
           separator: int | None) -> Tensor:
    """Returns matrices (L, H, size, size) of a block cut to a text's positions, (L, H, queries, keys); rows sum to 1.

    `separator` is the result of first_break. See models.nets.constants.cut_to.
    """
    matrix = matrices[kind.name]
    size = matrix.shape[-1]
    if max(queries, keys) > size:
        raise ValueError(f"constant matrices are for texts of at most {size} tokens; this one has {max(queries, keys)}")
    rows, columns = grid(task, kind, queries, keys, size, separator)
    return cut_to(matrix, rows, columns, kind.causal)


def grid(task: TextReader, kind: Kind, queries: int, keys: int, size: int,
         separator: int | None) -> tuple[Tensor, Tensor]:
    """Returns the positions of a text's queries and keys on a grid of this size."""
    def positions(row: str, n: int) -> Sequence[int]:
        return grid_positions(n, size, separator) if row == TEXT and not _is_cut(task, kind) else range(n)

    return torch.tensor(positions(kind.query_row, queries)), torch.tensor(positions(kind.key_row, keys))


def first_break(task: TextReader, kind: Kind, prompt: Prompt | None) -> int | None:
    """Returns the index of the separator between two texts; None if the tokens are not a pair."""
    if prompt is None or _is_cut(task, kind):
        return None
    separator = task.tokenizer.sep_token_id
    return next((i for i, token in enumerate(prompt.ids[:-1]) if i and token == separator), None)


def _is_cut(task: TextReader, kind: Kind) -> bool:
    """Returns True if the tokens are at their own positions, so that the matrices only need to be cut."""
    return kind.causal or isinstance(task, PictureReader)

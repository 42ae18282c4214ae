"""PAPA's constant matrices for any model: the mean of each head's pattern over given texts (arXiv 2211.03495).

    C[i, j] = sum over texts of A[i, j] / number of texts with both positions i and j       0 if there is no such text

The positions i and j are those on the grid of passes.py. PAPA's code pads a text in the middle before the model reads
it. Here the model reads the text without padding, and its pattern is placed on the grid afterwards.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from models.errors import CancelledError, InputError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.running import passes
from models.labs.foreign.running.attention import LayerRecord
from models.messages import message
from models.nets.mean_patterns import seen
from models.plan import HeadPlan
from models.prompt import Prompt, unix_lines

LENGTH = 128  # default number of tokens of the grid: 12 x 12 heads then take 9 MiB
MOST_BYTES = 256 * 2**20  # largest number of bytes of sums and counts during the computation


def mean_weights(lab: ForeignLab, texts: Iterable[str | Prompt], length: int = LENGTH,
                 progress: Callable[[int, int], None] = lambda done, of: None,
                 cancelled: Callable[[], bool] = lambda: False) -> dict[str, Tensor]:
    """Returns block -> constant matrices (L, H, size, size) for `lab.with_constant`.

    `size` is the smaller of `length` and the model's limit.

    Args:
        lab: the model.
        texts: texts, or prompts such as pictures; texts that cannot be read are skipped.
        length: number of tokens of the grid.
        progress: called with the number of finished texts and the total number of texts.
        cancelled: called before every text.

    Raises:
        InputError: none of the texts can be read.
        CancelledError: `cancelled` returned True.
        ValueError: the model has too many heads for a grid of this length within the memory limit.
    """
    size = min(lab.task.limit, length)
    if 4 * size**2 * sum(layers * heads for layers, heads in lab.shape.values()) > MOST_BYTES:
        raise ValueError(message("too many heads for matrices of {size} tokens", size=size))
    sums = {kind.name: torch.zeros(kind.layers, kind.heads, size, size) for kind in lab.kinds}
    counts = {kind.name: torch.zeros(size, size) for kind in lab.kinds}
    texts, read = list(texts), 0
    for done, text in enumerate(texts):
        if cancelled():
            raise CancelledError
        progress(done, len(texts))
        prompt = _read(lab, text, size)
        if prompt is not None:
            read += 1
            _add(lab, prompt, sums, counts)
    if not read:
        raise InputError(message("The model can read no text in this"))
    progress(len(texts), len(texts))
    return {kind: total / counts[kind].clamp_min(1) for kind, total in sums.items()}


def _read(lab: ForeignLab, text: str | Prompt, size: int) -> Prompt | None:
    if isinstance(text, Prompt):
        return text
    try:
        return lab.task.read(text, size)
    except InputError:
        return None


def _add(lab: ForeignLab, prompt: Prompt, sums: dict[str, Tensor], counts: dict[str, Tensor]) -> None:
    """Adds one text's pattern to the sums."""
    kinds = {kind.name: kind for kind in lab.kinds}

    def sink(kind: str, layer: int, step: LayerRecord) -> None:
        size = sums[kind].shape[-1]
        live = step.live[:, :size, :size] if kinds[kind].causal else step.live[:, :size]  # generated text has no limit
        pair = passes.first_break(lab.task, kinds[kind], prompt)
        rows, columns = passes.grid(lab.task, kinds[kind], live.shape[1], live.shape[2], size, pair)
        sums[kind][layer][:, rows[:, None], columns] += live
        if layer == 0:
            counts[kind][rows[:, None], columns] += seen(len(rows), len(columns), kinds[kind].causal)

    lab.watch(prompt, HeadPlan(), sink)


def passages(text: str, most: int = 256) -> list[str]:
    """Returns the first `most` paragraphs that are not empty; lines of a text without paragraphs."""
    parts = unix_lines(text).split("\n\n")
    if len(parts) == 1:
        parts = text.splitlines()
    return [part.strip() for part in parts if part.strip()][:most]

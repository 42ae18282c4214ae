"""A typed text under a study: how far each head is from its constant, and what the probes say before and after.

    total variation of a row = 1/2 · sum over keys of |A - C|        0 for the constant itself, 1 at most
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from numpy import ndarray
from torch import Tensor

from models.lab import Lab
from models.plan import Address, HeadPlan
from models.studies.papa.constants import Fitted
from models.studies.papa.probes import Probe
from models.studies.papa.tasks.corpora import CORPORA, Example
from models.studies.papa.tasks.token_ids import GRID, words_of

_WORD = re.compile(r"\[MASK\]|\w+(?:[-'’.]\w+)*|[^\w\s]")
_HIDDEN = re.compile(r"\[(?!MASK\])([^\[\]]*)\]")


@dataclass(frozen=True)
class Said:
    """What the probes say of one word, or of the text.

    Attributes:
        word: as it was typed; the whole text where it has one label.
        before, after: (label, its probability), as trained and with heads constant.
    """

    word: str
    before: tuple[str, float]
    after: tuple[str, float]

    @property
    def is_changed(self) -> bool:
        """True if the label is another one."""
        return self.before[0] != self.after[0]


@dataclass(frozen=True, eq=False)
class Read:
    """A typed text.

    Attributes:
        distances: (L, H) mean over queries of the total variation between weights and constant.
        said: one of each word, or a single one.
    """

    distances: ndarray
    said: tuple[Said, ...]

    @property
    def nbytes(self) -> int:
        return self.distances.nbytes + 200 * len(self.said)


def example_of(text: str) -> Example:
    """A typed text with its words; of a word that is hidden in brackets, the word."""
    text = _HIDDEN.sub(r"\1", text).strip()
    return Example(text, tuple(match.span() for match in _WORD.finditer(text)), ())


@torch.inference_mode()
def read(lab: Lab, text: str, task: str, labels: tuple[str, ...], constant: Tensor, probes: dict[int, Probe],
         order: list[Address], count: int) -> Read | None:
    """The text as trained, and with the first `count` heads of the order constant; None if its words cannot be told
    apart in the model's tokens, or if it is longer than the grid.

    Args:
        labels: of the task, in the order of the probes'.
        constant: (L, H, GRID, GRID) of the task.
        probes: heads that are constant -> the probe of this state.
    """
    example = example_of(text)
    found = words_of(lab, example)
    if found is None or not example.words:
        return None
    ids, words = found
    n, fitted = len(ids), Fitted(lab, constant)
    live: dict[int, Tensor] = {}
    plan = HeadPlan().with_heads(order[:count], constant=True)
    batch = torch.tensor([ids])
    before = lab.states(batch, watch=lambda kind, layer, weights: live.update({layer: weights[0]}))
    after = lab.states(batch, fitted.under(plan, n))
    distances = torch.stack([(live[layer] - fitted.of(n)[layer]).abs().sum(-1).mean(-1) / 2 for layer in sorted(live)])
    by_word = CORPORA[task].by_word
    pairs = [_labels(lab, probes[k], states, words, by_word) for k, states in ((0, before), (count, after))]
    shown = [example.text[start:stop] for start, stop in example.words] if by_word else [example.text]
    said = tuple(Said(word, *((labels[int(its[i].argmax())], float(its[i].max())) for its in pairs))
                 for i, word in enumerate(shown))
    return Read(distances.numpy(), said)


def _labels(lab: Lab, probe: Probe, states: list[Tensor], words: tuple[int, ...], by_word: bool) -> Tensor:
    """(words, labels) or (1, labels) probabilities."""
    values = torch.stack(states, 2)  # (1, n, L + 1, C)
    if by_word:
        values = values[0, list(words)].unsqueeze(1)
    places = torch.tensor(lab.places(states[0].shape[1], GRID))
    return probe(probe.standardised(values), places).softmax(-1)

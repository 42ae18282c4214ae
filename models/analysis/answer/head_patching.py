"""The effect of single heads: each head alone takes its output from a second prompt (Wang et al. 2022, arXiv
2211.00593).

    restored = (difference with one head patched - difference) / (difference of the second prompt - difference)

The difference is that of two logits: of the answer to the second prompt, and of the answer to this one. 1 means that
the head alone restores the whole difference of the second prompt, 0 that it changes nothing, a value below 0 that it
works against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy
from numpy import ndarray

from models.analysis.answer.head_attribution import token_id
from models.errors import InputError
from models.lab import Lab, read
from models.messages import message
from models.plan import OUTPUT, Address, HeadPlan
from models.prompt import Prompt, TargetPrompt
from models.trace import fixed


@dataclass(frozen=True, eq=False)
class HeadPatching:
    """The effect of patching each head alone. Arrays are read-only.

    Attributes:
        restored: block -> (L, H) float64, share of the difference that the head brings.
        difference: block -> (L, H) the logit difference with the head patched.
        before, source: the logit differences of this prompt and of the second one.
        token, against: ids: the answer to the second prompt, and the answer to this one.
        position: as it was given or found.
    """

    restored: Mapping[str, ndarray]
    difference: Mapping[str, ndarray]
    before: float
    source: float
    token: int
    against: int
    position: int

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(values.nbytes for by_block in (self.restored, self.difference) for values in by_block.values())

    @property
    def ranked(self) -> list[tuple[Address, float]]:
        """Returns heads and their shares, the largest first."""
        return sorted((((kind, layer, head), float(values[layer, head])) for kind, values in self.restored.items()
                       for layer, head in numpy.ndindex(*values.shape)), key=lambda item: -item[1])


def head_patching(lab: Lab, text: str, source: str, what: str = OUTPUT, token: str | int | None = None,
                  against: str | int | None = None, position: int | None = None) -> HeadPatching:
    """Patches each head of a model alone, in one batched pass.

    Args:
        lab: a model that predicts tokens.
        text: the input.
        source: the second prompt, of as many tokens.
        what: `output`, or `pattern` for the attention pattern alone.
        token, against: as in models.head_attribution; None for the most probable tokens of the second prompt and of
            this one.
        position: as in models.head_attribution; None for the last prediction, and of an encoder-decoder, whose decoder
            reads the translation of `text` for both prompts, for the first prediction that differs.

    Raises:
        InputError: a text cannot be read.
        ValueError: the prompts have different lengths or one answer, or as in models.head_attribution.
    """
    return patching_of(lab, read(lab, text, source), what, token, against, position)


def patching_of(lab: Lab, prompt: Prompt, what: str = OUTPUT, token: str | int | None = None,
                against: str | int | None = None, position: int | None = None) -> HeadPatching:
    """Returns `head_patching` of a prompt with its second prompt."""
    prompt = lab.anchored(prompt)
    every = [address for kind in lab.kinds for address in kind.addresses]
    source = prompt.source_for(HeadPlan().patch(*every[0]))
    assert source is not None
    there = TargetPrompt.of(source, prompt.target) if isinstance(prompt, TargetPrompt) else source
    if position is None:
        position = _differing(lab, prompt, there) if isinstance(prompt, TargetPrompt) else -1
    logits = lab.patched_logits(prompt, [None, *every], what, position)
    before, after = logits[0], lab.patched_logits(there, [None], what, position)[0]
    first = int(after.argmax()) if token is None else token_id(lab, token, after)
    second = int(before.argmax()) if against is None else token_id(lab, against, before)
    if first == second:
        raise InputError(message("both prompts have the answer “{token}”: choose a second prompt with another one",
                                 token=lab.task.labels[first]))
    differences = (logits[1:, first] - logits[1:, second]).double()
    old, new = (float(scores[first] - scores[second]) for scores in (before, after))
    kinds = dict(zip([kind.name for kind in lab.kinds],
                     differences.split([kind.layers * kind.heads for kind in lab.kinds]), strict=True))
    by_kind = {kind.name: fixed(kinds[kind.name].view(kind.layers, kind.heads).numpy()) for kind in lab.kinds}
    scale = new - old if abs(new - old) > 1e-9 else float("nan")
    return HeadPatching({kind: fixed((values - old) / scale) for kind, values in by_kind.items()}, by_kind, old, new,
                        first, second, position)


def _differing(lab: Lab, prompt: Prompt, source: Prompt) -> int:
    """Returns the first position of the decoder's tokens whose predictions differ; the last one if none does."""
    pairs = zip(lab.run(prompt, [HeadPlan()])[0].outputs, lab.run(source, [HeadPlan()])[0].outputs, strict=True)
    return next((old.position for old, new in pairs if old.order[0] != new.order[0]), -1)

"""The effect of single heads: each head alone takes its output from a second prompt (Wang et al. 2022).

    restored = (difference with one head patched - difference) / (difference of the second prompt - difference)

difference = logit of the answer to the second prompt - logit of the answer to the first prompt. The value 1 means that
patching the head alone restores the whole difference of the second prompt. At 0, the head has no effect. Below 0, it
moves the difference in the opposite direction. Source: arXiv 2211.00593.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy
from numpy import ndarray

from models.analysis.answer.head_attribution import token_id
from models.capabilities import Explainable
from models.errors import InputError
from models.lab import Lab
from models.messages import message
from models.plan import OUTPUT, Address, HeadPlan
from models.prompt import Prompt, TargetPrompt
from models.trace import fixed


@dataclass(frozen=True, eq=False)
class HeadPatching:
    """The effect of patching each head alone. Arrays are read-only."""

    # block -> (L, H) float64, fraction of the difference that patching the head restores
    restored: Mapping[str, ndarray]
    difference: Mapping[str, ndarray]  # block -> (L, H) the logit difference with the head patched
    # before and source: the logit differences of the first and of the second prompt, without patches
    before: float
    source: float
    # token and against: token ids of the answer to the second prompt, and of the answer to the first prompt
    token: int
    against: int
    position: int  # the position whose logits are compared

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(values.nbytes for by_block in (self.restored, self.difference) for values in by_block.values())

    @property
    def ranked(self) -> list[tuple[Address, float]]:
        """Returns (address, restored fraction) of each head, the largest first."""
        return sorted((((kind, layer, head), float(values[layer, head])) for kind, values in self.restored.items()
                       for layer, head in numpy.ndindex(*values.shape)), key=lambda item: -item[1])


def patching_of(lab: Lab, prompt: Prompt, what: str = OUTPUT, token: str | int | None = None,
                against: str | int | None = None, position: int | None = None) -> HeadPatching:
    """Patches each head alone in one batched pass, with its output or only its pattern from the second prompt.

    `token` and `against` default to the most probable tokens after the second prompt and after the first one. For an
    encoder-decoder, whose decoder reads the translation of the first prompt for both, the default position is the first
    prediction that differs. Raises ValueError if the prompts have the same answer.
    """
    prompt = lab.anchored(prompt)
    every = [address for kind in lab.kinds for address in kind.addresses]
    source = prompt.source_for(HeadPlan().patch(*every[0]))
    assert source is not None
    source_prompt = TargetPrompt.of(source, prompt.target) if isinstance(prompt, TargetPrompt) else source
    if position is None:
        position = _differing(lab, prompt, source_prompt) if isinstance(prompt, TargetPrompt) else -1
    logits = Explainable.of(lab).patched_logits(prompt, [None, *every], what, position)
    before, after = logits[0], Explainable.of(lab).patched_logits(source_prompt, [None], what, position)[0]
    first = int(after.argmax()) if token is None else token_id(lab, token, after)
    second = int(before.argmax()) if against is None else token_id(lab, against, before)
    if first == second:
        raise InputError(message("both prompts have the answer “{token}”: change one",
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
    """Returns the first position of the decoder's tokens whose predictions differ; -1, the last, if none differ."""
    pairs = zip(lab.run(prompt, [HeadPlan()])[0].outputs, lab.run(source, [HeadPlan()])[0].outputs, strict=True)
    return next((old.position for old, new in pairs if old.top()[0] != new.top()[0]), -1)

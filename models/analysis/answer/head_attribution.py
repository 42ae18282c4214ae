"""The effect of heads on the logit of an answer: direct attribution, and patching from a second prompt.

Direct logit attribution (Elhage et al. 2021): a logit as the sum of the outputs of every head, MLP and embedding.

    logit = sum over parts of E[token] · (gain * part)        gain = weight / RMS(x_L), held fixed

The sum is exact for one prompt and plan. It counts the direct contribution of a head at the predicting position, not
the effect of the head through later layers. Heads of an encoder affect the decoder only through cross-attention, so
their contribution is 0.

Patching (Wang et al. 2022, arXiv 2211.00593): each head alone takes its output from a second prompt.

    restored = (difference with one head patched - difference) / (difference of the second prompt - difference)

difference = logit of the answer to the second prompt - logit of the answer to the first prompt. The value 1 means that
patching the head alone restores the whole difference of the second prompt. At 0, the head has no effect. Below 0, it
moves the difference in the opposite direction.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy
import torch
from numpy import ndarray

from models.capabilities import Explainable
from models.errors import InputError
from models.lab import Lab, read
from models.messages import cut, message
from models.plan import OUTPUT, Address, HeadPlan
from models.prompt import Prompt, TargetPrompt
from models.trace import Arrays, fixed


@dataclass(frozen=True, eq=False)
class HeadAttribution(Arrays):
    """A logit, or the difference of two logits, as a sum: `heads` and `rest` sum to `total`. Arrays are read-only.

    Attributes:
        heads: block -> contributions (L, H) float64 to the logit.
        rest: name of the part (`embedding`, `mlp 0`, ..., and `biases` if the model has biases) -> contribution.
        total: the logit of `token`, or the logit of `token` minus the logit of `against`.
        token, against: token ids; `against` is None for a single logit.
        position: position in the predicting token sequence.
    """

    heads: Mapping[str, ndarray]
    rest: Mapping[str, float]
    total: float
    token: int
    against: int | None
    position: int


def head_attribution(lab: Lab, text: str, plan: HeadPlan = HeadPlan(), token: str | int | None = None,
                     against: str | int | None = None, position: int = -1,
                     source: str | None = None) -> HeadAttribution:
    """Returns how much each head contributes to the logit of a token.

    Args:
        lab: a model that predicts tokens and whose layers add to one residual stream.
        text: the input text; for a masked model, words in [brackets] are masked.
        plan: interventions on heads.
        token: the token as a string, for example " his", or its id; None for the most probable token.
        against: a second token, for the difference of the two logits.
        position: position in the predicting token sequence; negative numbers count the predictions from the last one,
            so that -1 is the next token, the last hidden word, or the decoder's last prediction.
        source: the second prompt of patched heads.

    Raises:
        InputError: the text cannot be tokenised.
        ValueError: there is no such token or position, the model predicts no tokens, the structure of an imported model
            does not allow this measure, or the errors of models.run.
    """
    return attribution_of(lab, read(lab, text, source), plan, token, against, position)


def attribution_of(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan(), token: str | int | None = None,
                   against: str | int | None = None, position: int = -1) -> HeadAttribution:
    """Returns the result of `head_attribution` for a prompt."""
    writes = Explainable.of(lab).writes(prompt, plan, position)
    first = int(writes.logits.argmax()) if token is None else token_id(lab, token, writes.logits)
    second = None if against is None else token_id(lab, against, writes.logits)
    rows, added = (tensor.double() for tensor in writes.unembed([first] if second is None else [first, second]))
    row, bias = (rows[0], added[0]) if second is None else (rows[0] - rows[1], added[0] - added[1])
    direction = writes.gain.double() * row
    if writes.is_centred:
        direction = direction - direction.mean()
    total = writes.logits[first] - (0 if second is None else writes.logits[second])
    rest = {name: float(part.double() @ direction) for name, part in writes.rest.items()}
    added_last = float(bias + (0 if writes.shift is None else writes.shift.double() @ row))
    if writes.shift is not None or added_last:
        rest["biases"] = rest.get("biases", 0.0) + added_last
    heads = {kind.name: numpy.zeros((kind.layers, kind.heads)) for kind in lab.kinds}
    heads |= {kind: (part.double() @ direction).numpy() for kind, part in writes.heads.items()}
    return HeadAttribution({kind: fixed(values) for kind, values in heads.items()}, rest, float(total), first, second,
                           writes.position)


def token_id(lab: Lab, token: str | int, logits: torch.Tensor | None = None) -> int:
    """Returns a token's id from an id or a string, of several the most probable; raises InputError if there is none."""
    labels = lab.task.labels
    if isinstance(token, int):
        if 0 <= token < len(labels):
            return token
        raise InputError(message("token ids are 0 to {last}, not {id}", last=len(labels) - 1, id=token))
    ids = [i for i, label in enumerate(labels) if label == token]
    if ids:
        return ids[0] if logits is None or len(ids) == 1 else max(ids, key=lambda i: float(logits[i]))
    other = f" {token}" if f" {token}" in labels else token.strip() if token.strip() in labels else ""
    if other:
        raise InputError(message("“{token}” is no token; “{other}” is", token=cut(token), other=other))
    raise InputError(message("“{token}” is no token: choose one, with its space before", token=cut(token)))


@dataclass(frozen=True, eq=False)
class HeadPatching(Arrays):
    """The effect of patching each head alone. Arrays are read-only."""

    restored: Mapping[str, ndarray]  # block -> (L, H) float64, restored fraction of the difference
    difference: Mapping[str, ndarray]  # block -> (L, H) the logit difference with the head patched
    # before and source: the logit differences of the first and of the second prompt, without patches
    before: float
    source: float
    # token and against: token ids of the answer to the second prompt, and of the answer to the first prompt
    token: int
    against: int
    position: int  # the position whose logits are compared

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
        raise InputError(message("both prompts have the answer “{token}”: change one", token=lab.task.labels[first]))
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

"""Effects of a plan: predictions, KL divergence, losses; states, tiles and score scale of the heads."""

import math
from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from app.texts import _, spelt
from models import HeadPlan, Kind, Lab, Output, Trace
from models.plan import MIN_BASE, Address, HeadState, Scale
from models.prompt import Prompt
from models.thumbnails import thumbnails
from models.trace import Sketch, divergence, vector_shift

AnyTrace = Trace | Sketch  # the result of a pass that is shown


def scale_of(lab: Lab, scale: Scale, n: int) -> dict[str, Any]:
    """Returns the score scale for the controls.

    If no scale is chosen, log n is offered with a base of half of the text's n tokens. Rows before position n/2 become
    flatter and rows after this position sharper, so that the entropy does not grow with n.
    """
    trained = any(scale.policy == kind.attention.trained_policy for kind in lab.kinds)
    base = scale.base or max(MIN_BASE, n // 2)
    scale_content: dict[str, Any] = {"policy": "trained" if trained else scale.policy, "base": base}
    return scale_content | ({"note": log_n_note(n, base, lab.kinds[0].causal)} if scale.policy == "logn" else {})


def log_n_note(n: int, base: int, causal: bool) -> str:
    """Returns a sentence about the effect of the log n scale, with logarithms to `base`, on the scores of n tokens."""
    factor = f"{math.log(n) / math.log(base):.2f}"
    if not causal:
        if n <= base:
            return _("Entropy-invariant softmax multiplies the scores by {factor}: rows get flatter. With a base "
                     "below {n}, the number of tokens, they get sharper.",
                     factor=factor, n=n)
        return _("Entropy-invariant softmax multiplies the scores by {factor}, because every query sees {n} tokens: "
                 "rows get sharper.",
                 factor=factor, n=n)
    if n <= base:
        return _("Entropy-invariant softmax multiplies the scores by {factor} at the last of {n} tokens, by less "
                 "before: rows get flatter. With a base below {n} the last get sharper.", factor=factor, n=n)
    return _("Entropy-invariant softmax multiplies the scores by {factor} at the last of {n} tokens, by 1 at token "
             "{base}: rows before it get flatter, rows after it sharper.",
             factor=factor, n=n, base=base)


def state_of(lab: Lab, plan: HeadPlan, address: Address) -> HeadState:
    """Returns the state of a head under a plan; a head that training pruned is pruned under every plan."""
    return HeadState(gate=0.0) if address in lab.closed else plan.state(*address)


def usable(lab: Lab, plan: HeadPlan, prompt: Prompt | None = None) -> HeadPlan:
    """Returns the plan without constant heads that lack matrices, and without patches that lack a second prompt."""
    if prompt is not None and prompt.source is None:  # a patch takes its values from a second prompt
        plan = plan.without_patches()
    if lab.constant is not None:
        return plan
    return plan.with_heads([address for address, state in plan.heads.items() if state.constant], constant=False)


def tiles_of(seen: AnyTrace, kind: Kind) -> ndarray:
    """Returns thumbnails (L, H, n, m) uint8 of a block's attention maps; with one more column for an attention sink."""
    if isinstance(seen, Sketch):
        return seen.thumbnails[kind.name]
    maps = seen.weights[kind.name]
    if kind.attention.has_sink:
        return thumbnails(maps, has_sink=True)
    # rows that do not sum to 1 are scaled to the largest weight of all heads, which gets the darkest colour
    if not kind.attention.is_distribution:
        maps = maps / max(float(maps.max()), 1e-9)
    return thumbnails(maps)


def prediction(lab: Lab, before: AnyTrace, after: AnyTrace, index: int) -> dict[str, Any]:
    """Returns a prediction without and with the plan (a decoder's after the baseline text): title, rows, KL in nats."""
    old, new = before.outputs[index], after.outputs[index]
    tokens = lab.task.compared_tokens(old, new)
    rows: list[dict[str, Any]] = [
        {"id": int(i), "label": old.names[i], "before": float(old.distribution[i]),
         "after": float(new.distribution[i]), "right": i == old.target} for i in tokens]
    if new is not old:
        for row, *ranks in zip(rows, _ranks(old, tokens), _ranks(new, tokens), strict=True):
            row["ranks"] = ranks
    token = before.rows[old.row][old.position]
    return {"title": _(lab.task.headline(old, spelt([token])[0])), "rows": rows, "kl": divergence(old, new)}


def existing_index(outputs: Sequence[Output], index: int) -> int:
    """Returns `index`, or the last prediction's index if the text has become too short for it."""
    return index if 0 <= index < len(outputs) else len(outputs) - 1


def shown_output(outputs: Sequence[Output], index: int) -> Output:
    """Returns the prediction that a page shows. Arguments as in `existing_index`."""
    return outputs[existing_index(outputs, index)]


def in_vectors(before: AnyTrace, after: AnyTrace) -> dict[str, Any]:
    """Returns 1 - cosine similarity of the sentence vectors, for a model without predictions."""
    _by_token, of_all = vector_shift(before, after)
    return {"facts": [{"name": _("Change of the sentence vector"), "after": of_all, "unit": _("1 − cosine")}]}


def token_losses(lab: Lab, trace: AnyTrace) -> list[float | None]:
    """Returns each token's loss in nats from the tokens that the model sees for it; None if it is unknown."""
    shift = 1 if lab.task.predicts_next else 0
    losses = [None] * shift + [None if loss != loss else round(float(loss), 4) for loss in trace.losses]
    return losses[:len(trace.tokens)]


def mean_loss(trace: AnyTrace) -> float | None:
    """Returns the mean loss of the text in nats per token; None if no loss is known."""
    return trace.loss if trace.loss == trace.loss else None


def _ranks(output: Output, tokens: Sequence[int]) -> list[int]:
    """Returns the ranks of tokens among all tokens, from 1 for the most probable."""
    return (1 + (output.distribution[None] > output.distribution[list(tokens), None]).sum(-1)).tolist()

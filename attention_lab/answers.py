"""What the command line and the tools of an agent return: JSON values about models, passes and predictions."""

from typing import Any

from learning.loop import Learning
from models import HeadPlan, Lab, catalogue, load, load_folder
from models.analysis.answer.head_attribution import attribution_of
from models.analysis.answer.json_values import effect, number, numbers
from models.analysis.answer.logit_lens import lens_of
from models.errors import InputError
from models.kind import TARGET
from models.lab import position_among, read
from models.labs.foreign import HUB
from models.labs.foreign.opening import hub
from models.messages import message
from models.prompt import Prompt, readable
from models.trace import vector_shift


def opened(model: str, text: str, source: str | None = None) -> tuple[Lab, Prompt]:
    """Returns a model and its prompt; a model with a slash that is not of the Hub is the path of a folder."""
    lab = load_folder(model) if "/" in model and not model.startswith(HUB) else load(model)
    return lab, read(lab, readable(text), None if source is None else readable(source))


def models() -> dict[str, Any]:
    """Returns the released models, and the models of the Hub to which this host is limited."""
    infos = filter(None, map(catalogue.describe, catalogue.names()))
    return {"models": [{"name": info.name, "task": info.task.name, "attention": info.title, "line": info.line,
                        "shape": info.shape, "limit": info.limit} for info in infos],
            "hub": [HUB + repo for repo in hub.access().allowed]}


def learn(learning: Learning) -> dict[str, Any]:
    """Trains a small model and returns its loss and accuracy on held-out sequences at each moment."""
    return {"recipe": str(learning.recipe), "baseline": learning.baseline,
            "moments": [{"step": moment.step, "loss": moment.loss, "accuracy": moment.accuracy}
                        for moment in learning]}


def run(lab: Lab, prompt: Prompt, plan: HeadPlan) -> dict[str, Any]:
    """Returns tokens, predictions, losses and KL divergences under a plan, with the keys of the app's JSON file."""
    lab.check(plan)
    prompt = lab.anchored(prompt)
    before, after = lab.run(prompt, [HeadPlan(), plan]) if plan else lab.run(prompt, [plan]) * 2
    result = effect(before, after)
    result["unmodified"]["written"] = before.written
    if before.vectors is not None:
        tokens, text = vector_shift(before, after)
        result["shift"] = {"tokens": numbers(tokens), "text": number(text)}
    return {**_about(lab, plan), "tokens": {row: list(tokens) for row, tokens in before.rows.items()},
            "omitted": prompt.omitted, "hint": prompt.hint,
            "positions": [{"row": output.row, "position": output.position} for output in before.outputs],
            **result, "written": lab.rewrite(prompt, plan) if plan and before.written else before.written}


def lens(lab: Lab, prompt: Prompt, plan: HeadPlan, position: int = -1, most: int = 5) -> dict[str, Any]:
    """Returns the `most` top tokens after each layer at one position; layer 0 is the embedding."""
    result = lens_of(lab, prompt, plan, most)
    predicting = result.positions.tolist()
    place = position_among(position, predicting, len(result.tokens))
    if place not in predicting:
        raise InputError(message("there is no prediction at position {position}", position=position))
    at = predicting.index(place)
    return {**_about(lab, plan), "tokens": list(result.tokens), "position": place, "first": int(result.first[at]),
            "layers": [{"final": number(final[at]),
                        "top": [{"label": label, "probability": number(value)}
                                for label, value in zip(labels[at], probabilities[at], strict=True)]}
                       for labels, probabilities, final in zip(result.labels, result.probabilities, result.final,
                                                               strict=True)]}


def contributions(lab: Lab, prompt: Prompt, plan: HeadPlan, token: str | None = None, against: str | None = None,
                  position: int = -1) -> dict[str, Any]:
    """Returns the contribution of each head, MLP and embedding to a token's logit; all of them sum to `total`."""
    result = attribution_of(lab, prompt, plan, token, against, position)
    labels = lab.task.labels
    return {**_about(lab, plan), "position": result.position, "token": labels[result.token],
            "against": None if result.against is None else labels[result.against], "total": number(result.total),
            "heads": {kind: numbers(values) for kind, values in result.heads.items()},
            "rest": {name: number(value) for name, value in result.rest.items()}}


def writes(lab: Lab) -> bool:
    """Returns True if a pass begins with a search for the baseline output."""
    return any(kind.query_row == TARGET for kind in lab.kinds)


def _about(lab: Lab, plan: HeadPlan) -> dict[str, Any]:
    return {"model": lab.name, "plan": str(plan)}

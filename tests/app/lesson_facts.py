"""Measures the facts that lessons state. Each fact names a measure and the expected value.

A fact is a dictionary: "says" is the claim in the lesson's words, and "measure" is one of MEASURES, with its arguments.
"with" has fields of a link that replace those of the step. The expected value is "is", or "at least" and "at most".
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy

import models
from app.panels.choosing import card_of
from app.state.lab_state import LabState
from app.state.lessons import Step
from app.state.link import read_query
from learning.recorded import recording
from learning.tasks import TASKS as LEARNED_TASKS
from models import HeadPlan, Trace
from models.analysis.answer.head_attribution import HeadPatching, patching_of
from models.lab import read
from models.trace import entropy, row_entropy
from studies import store
from tests.learning.pictures import unpacked

Fact = Mapping[str, Any]


def state_of(opens: Mapping[str, str], fact: Fact) -> LabState:
    """Returns the state of the app that a fact is about."""
    state, problems = read_query({"page": "lab", **opens, **fact.get("with", {})})
    assert not problems, problems
    return state


@functools.lru_cache(64)
def run(state: LabState) -> Trace:
    return models.run(models.load(state.model), state.text, state.plan, source=state.source or None)


def _output(trace: Trace) -> models.Output:
    assert trace.output is not None
    return trace.output


def _probability(state: LabState, fact: Fact) -> float:
    output = _output(run(state))
    return float(output.distribution[output.names.index(fact["of"])])


def _weight(state: LabState, fact: Fact) -> float:
    """Returns the weight from token `query` to `key`, both from 0, of a head, or the mean over the layer's heads."""
    maps = run(state).weights[fact.get("kind", "self")][fact["layer"]]
    row = maps.mean(0) if "head" not in fact else maps[fact["head"]]
    return float(row[fact["query"], fact["key"]])


def _offset(state: LabState, fact: Fact) -> float:
    """Returns the head's mean weight on the token at distance `offset` from the query."""
    maps = run(state).weights["self"][fact["layer"], fact["head"]]
    queries = [i for i in range(len(maps)) if 0 <= i + fact["offset"] < len(maps)]
    return float(numpy.mean([maps[i, i + fact["offset"]] for i in queries]))


def _moves(state: LabState, fact: Fact) -> float:
    """Returns the largest change of a weight of the head if the text is replaced by `to`, of equally many tokens."""
    one, two = (run(each).weights["self"][fact["layer"], fact["head"]] for each in (state, _other(state, fact)))
    return float(numpy.abs(one - two).max())


def _row_moves(state: LabState, fact: Fact) -> numpy.ndarray:
    """Returns, for each row (N,), the largest change of any weight in the layer if the text is replaced by `to`."""
    one, two = (run(each).weights["self"][fact["layer"]] for each in (state, _other(state, fact)))
    return numpy.abs(one - two).max((0, 2))


def _other(state: LabState, fact: Fact) -> LabState:
    return replace(state, text=fact["to"]["text"])


def _heads_at_offset(state: LabState, fact: Fact) -> int:
    """Returns the number of heads whose mean weight on the token at distance `offset` is above `above`."""
    layers, heads = models.load(state.model).shape["self"]
    return sum(_offset(state, {**fact, "layer": layer, "head": head}) > fact["above"]
               for layer in range(layers) for head in range(heads))


def _least_by_head(state: LabState, fact: Fact) -> float:
    """Returns the lowest probability of the answer over plans with one head constant (c) or pruned (g0)."""
    layers, heads = models.load(state.model).shape["self"]
    plans = [HeadPlan.parse(f"self-{layer}.{head}{fact['state']}") for layer in range(layers) for head in range(heads)]
    return min(_probability(replace(state, plan=plan), fact) for plan in plans)


def _translations_kept(state: LabState, fact: Fact) -> int:
    """Returns the number of heads of `kind` that can be pruned alone without changing the translation."""
    layers, heads = models.load(state.model).shape[fact["kind"]]
    plans = [HeadPlan().gate(fact["kind"], layer, head, 0.0) for layer in range(layers) for head in range(heads)]
    return sum(run(replace(state, plan=plan)).written == run(state).written for plan in plans)


def _entropy_share(state: LabState, fact: Fact) -> float:
    """Returns the mean entropy of the rows of a layer, divided by ln n."""
    maps = run(state).weights["self"][fact["layer"]]
    return float(row_entropy(maps).mean() / numpy.log(maps.shape[-1]))


def _row_sum(state: LabState, fact: Fact) -> float:
    return float(run(state).weights["self"].sum(-1).mean())


@functools.lru_cache(16)
def _lens(state: LabState) -> models.LogitLens:
    return models.logit_lens(models.load(state.model), state.text, state.plan)


@functools.lru_cache(16)
def _contributions(state: LabState) -> dict[str, float]:
    """Returns what each part adds to the answer's logit: heads of `self` by `layer.head`, MLPs, embedding."""
    found = models.head_attribution(models.load(state.model), state.text, state.plan)
    heads = {f"{layer}.{head}": float(value) for (layer, head), value in numpy.ndenumerate(found.heads["self"])}
    return heads | dict(found.rest)


def _longest(state: LabState, head: bool) -> list[str]:
    """Returns the names of all parts, or of the heads only, ordered by contribution, the largest first."""
    bars = {name: value for name, value in _contributions(state).items() if not head or name[0].isdigit()}
    return sorted(bars, key=lambda name: -bars[name])


@functools.lru_cache(16)
def _patching(state: LabState) -> HeadPatching:
    lab = models.load(state.model)
    return patching_of(lab, read(lab, state.text, state.source))


def _moved(state: LabState, fact: Fact) -> float:
    """Returns the share of the way to the second prompt's answer that the head `of` alone moves the answer."""
    layer, head = map(int, fact["of"].split("."))
    return float(_patching(state).restored[fact.get("kind", "self")][layer, head])


def _study(state: LabState, fact: Fact) -> Any:
    found: Any = store.read(fact.get("model", state.model), fact["study"])
    for part in fact["path"]:
        found = found[part]
    if isinstance(found, list) and found and isinstance(found[0], list):
        return float(numpy.mean(found))
    return found


def _card(state: LabState, fact: Fact) -> Any:
    found: Any = card_of(fact.get("model", state.model))
    for part in fact["path"]:
        found = found[part]
    return found


@functools.lru_cache(8)
def _recorded(state: LabState) -> list[SimpleNamespace]:
    assert state.training.recipe is not None
    return [unpacked(moment) for moment in recording(state.training.recipe) or []]


def _moment(state: LabState, fact: Fact) -> SimpleNamespace:
    """Returns the moment at `step`, or the last one if the fact names no step."""
    moments = _recorded(state)
    return next(each for each in moments if each.step == fact["step"]) if "step" in fact else moments[-1]


def _learned_weights(state: LabState, fact: Fact) -> numpy.ndarray:
    """Returns the weights (N, N) of a head at a moment of a training."""
    return (_moment(state, fact).patterns[fact["layer"], fact["head"]] / 255) ** 2


def _looks_back(state: LabState, fact: Fact) -> float:
    """Returns the mean weight of the values of the watched sequence of `lookup` on the symbol to their left."""
    weights = _learned_weights(state, fact)
    sequence = LEARNED_TASKS["lookup"].example  # after the token `start`
    values = [1 + i for i, symbol in enumerate(sequence) if symbol.isdigit()]
    return float(numpy.mean([weights[i, i - 1] for i in values]))


MEASURES: dict[str, Callable[[LabState, Fact], Any]] = {
    "answer": lambda state, fact: _output(run(state)).labels[0],
    "probability": _probability,
    "weight": _weight,
    "offset": _offset,
    "moves": _moves,
    "forgotten": lambda state, fact: float(run(state).mask[fact["layer"], fact["query"], fact["key"]]),
    "entropy": lambda state, fact: float(entropy(run(state).weights["self"][fact["layer"], fact["head"], -1])),
    "heads at offset": _heads_at_offset,
    "least by head": _least_by_head,
    "row moves": lambda state, fact: float(_row_moves(state, fact)[fact["row"]]),
    "other rows move": lambda state, fact: float(numpy.delete(_row_moves(state, fact), fact["row"]).max()),
    "share of the most entropy": _entropy_share,
    "row sum": _row_sum,
    "growth of row sums": lambda state, fact: _row_sum(_other(state, fact), fact) / _row_sum(state, fact),
    "heads": lambda state, fact: int(numpy.prod(models.load(state.model).shape["self"])),
    "written": lambda state, fact: run(state).written,
    "written so far": lambda state, fact: run(state).written[:len(fact["is"])],
    "translations kept": _translations_kept,
    "answer by layer": lambda state, fact: _lens(state).labels[fact["after"], -1, 0],
    "probability by layer": lambda state, fact: float(_lens(state).probabilities[fact["after"], -1, 0]),
    "contribution": lambda state, fact: _contributions(state)[fact["of"]],
    "longest bar": lambda state, fact: _longest(state, head=False)[0],
    "longest bars of heads": lambda state, fact: _longest(state, head=True)[:len(fact["is"])],
    "moved": _moved,
    "heads that move the answer": lambda state, fact: sum(share > fact["above"]
                                                          for _address, share in _patching(state).ranked),
    "learned": lambda state, fact: _moment(state, fact).accuracy,
    "most accuracy until": lambda state, fact: max(each.accuracy for each in _recorded(state)
                                                   if each.step <= fact["step"]),
    "learned weight": lambda state, fact: float(_learned_weights(state, fact)[fact["query"], fact["key"]]),
    "learned contribution": lambda state, fact: float(_moment(state, fact).heads[fact["layer"], fact["head"]]),
    "looks back": _looks_back,
    "study": _study,
    "card": _card,
}


def check(step: Step, fact: Fact) -> str:
    """Returns "" if the fact holds, else a message with the claim and the measured and expected values."""
    value = MEASURES[fact["measure"]](state_of(step.opens, fact), fact)
    expected = {name: fact[name] for name in ("is", "at least", "at most") if name in fact}
    assert expected, f"{fact} expects nothing"
    if "is" in expected:
        holds = value == expected["is"]
    else:
        holds = expected.get("at least", -numpy.inf) <= value <= expected.get("at most", numpy.inf)
    return "" if holds else f"says {fact['says']!r}, but {fact['measure']} is {value!r}, expected {expected}"

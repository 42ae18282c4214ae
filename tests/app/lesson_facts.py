"""The facts that lessons rest on, measured: each says what to run and what must come of it.

A fact is {"says": what the lesson's words claim, "measure": one of MEASURES, ...what it takes, "with": fields of a link
in place of those that the step opens, and what is expected: "is", or "at least" and "at most"}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

import models
from app.panels.card import card_of
from app.state.lab_state import LabState
from app.state.lessons import Step
from app.state.link import read_query
from models import Trace
from models.studies import store
from models.trace import divergence, entropy

Fact = Mapping[str, Any]


def state_of(opens: Mapping[str, str], fact: Fact) -> LabState:
    """The experiment that a fact is about."""
    state, problems = read_query({"page": "explore", **opens, **fact.get("with", {})})
    assert not problems, problems
    return state


def run(state: LabState, trained: bool = False) -> Trace:
    """The experiment's forward pass."""
    lab = models.load(state.model)
    return models.run(lab, state.text, models.HeadPlan() if trained else state.alone(state.model).plan)


def _output(trace: Trace) -> models.Output:
    assert trace.output is not None
    return trace.output


def _probability(state: LabState, fact: Fact) -> float:
    output = _output(run(state))
    return float(output.distribution[output.names.index(fact["of"])])


def _weight(state: LabState, fact: Fact) -> float:
    """Of the head `head`, or the mean of the layer; from one token to another, counted from 0."""
    maps = run(state).weights["self"][fact["layer"]]
    row = maps.mean(0) if "head" not in fact else maps[fact["head"]]
    return float(row[fact["query"], fact["key"]])


def _offset(state: LabState, fact: Fact) -> float:
    """The mean weight of the head on the token `offset` places away."""
    maps = run(state).weights["self"][fact["layer"], fact["head"]]
    queries = [i for i in range(len(maps)) if 0 <= i + fact["offset"] < len(maps)]
    return float(numpy.mean([maps[i, i + fact["offset"]] for i in queries]))


def _first(state: LabState, fact: Fact) -> float:
    """The mean weight of the head on the first token, over all later queries."""
    return float(run(state).weights["self"][fact["layer"], fact["head"], 1:, 0].mean())


def _moves(state: LabState, fact: Fact) -> float:
    """How far one weight of the head goes at most when `to` is set: the largest difference of two maps, over the
    tokens that both texts have."""
    other, _ = read_query({"page": "explore", "model": state.model, "text": state.text, "plan": str(state.plan),
                           **fact["to"]})
    one, two = (run(each).weights["self"][fact["layer"], fact["head"]] for each in (state, other))
    n = min(len(one), len(two))
    return float(numpy.abs(one[:n, :n] - two[:n, :n]).max())


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


MEASURES: dict[str, Callable[[LabState, Fact], Any]] = {
    "answer": lambda state, fact: _output(run(state)).labels[0],
    "right answer": lambda state, fact: _output(run(state)).names[_output(run(state)).target],
    "probability": _probability,
    "loss": lambda state, fact: run(state).loss,
    "loss change": lambda state, fact: run(state).loss - run(state, trained=True).loss,
    "kl": lambda state, fact: divergence(_output(run(state, trained=True)), _output(run(state))),
    "weight": _weight,
    "offset": _offset,
    "first": _first,
    "moves": _moves,
    "forgotten": lambda state, fact: float(run(state).mask[fact["layer"], fact["query"], fact["key"]]),
    "entropy": lambda state, fact: float(entropy(run(state).weights["self"][fact["layer"], fact["head"], -1])),
    "mean entropy": lambda state, fact: float(entropy(run(state).weights["self"]).mean()),
    "heads": lambda state, fact: int(numpy.prod(models.load(state.model).shape["self"])),
    "study": _study,
    "card": _card,
}


def check(step: Step, fact: Fact) -> str:
    """Empty if the fact holds; else what was measured and what the lesson says."""
    value = MEASURES[fact["measure"]](state_of(step.opens, fact), fact)
    expected = {name: fact[name] for name in ("is", "at least", "at most") if name in fact}
    assert expected, f"{fact} expects nothing"
    if "is" in expected:
        holds = value == expected["is"]
    else:
        holds = expected.get("at least", -numpy.inf) <= value <= expected.get("at most", numpy.inf)
    return "" if holds else f"says {fact['says']!r}, but {fact['measure']} is {value!r}, expected {expected}"

"""The tools of the Lab: each has a drawing, and a payload that the browser accepts, for every kind of model."""

from __future__ import annotations

import json

import numpy
import pytest

from app.lab import events, tools
from app.state import visit
from components.library.bundle import bundle
from components.mounting import FOLDER
from components.payload import pack, unpack
from models.plan import HeadPlan
from tests.app.test_lab import LAYER, STORY, view_of

DRAWINGS = FOLDER / "lab" / "tools"


def test_every_tool_has_a_drawing():
    """The module registers the tool's name, so that the inspector finds the drawing."""
    for name in {tool.name for tool in tools.TOOLS}:
        assert f"defineTool('{name}', draw" in (DRAWINGS / f"{name}.js").read_text("utf-8")


def test_the_library_registers_every_drawing():
    from components.library import ENTRY, component_modules
    code = bundle(ENTRY, component_modules())
    assert all(f"defineTool('{tool.name}'" in code for tool in tools.TOOLS)


@pytest.mark.parametrize("model", ["stories-selective", "masked-gau-relu2", "assignment-softmax",
                                   "translation-softmax"])
def test_every_offered_tool_has_a_payload(model: str):
    offered = tools.offered(view_of(model))
    for tool in offered:
        header, arrays = tools.content(view_of(model, tool=tool.key), offered)
        assert header is not None and header["key"] == tool.key
        json.dumps(header, allow_nan=False)
        unpack(pack(header, arrays))


def test_contributions_sum_to_the_logit_and_pruned_heads_contribute_nothing():
    header, arrays = _content("answer.who", LAYER)
    assert not numpy.any(arrays["tool.self"][2])
    total = float(arrays["tool.self"].sum()) + sum(value for _name, value in header["rest"])
    assert header["total"] == pytest.approx(total, abs=1e-3)


def test_matches_have_the_softmax_of_the_attention():
    rows = _content("head.why", HeadPlan())[0]["rows"]
    matches = numpy.array([row["score"] - row["masking"] for row in rows])
    weights = numpy.array([row["weight"] for row in rows])
    assert numpy.log(weights) - numpy.log(weights[0]) == pytest.approx(matches - matches[0], abs=1e-3)


def _content(key: str, plan: HeadPlan):
    view = view_of("stories-selective", plan, STORY)
    tool = next(tool for tool in tools.TOOLS if tool.key == key)
    return tool.content(view, tool)


@pytest.mark.parametrize("heads", [None, [["self", 0]], [["self", 9, 0]], [["no", 0, 0]], [[["self"], 0, 0]], [1]])
def test_invalid_pruning_orders_change_nothing(heads: object):
    now = visit.Visit()
    with visit.use(now):
        events.on_lab({"type": "prune", "heads": heads, "left": 0})
        assert not now.history.present.plan


def test_a_pruning_order_keeps_the_last_heads():
    now = visit.Visit()
    with visit.use(now):
        events.on_lab({"type": "prune", "heads": [["self", 0, 1], ["self", 2, 3]], "left": 1})
        plan = now.history.present.plan
        assert (plan.state("self", 0, 1).gate, plan.state("self", 2, 3).gate) == (0, 1)

"""The tools of the Lab: each can be drawn for every kind of model, and is reached in two presses or by search."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy
import pytest

from app.content import parts
from app.content.tools.mean import mean_map
from app.lab import events, tools
from app.state import visit
from components.library.bundle import bundle
from components.mounting import FOLDER
from components.payload import lower_triangle, pack, unpack
from models.plan import HeadPlan
from models.thumbnails import encoded
from tests.app.test_lab import LAYER, STORY, view_of

DRAWINGS = FOLDER / "lab" / "tools"
SELECTIVE = "stories-selective"
MODELS = (SELECTIVE, "masked-gau-relu2", "assignment-softmax", "translation-softmax", "stories-gated", "masked-softmax",
          "assignment-softmax@100")


def drawn(view: Any, key: str) -> dict[str, Any]:
    """Returns the payload of a tool, as the browser receives it."""
    header, arrays = tools.content(view, tools.offered(view))
    assert header is not None and header["key"] == key
    json.dumps(header, allow_nan=False)
    unpack(pack(header, arrays))
    return header


def composed_parts() -> set[str]:
    """Returns the names of the parts that components/lab/tools/composed.js draws."""
    code = (DRAWINGS / "composed.js").read_text("utf-8")
    return set(re.findall(r"^  (\w+)[:,(]", code[code.index("const PARTS = {"):code.index("\n};")], re.MULTILINE))


def parts_in(value: Any) -> set[str]:
    """Returns the names of all parts within a payload."""
    if isinstance(value, dict):
        return {value["part"]} if isinstance(value.get("part"), str) else set() | set().union(
            *map(parts_in, value.values()))
    return set().union(*map(parts_in, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("model", MODELS)
def test_every_offered_tool_can_be_drawn(model: str):
    """A tool has parts, each of which the browser knows, or a drawing of its own, or a message."""
    known = composed_parts()
    assert {"title", "bars", "lines", "tiles"} <= known
    for tool in tools.offered(view_of(model)):
        with visit.use(visit.Visit()):
            header = drawn(view_of(model, tool=tool.key), tool.key)
        own = DRAWINGS / f"{tool.name}.js"
        assert own.exists() or "parts" in header or "message" in header, tool.key
        assert not own.exists() or f"defineTool('{tool.name}', draw" in own.read_text("utf-8")
        for part in header.get("parts", []):
            assert parts_in(part) <= known and part["part"] in known, (tool.key, part["part"])


def test_the_library_registers_every_drawing():
    from components.library import ENTRY, component_modules
    code = bundle(ENTRY, component_modules())
    assert all(f"defineTool('{tool.name}'" in code for tool in tools.TOOLS if (DRAWINGS / f"{tool.name}.js").exists())


def test_every_tool_is_offered_and_reached_in_two_presses_or_by_search():
    """One press opens the tab of a thing and one its tool; a search finds the tool by its question or its term."""
    entries = {tool.key: tool.entry for model in MODELS for tool in tools.offered(view_of(model))}
    assert entries.keys() == {tool.key for tool in tools.TOOLS}
    assert all(entry["thing"] in tools.FIRST_TOOLS and entry["question"] and entry["term"]
               for entry in entries.values())


def test_the_browser_names_only_tools_that_exist():
    keys = {tool.key for tool in tools.TOOLS}
    for path in (FOLDER / "lab").rglob("*.js"):
        for key in re.findall(r"'((?:head|layer|all|word|answer)\.[a-z]+)'", path.read_text("utf-8")):
            assert key in keys, (path.name, key)


def test_questions_have_at_most_six_words():
    assert not [tool.question for tool in tools.TOOLS if len(tool.question.split()) > 6]


def test_contributions_sum_to_the_logit_and_pruned_heads_contribute_nothing():
    view = view_of(SELECTIVE, LAYER, STORY)
    before, after = view.formations
    token = view.tokens[0]
    heads, rest = after.contributions(token, before.writes)
    parts = _content("answer.who", LAYER)["parts"]
    grids, bars = next(part for part in parts if part["part"] == "row" and part["look"] == "duo who")["parts"]
    grid = grids["parts"][0]
    assert not numpy.any(grid["values"][2])
    assert numpy.sum(grid["values"]) == pytest.approx(heads["self"].sum(), abs=1e-3)
    total = heads["self"].sum() + sum(rest.values())
    assert sum(row["value"] for row in bars["rows"]) == pytest.approx(total, abs=1e-3)
    assert f"{total:+.2f}".replace("-", "−") in parts[0]["small"]


def test_a_mean_pattern_counts_each_head_with_its_gate():
    plan = HeadPlan().with_heads([("self", 0, 1)], gate=0.0).with_heads([("self", 0, 2)], gate=0.5)
    view = view_of(SELECTIVE, plan, STORY)
    mean = numpy.average(view.layer(layer=0).weights, 0, [1, 0, 0.5, 1, 1, 1, 1, 1])
    assert abs(mean_map(view, [0]).astype(int) - lower_triangle(encoded(mean))).max() <= 1
    off = view_of(SELECTIVE, HeadPlan().with_heads([("self", 0, head) for head in range(8)], gate=0.0), STORY)
    plain = lower_triangle(encoded(off.layer(layer=0).weights.mean(0)))
    assert abs(mean_map(off, [0]).astype(int) - plain).max() <= 1


def test_matches_have_the_softmax_of_the_attention():
    table = next(part for part in _content("head.why", HeadPlan())["parts"][1]["parts"] if part["part"] == "table")
    assert len(table["columns"]) == 4  # word, match, forgotten, attention
    rows = [[float(str(row[1]).replace("−", "-")), float(str(row[2]).replace("−", "-")), row[3]["strong"]["share"]]
            for row in table["rows"]]
    matches, weights = numpy.array([row[0] - row[1] for row in rows]), numpy.array([row[2] for row in rows])
    assert numpy.log(weights) - numpy.log(weights[0]) == pytest.approx(matches - matches[0], abs=0.03)


def _content(key: str, plan: HeadPlan) -> dict[str, Any]:
    view = view_of(SELECTIVE, plan, STORY)
    tool = next(tool for tool in tools.TOOLS if tool.key == key)
    return tool.content(view, tool)[0]


def test_a_pruning_order_keeps_the_last_heads():
    now = visit.Visit()
    with visit.use(now):
        events.on_lab({"type": "prune", "heads": [["self", 0, 1], ["self", 2, 3]], "left": 1})
        plan = now.history.present.plan
        assert (plan.state("self", 0, 1).gate, plan.state("self", 2, 3).gate) == (0, 1)


def test_the_points_of_a_curve_are_ordered_by_x():
    """A chart labels the right end of a curve with the value of its last point."""
    learned = [(32, 0.0), (8, 1.5), (0, 4.87)]
    assert parts.lines("KL", [("learned", "learned", learned)], "heads left")[0]["curves"][0]["points"] == [
        [0, 4.87], [8, 1.5], [32, 0.0]]


def test_the_second_text_begins_as_the_text():
    """A visitor replaces one word of the text. A second text of another length is refused with both lengths."""
    view = view_of("stories-softmax", written=STORY, tool="head.carry")
    assert f'"value": "{STORY}"' in json.dumps(drawn(view, "head.carry"))
    other = replace(view, state=replace(view.state, source="One day"))
    assert "The second text has 3 tokens; 23 are needed." in json.dumps(drawn(other, "head.carry"))


def test_a_sheet_names_each_fact_once():
    sheet = next(part for part in drawn(view_of("stories-selective", tool="all.card"), "all.card")["parts"]
                 if part.get("look") == "sheet")
    names = [name for name, _text in sheet["rows"] if name]
    assert len(set(names)) == len(names) < len(sheet["rows"])

"""The tools of the Lab: each is drawn for every kind of model and found; hidden words; generation with less memory."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content import parts
from app.content.tools import mean_map
from app.lab import page, tools
from app.lab.tools import cont
from app.lab.tools.second_text import MOST_WORDS, new_prediction, with_hidden, words
from app.state import visit
from app.state.lab_state import LAST
from components.bundle import bundle
from components.mounting import FOLDER
from components.payload import lower_triangle, pack, unpack
from models import load
from models.catalogue import find
from models.generate.decoding import Step
from models.plan import HeadPlan
from models.storage.checkpoint import read_json, write_json
from models.thumbnails import encoded
from studies import store
from studies.corpus.forgetting import largest_factor
from tests.app.test_lab import LAYER, STORY, view_of
from tests.app.test_pages import opened, sent

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


def test_every_drawing_and_every_named_tool_exists_and_questions_are_short():
    from components.library import ENTRY, component_modules
    code = bundle(ENTRY, component_modules())
    assert all(f"defineTool('{tool.name}'" in code for tool in tools.TOOLS if (DRAWINGS / f"{tool.name}.js").exists())
    keys = {tool.key for tool in tools.TOOLS}
    for path in (FOLDER / "lab").rglob("*.js"):
        for key in re.findall(r"'((?:head|layer|all|word|answer)\.[a-z]+)'", path.read_text("utf-8")):
            assert key in keys, (path.name, key)
    assert not [tool.question for tool in tools.TOOLS if len(tool.question.split()) > 6]


def test_every_tool_is_offered_and_reached_in_two_presses_or_by_search():
    """One press opens the tab of a thing and one its tool; a search finds the tool by its question or its term."""
    entries = {tool.key: tool.entry for model in MODELS for tool in tools.offered(view_of(model))}
    assert entries.keys() == {tool.key for tool in tools.TOOLS}
    assert all(entry["thing"] in tools.FIRST_TOOLS and entry["question"] and entry["term"]
               for entry in entries.values())


def test_contributions_sum_to_the_logit_and_pruned_heads_contribute_nothing():
    view = view_of(SELECTIVE, LAYER, STORY)
    before, after = view.formations
    token = view.tokens[0]
    heads, rest = after.contributions(token, before)
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
        page.on_lab({"type": "prune", "heads": [["self", 0, 1], ["self", 2, 3]], "left": 1})
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


TEXTS = st.text(alphabet=" abz.'\"[]MASK\n-é", max_size=60)


def bare(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def test_choosing_and_taking_back():
    text = "The cat [sat] on the [MASK]."
    assert [(word, hidden) for *_, word, hidden in words(text)] == [
        ("The", False), ("cat", False), ("sat", True), ("on", False), ("the", False)]
    assert with_hidden(text, {1}) == "The [cat] sat on the [MASK]."
    assert with_hidden(with_hidden(text, {1}), {2}) == text


@pytest.mark.parametrize("word", ["cafe\u0301", "हिन्दी", "می\u200cخواهم", "שָׁלוֹם"])
def test_marks_stay_with_their_letters(word: str):
    assert [its[2] for its in words(f"a {word} b")] == ["a", word, "b"]


@given(TEXTS, st.sets(st.integers(0, 20)))
def test_only_brackets_change(text: str, chosen: set[int]):
    changed = with_hidden(text, chosen)
    assert bare(changed) == bare(text)
    assert with_hidden(changed, {i for i, (*_, hidden) in enumerate(words(changed)) if hidden}) == changed


@given(TEXTS)
def test_hidden_words_stay_as_typed(text: str):
    assert with_hidden(text, {i for i, (*_, hidden) in enumerate(words(text)) if hidden}) == text


def test_a_long_text_offers_some_of_its_words():
    assert len(words("word " * 500)) == MOST_WORDS
    assert with_hidden("word " * 500, {0}).count("[") == 1


@pytest.mark.parametrize(("text", "word", "asked"), [
    ("There was a time in the house.", "house", 0), ("There was a time in the [house].", "time", 0),
    ("There was a [time] in the house.", "house", 1), ("[There] was a time in the [house].", "time", 1),
    ("A [MASK] was in the house.", "house", 1), ("The house was old.", "The", 0)])
def test_the_word_hidden_last_is_predicted(text: str, word: str, asked: int):
    task = find("masked-softmax").task
    chosen = [i for i, (_start, _stop, its, hidden) in enumerate(words(text)) if hidden or its == word]
    assert new_prediction(task, text, chosen) == asked
    prompt = task.read(with_hidden(text, set(chosen)))
    assert task.token_at(prompt, prompt.predict_at[asked]).strip() == word


def test_a_word_that_is_shown_again_leaves_the_last_prediction():
    text = "There was a [time] in the [house]."
    assert new_prediction(find("masked-softmax").task, text, [6]) == LAST


def points_of(way: str, *factors: int, worse: float = 0.0) -> list[dict]:
    return [{"way": way, "factor": factor, "perplexity": 20.0 + factor + worse, "perplexity_books": 30.0,
             "perplexity_stories": 10.0, "budgets": [256 // factor] * 4, "kept_share": 1 / factor}
            for factor in factors]


@pytest.mark.parametrize(("curve", "limit", "factor"), [
    ({}, 11, 0), ({1: 10}, 9, 0), ({1: 10, 2: 10.5, 4: 11.5, 8: 10}, 11, 2), ({8: 10, 1: 10}, 11, 8)])
def test_the_largest_factor(curve: dict[float, float], limit: float, factor: float):
    assert largest_factor(curve, limit) == factor


FORGETTING = {"name": "stories-selective", "points": points_of("chosen", 1, 2, 4),
             "comparisons": points_of("equal", 2, 4) + points_of("equal-oldest", 2, 4)}
CONTROL = {"name": "stories-softmax", "points": points_of("chosen", 1, 2, 4, worse=1.5),
           "comparisons": points_of("equal", 2, 4, worse=1.5)}


@pytest.fixture
def measurements(tmp_path, monkeypatch):
    """Writes measurements of a selective model and of the softmax control, which is slightly worse with full memory."""
    for curves in (FORGETTING, CONTROL):
        name = str(curves["name"])
        write_json(tmp_path / f"{name}.memory.json", curves | {
            "window": 256, "windows": 64, "validation_windows": 24, "cpu_seconds": 1,
            "metric": load(name).card["metric"], "command": f"python -m studies.corpus.forgetting {name}"})
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)


def test_counts_in_words():
    assert cont.counts([Step("a", False, ((0,), (0,)))]) == "Each layer keeps 1 of 1 tokens"
    some = [Step("a", False, ((0,), (0,)))] * 4 + [Step("a", False, ((0, 4), (0, 1, 4), (0, 1, 2, 4)))]
    assert cont.counts(some) == "Kept of 5: layer 1 2 · layer 2 3 · layer 3 4"


def test_measured_budgets_are_drawn_and_offered_for_the_same_weights(measurements, tmp_path):
    header = sent(opened(model="stories-selective", lab="all.memory"), "lab")[0]["tool"]
    text = json.dumps(header)
    assert header["key"] == "all.memory"
    assert "With 1/2 of its memory, its perplexity is no higher than softmax's" in text
    choices = cont.choices(load("stories-selective"))
    assert choices["Keep 1/4 of the tokens: 64, 64, 64, 64 by layer"] == (64,) * 4
    assert choices["Keep all tokens while writing"] == ()
    assert "1/1" not in " ".join(choices)
    path = tmp_path / "stories-selective.memory.json"
    assert store.read("stories-selective", "memory")
    write_json(path, read_json(path) | {"metric": {"perplexity": 1.0}})
    assert store.read("stories-selective", "memory") is None


def test_only_measured_selective_models_have_the_curve(monkeypatch, tmp_path):
    def tools(model: str) -> list[str]:
        return [tool["key"] for tool in sent(opened(model=model), "lab")[0]["tools"]]

    assert "all.memory" in tools("stories-selective") and "all.memory" not in tools("stories-softmax")
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)
    assert "all.memory" not in tools("stories-selective")

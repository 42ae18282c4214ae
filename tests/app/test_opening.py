"""Measures the claims of the first page: the prediction is right, one click changes it, and each sentence is true.

pytest tests/app/test_opening.py
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

import models
from app.state.handlers import events, lesson_events
from app.state.history import History
from app.state.lab_state import FIRST_PAGE, default_text
from app.state.link import FIRST_VISIT, first_lab, opened_by, query_of, read_query
from app.state.pages.selection import Selection
from app.views.teaching.start import READER, WITHOUT_FIRST, WITHOUT_ONE, WITHOUT_READER, words
from models import HeadPlan, catalogue
from tests.app.test_pages import opened, sent
from tests.app.visitors import visiting

LAB = models.load(FIRST_VISIT["model"])


def answer(plan: HeadPlan, text: str = FIRST_VISIT["text"]) -> tuple[str, float]:
    output = models.run(LAB, text, plan).output
    return output.labels[0], float(output.probabilities[0])


def test_the_answer_is_right_and_large():
    label, probability = answer(HeadPlan())
    assert label == "7" and probability > 0.999
    shown = sent(opened(page="start"), "opening")[0]
    assert (shown["answer"], shown["right"], shown["changed"]) == ("7", True, False)
    assert [choice["plan"] for choice in shown["choices"]] == [str(WITHOUT_FIRST)]


@pytest.mark.parametrize(("plan", "label", "least"), [
    (WITHOUT_FIRST, "3", 0.99), (WITHOUT_READER, "7", 0.5), (WITHOUT_ONE, "7", 0.99)])
def test_what_each_press_does(plan: HeadPlan, label: str, least: float):
    assert answer(plan)[0] == label and answer(plan)[1] > least
    shown = sent(opened(page="start", plan=str(plan)), "opening")[0]
    assert (shown["answer"], shown["right"]) == (label, label == "7")
    bars = {bar["label"]: bar for bar in shown["bars"]}
    assert list(bars) == ["1", "3", "7"] and [its for its in bars if bars[its]["right"]] == ["7"]
    assert bars[label]["after"] == pytest.approx(answer(plan)[1], abs=1e-6)
    assert bars["7"]["before"] == pytest.approx(answer(HeadPlan())[1], abs=1e-6)


@pytest.mark.parametrize("plan", ["self-3.7g0", "self-1.1g0_self-3.7g0", "self-1.1g0_scale-logn64"])
def test_a_plan_of_another_model_keeps_the_page(plan: str):
    """The first page always shows its own model.

    From a plan for another model it applies the heads that its own model has.
    """
    app = opened(page="start", model="stories-softmax", plan=plan)
    assert not app.exception
    shown = sent(app, "opening")[0]
    assert shown["answer"] == "7" and shown["changed"] == ("self-1.1g0" in plan)


@pytest.mark.parametrize(("plan", "least", "most"), [(WITHOUT_FIRST, 0.31, 0.35), (WITHOUT_READER, 0.27, 1 / 3)])
def test_without_a_layer_the_model_guesses(plan: HeadPlan, least: float, most: float):
    """Without a layer the model is right about as often as a random choice among the three digits of the line."""
    digits = list(itertools.permutations(range(1, 10), 3))
    rights = [answer(plan, f"x={a}; x={b}; y={c}; x=?")[0] == str(b) for a, b, c in digits]
    assert least < sum(rights) / len(rights) < most


def test_without_layer_2_the_probability_halves():
    assert 0.45 < answer(WITHOUT_READER)[1] < 0.55


def test_where_the_question_looks():
    maps = models.run(LAB, FIRST_VISIT["text"]).weights["self"][READER]
    assert maps.mean(0)[-1].argmax() == 4 and maps.mean(0)[-1, 4] > 0.5  # the mean over heads is largest on the 7
    assert maps[1, -1, 4] > 0.9  # head 2 puts nearly all its attention on the 7
    assert maps[0, -1, 4] > 0.5 and maps[2, -1, 4] > 0.5  # heads 1 and 3 also attend to the 7
    without_first = models.run(LAB, FIRST_VISIT["text"], WITHOUT_FIRST).weights["self"][READER]
    # without the first layer the heads attend most to the 3
    assert without_first.mean(0)[-1].argmax() == 6 and without_first.mean(0)[-1, 4] < 0.3


def test_in_the_first_layer_each_value_looks_at_its_name():
    maps = models.run(LAB, FIRST_VISIT["text"]).weights["self"][0]
    assert all(maps[:, value, value - 1].max() > 0.97 for value in (2, 4, 6))


def test_the_arcs_are_the_weights_of_the_model():
    maps = models.run(LAB, FIRST_VISIT["text"]).weights["self"][READER]
    shown = sent(opened(page="start"), "opening")[0]
    assert [token["text"] for token in shown["tokens"]] == ["x=", "1", "x=", "7", "y=", "3", "x=?"]
    assert shown["tokens"][3]["weight"] == pytest.approx(float(maps.mean(0)[-1, 4]), abs=1e-6)
    assert shown["tokens"][3]["before"] == shown["tokens"][3]["weight"]
    gone = sent(opened(page="start", plan=str(WITHOUT_READER)), "opening")[0]
    assert all(token["weight"] == 0 for token in gone["tokens"])
    assert [token["before"] for token in gone["tokens"]] == [token["weight"] for token in shown["tokens"]]


def test_the_arcs_below_the_line_are_the_layer_that_the_first_button_prunes():
    maps = models.run(LAB, FIRST_VISIT["text"]).weights["self"][0].mean(0)
    shown = sent(opened(page="start"), "opening")[0]
    assert {its["source"] for its in shown["links"]} == {1, 3, 5}  # the values
    for link in shown["links"]:  # the payload omits the start token
        assert link["weight"] == pytest.approx(float(maps[link["source"] + 1, link["target"] + 1]), abs=1e-6)
        assert link["before"] == link["weight"]
    for value in (1, 3, 5):  # the largest weight of each value is on its name
        largest = max((its for its in shown["links"] if its["source"] == value), key=lambda its: its["weight"])
        assert largest["target"] == value - 1 and largest["weight"] > 0.7
    gone = sent(opened(page="start", plan=str(WITHOUT_FIRST)), "opening")[0]
    assert all(link["weight"] == 0 for link in gone["links"])
    assert [link["before"] for link in gone["links"]] == [link["weight"] for link in shown["links"]]


def test_the_lab_after_skipping_predicts_a_word_of_the_text_that_depends_on_a_layer():
    state = first_lab()
    assert state.page == FIRST_PAGE and read_query(dict(parse_qsl(query_of(state)))) == (state, [])
    lab, (_kind, layer, head) = models.load(state.model), (state.selection.kind, state.selection.layer,
                                                           state.selection.head)
    trace = models.run(lab, state.text)
    ball = trace.tokens.index(" ball")
    assert trace.output.labels[0] == " ball" and trace.output.probabilities[0] > 0.5
    assert trace.weights["self"][layer][head][-1, ball] > 0.6
    alone = models.run(lab, state.text, HeadPlan().gate("self", layer, head, 0.0)).output
    # pruning the selected head, by one click on the page, lowers the probability
    assert alone.probabilities[0] < trace.output.probabilities[0] - 0.1
    without = functools.reduce(lambda plan, its: plan.gate("self", layer, its, 0.0), range(8), HeadPlan())
    assert models.run(lab, state.text, without).output.labels[0] == " friends"


def test_another_task_shows_its_first_example_and_a_link_without_a_text_what_it_always_did():
    assert opened_by(None).with_model("stories-softmax").text == first_lab().text
    assert read_query({"model": "stories-softmax"})[0].text.endswith("afraid of the dark. One day")
    assert all(default_text(name) in dict(catalogue.find(name).task.examples).values() for name in models.names())


def test_any_plan_of_a_link_is_shown_with_its_answer():
    plan = HeadPlan.parse("self-2.1c")
    shown = sent(opened(page="start", plan=str(plan)), "opening")[0]
    assert shown["answer"] == answer(plan)[0]
    assert words(plan, True)["reason"]


def test_another_model_leaves_the_first_visit(monkeypatch):
    assert sent(opened(page="start", model="assignment-softmax", text="a=1; a=?"), "opening")[0]["answer"] == "7"
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_chooser({"type": "model", "model": "stories-softmax"})
    assert (past.present.model, past.present.page) == ("stories-softmax", "explore")


def test_the_header_of_the_start_page_opens_the_same_text_without_a_plan(monkeypatch):
    """The link in the header opens Explore with the same text and without a plan, by click and in a new tab.

    The button of the page keeps the plan.
    """
    pruned = replace(opened_by(None), plan=WITHOUT_READER)
    shown = sent(opened(page="start", plan=str(WITHOUT_READER)), "navigation")[0]
    there = read_query(dict(parse_qsl(shown["query"])))[0]
    for event, plan in (({"type": "page", "page": "explore"}, HeadPlan()), ({"type": "lab"}, WITHOUT_READER)):
        past = History(pruned)
        visiting(monkeypatch, past)
        (events.on_toolbar if event["type"] == "page" else lesson_events.on_start)(event)
        assert (past.present.text, past.present.page, past.present.plan) == (pruned.text, "explore", plan)
        assert not plan or past.present.selection == Selection.default(plan, past.present.shape)
        if not plan:
            assert past.present == there
        past.undo()
        assert past.present == pruned

"""The start page: its sentences are true of the model, and its buttons do what they say."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

import models
from app.state import events
from app.state.history import History
from app.state.lab_state import FIRST_PAGE, LAB, START, TRAINING, default_text
from app.state.link import first_lab, opened_by, query_of, read_query
from models import HeadPlan, catalogue
from tests.app.test_pages import opened, sent
from tests.app.test_route import content
from tests.app.visitors import visiting

HEAD = HeadPlan().gate("self", 2, 4, 0.0)
LAYER = HeadPlan.parse("self-2.0~7g0")


def answer(plan: HeadPlan) -> tuple[str, float]:
    first = opened_by(None)
    output = models.run(models.load(first.model), first.text, plan).output
    return output.labels[0].strip(), float(output.probabilities[0])


def shown(**link: str) -> dict[str, Any]:
    return sent(opened(page=START, **link), "start")[0]


def test_the_first_sentence_says_what_the_head_does():
    page = shown()
    first = opened_by(None)
    row = models.run(models.load(first.model), first.text).weights["self"][2, 4, -1]
    assert [word["weight"] for word in page["words"]] == pytest.approx(row.tolist(), abs=1e-4)
    most = max(page["words"], key=lambda word: word["weight"])
    assert (most["text"].strip(), page["answer"].strip()) == ("ball", answer(HeadPlan())[0]) == ("ball", "ball")
    assert f"head 5 of layer 3 gives {row.max():.0%} of its attention to *ball*" in page["says"]
    assert page["chance"] == f"{answer(HeadPlan())[1]:.0%} likely" == "66% likely" and not page["pruned"]
    assert [button["event"] for button in page["buttons"]] == [{"type": "plan", "plan": str(HEAD)}]


def test_a_link_to_a_lesson_that_does_not_exist_says_so():
    assert sent(opened(lesson="pruning.2"), "start")[0]["about"] == \
        "The link's lesson step “pruning.2” does not exist."


def test_without_the_head_the_answer_stays_but_less_surely():
    page = shown(plan=str(HEAD))
    label, chance = answer(HEAD)
    assert label == page["answer"].strip() == "ball" and page["chance"] == f"{chance:.0%} likely, was 66%"
    assert page["pruned"] and "66% → *50%*. 31 other heads still" in page["says"]
    assert [button["event"] for button in page["buttons"]] == [
        {"type": "plan", "plan": ""}, {"type": "plan", "plan": str(LAYER)}]


def test_without_the_layer_another_word_wins_in_the_lab(monkeypatch: pytest.MonkeyPatch):
    page, past = shown(plan=str(LAYER)), History(opened_by(None))
    assert answer(LAYER)[0] == page["answer"].strip() == "friends" and "*friends*, not *ball*" in page["says"]
    event = page["ways"][-1]["event"]
    visiting(monkeypatch, past)
    events.on_start(event)
    state = past.present
    assert (state.page, state.plan, state.text) == (LAB, LAYER, opened_by(None).text)
    assert (state.selection.layer, state.selection.scope) == (2, "row")
    past.undo()
    assert past.present == opened_by(None)


@pytest.mark.parametrize("link", [{"plan": "self-3.7g0"}, {"plan": "self-1.1g0_scale-logn64"},
                                  {"model": "assignment-softmax", "text": "a=1; a=?"}])
def test_any_other_link_opens_the_same_experiment(link: dict[str, str]):
    assert content((shown(**link), {})) == content((shown(), {}))


@pytest.mark.parametrize("event", [{"type": "plan", "plan": 3}, {"type": "lab"}, {"type": "plan"}, {"type": "x"}, {}])
def test_a_strange_event_changes_nothing(event: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_start(event)
    assert past.present == opened_by(None)


def test_each_way_on_opens_its_page(monkeypatch: pytest.MonkeyPatch):
    ways = [way["event"] for way in shown()["ways"]]
    opened_pages = []
    for event in ways:
        past = History(opened_by(None))
        visiting(monkeypatch, past)
        events.on_start(event)
        opened_pages.append((past.present.page, str(past.present.lesson)))
    assert opened_pages == [(LAB, "constant.1"), (TRAINING, "None"), (LAB, "None")]


def test_the_header_opens_the_lab_with_the_same_text_and_plan(monkeypatch: pytest.MonkeyPatch):
    there = read_query(dict(parse_qsl(sent(opened(page=START, plan=str(HEAD)), "bar")[0]["links"])))[0]
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_start({"type": "plan", "plan": str(HEAD)})
    events.on_toolbar({"type": "page", "page": LAB})
    assert past.present == there and (there.page, there.plan) == (LAB, HEAD)


def test_another_model_leaves_the_start_page(monkeypatch: pytest.MonkeyPatch):
    past = History(opened_by(None))
    visiting(monkeypatch, past)
    events.on_chooser("stories-softmax")
    assert (past.present.model, past.present.page) == ("stories-softmax", FIRST_PAGE)


def test_a_link_without_a_text_opens_what_it_always_did():
    state = first_lab()
    assert state.page == FIRST_PAGE and read_query(dict(parse_qsl(query_of(state)))) == (state, [])
    assert opened_by(None).with_model("stories-softmax").text == state.text
    assert read_query({"model": "stories-softmax"})[0].text.endswith("afraid of the dark. One day")
    assert all(default_text(name) in dict(catalogue.find(name).task.examples).values() for name in models.names())

"""Tests of lessons: file format, conditions, opening and completing steps, leaving without loss of state."""

import copy
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lab.view import View
from app.panels.lesson import outcome
from app.panels.text import Reading
from app.state import events, lessons, visit
from app.state.history import History
from app.state.lab_state import SHOWN, START, LabState
from app.state.lab_view import LabView
from app.state.lessons import CHOICES, FOLDER, ORDER, Outcome, Place, Step, Words
from app.state.link import FIRST_VISIT, first_lab, opened_by, query_of, read_query
from app.texts import catalogue
from models import HeadPlan, load
from tests.app.test_pages import opened, sent
from tests.app.visitors import visiting

PLACES = [Place(each.key, number) for each in lessons.lessons() for number in range(1, len(each.steps) + 1)]
NUMBER = re.compile(r"\d+(?:[.,]\d+)*\s*%|\d+\.\d+")


def words_of(step: Step) -> list[Words]:
    """Returns all texts of a step."""
    asked = [step.question.ask, step.question.because, *step.question.choices] if step.question else []
    return [step.title, step.text, step.task, *asked]


def after(place: Place) -> LabState:
    """Returns the state of the app after a step was completed with the right answer."""
    step = lessons.step_at(place)
    state, problems = read_query({"lesson": str(place), **step.opens, **step.does})
    assert not problems
    return replace(state, answer=CHOICES[step.question.right] if step.question else "")


def came(state: LabState) -> Outcome:
    lab = load(state.model)
    view = View(lab, Reading(lab.task.read(state.text, lab.limit), state.text, lab.limit), state)
    return outcome(state, view.after.outputs, view.before.outputs)


def test_the_files_are_the_lessons_with_known_conditions_and_a_last_question():
    assert {path.stem for path in FOLDER.iterdir()} == set(ORDER)
    used = [step.done for each in lessons.lessons() for step in each.steps]
    assert not [word for word in lessons.WORDS if not any(done.asks(word) for done in used)]
    for its in lessons.lessons():
        assert its.steps[-1].question is not None
        assert its.steps[-1].done == lessons.Condition("right", True)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_step_is_done_by_doing_it_and_not_by_opening_it(place: Place):
    step = lessons.step_at(place)
    start = opened_by(place)
    assert start.lesson == place
    assert not step.done.holds(start, came(start))
    assert step.done.holds(after(place), came(after(place))), step.does


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_what_a_step_opens_can_be_read_and_has_a_short_link(place: Place):
    step = lessons.step_at(place)
    for link in (step.opens, {**step.opens, **step.does}):
        assert read_query({"lesson": str(place), **link})[1] == []
    assert not {"page", "lesson", "say", "teach", "lang"} & {*step.opens, *step.does}
    assert query_of(opened_by(place)) == f"lesson={place}"
    assert read_query({"lesson": str(place)}) == (opened_by(place), [])
    assert read_query({"lesson": str(place), "page": "compare"}) == (opened_by(place), [])  # an old link
    elsewhere = replace(LabState(), lesson=place, page=opened_by(place).page)
    assert read_query(dict(parse_qsl(query_of(elsewhere)))) == (elsewhere, [])


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_both_languages_give_the_same_numbers(place: Place):
    for words in words_of(lessons.step_at(place)):
        chinese = catalogue("zh").get(words).string
        english, other = (sorted(re.sub(r"\s", "", n) for n in NUMBER.findall(its)) for its in (words, chinese))
        assert english == other
        assert words.count("*") == chinese.count("*")


def test_links_of_the_former_lesson_open_its_steps_in_the_two_that_it_became():
    titles = [lessons.step_at(Place.parse(f"softmax.{step}")).title for step in range(1, 7)]
    assert titles == ["Entropy", "Limit it with log n", "And the predictions?", "relu² instead of softmax",
                      "Softmax in the same unit", "What you know now"]
    assert read_query({"lesson": "softmax.4"}) == (opened_by(Place("normalisation", 1)), [])


def test_a_task_that_asks_for_several_heads_counts_them():
    done = lessons.step_at(Place("gates", 5)).done
    state = LabState("assignment-selective", plan=HeadPlan.parse("self-0.0g0-0.1g0.5-2.0~1g0"))
    assert done.count(state) == (3, 6)
    assert done.count(replace(state, plan=HeadPlan.parse("self-0.0~3g0-1.0~3g0"))) == (6, 6)
    assert lessons.step_at(Place("gates", 2)).done.count(state) is None


def test_a_saved_state_opens_as_a_step_that_can_be_undone(visitor: History):
    own = visitor.present
    events.on_toolbar({"type": "open", "query": "?model=assignment-selective&plan=self-1.1g0&page=lessons"})
    assert (visitor.present.model, visitor.present.page, str(visitor.present.plan)) == (
        "assignment-selective", "lessons", "self-1.1g0")
    visitor.undo()
    assert visitor.present == own
    events.on_toolbar({"type": "open", "query": ["?x"]})
    assert visitor.present == own


def test_progress_that_a_browser_has_stored_is_taken_over(visitor: History):
    events.on_toolbar({"type": "progress", "done": ["gates.1", "nowhere.1", 3, ["x"], "gates.99", "softmax.4"]})
    assert visit.current().ticked == {Place("gates", 1), Place("normalisation", 1)}


def broken(entry: dict[str, Any], path: tuple[Any, ...], value: Any) -> str:
    """Returns the content of a lesson file in which the value at `path` is replaced; None removes the value."""
    entry = copy.deepcopy(entry)
    at = entry
    for part in path[:-1]:
        at = at[part]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(entry)


@pytest.mark.parametrize(("path", "value", "message"), [
    (("title",), None, "title\n  Field required"), (("colour",), "red", "colour\n  Unexpected"),
    (("title",), "", "title\n.*stars in pairs"), (("title",), {"en": "Heads"}, "title\n.*valid string"),
    (("steps", 1, "text"), "Press *Prune.", "stars in pairs"), (("steps", 0, "opens"), {"n": 3}, "steps.0.opens.n"),
    (("steps", 0, "done"), {"eval": "1"}, "no condition"), (("steps", 0, "done"), {"pruned": True}, "takes int"),
    (("steps", 0, "done"), {"all": []}, "list"), (("steps", 0, "done"), {"plan": "x"}, "names no group"),
    (("steps", 0, "done"), {}, "one word"), (("steps", -1, "question"), None, "asks nothing"),
    (("steps", -1, "question", "right"), 9, "counts the choices"), (("steps",), [], "at least 4 items"),
    (("minutes",), "8", "minutes\n.*valid integer"),
    (("steps", -1, "question", "choices"), [], "at least 2 items"), (("arxiv",), [1], "arxiv.0\n.*valid string")])
def test_a_file_that_is_wrong_is_refused_with_the_place(path, value, message):
    entry = json.loads((FOLDER / "constant.json").read_text("utf-8"))
    lessons.read("constant", json.dumps(entry))
    with pytest.raises(ValueError, match=message):
        lessons.read("constant", broken(entry, path, value))


def test_what_is_no_json_is_refused():
    with pytest.raises(ValueError, match="Invalid JSON"):
        lessons.read("constant", "{")


@pytest.mark.parametrize("text", ["", "constant", "constant.0", "constant.99", "other.1", "constant.1\n", "Constant.1",
                                  "constant.\u0661", "../constant.1"])
def test_what_is_no_step_is_refused(text: str):
    with pytest.raises(ValueError, match="no step"):
        Place.parse(text)


HEADS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans(), st.sampled_from([0.0, 0.5, 1.0])),
                 max_size=8)


@given(HEADS, st.integers(1, 9))
def test_heads_are_counted_as_the_plan_has_them(heads, n: int):
    plan = HeadPlan()
    for layer, head, constant, gate in heads:
        plan = plan.with_heads([("self", layer, head)], constant=constant, gate=gate)
    state = LabState("assignment-softmax", plan=plan)
    states = [plan.state("self", layer, head) for layer in range(3) for head in range(4)]
    for word, fits in (("constant", lambda s: s.constant), ("pruned", lambda s: s.gate == 0),
                       ("half open", lambda s: 0 < s.gate < 1)):
        its = lessons.check({word: n})
        assert its.holds(state, Outcome()) == (sum(map(fits, states)) >= n)
    named = lessons.check({"plan": str(plan.with_scale("trained"))}) if plan.heads else None
    assert named is None or named.holds(state, Outcome())


@given(st.booleans(), st.booleans())
def test_conditions_are_joined_as_they_are_called(one: bool, two: bool):
    shown = LabView("answer.lens") if two else LabView()
    state = LabState("assignment-softmax", "x=1; x=?" if one else "y=1; y=?", lab=shown)
    parts = [{"contains": "x="}, {"tool": "answer.lens"}]
    for word, expected in (("all", one and two), ("any", one or two)):
        assert lessons.check({word: parts}).holds(state, Outcome()) == expected
        assert lessons.check({"not": {word: parts}}).holds(state, Outcome()) != expected


@pytest.mark.parametrize(("condition", "outcome_", "holds"), [
    ({"answered": True}, Outcome(), False), ({"answered": True}, Outcome(is_right=False), True),
    ({"right": True}, Outcome(is_right=False), False), ({"right": True}, Outcome(is_right=True), True),
    ({"turned": True}, Outcome("3", "3"), False), ({"turned": True}, Outcome("2", "3"), True),
    ({"predicts": "2"}, Outcome("2", "3"), True), ({"predicts": "2"}, Outcome("3", "3"), False)])
def test_conditions_on_the_outcome(condition: dict[str, Any], outcome_: Outcome, holds: bool):
    assert lessons.check(condition).holds(LabState(), outcome_) is holds


@pytest.fixture
def visitor(monkeypatch) -> History:
    """Yields the history of a session without Streamlit."""
    past = History(LabState("stories-softmax", "my own text", HeadPlan().constant("self", 0, 1)))
    visiting(monkeypatch, past)
    return past


def test_leaving_a_lesson_and_undo_restore_the_visitor_s_state(visitor: History):
    own = visitor.present
    events.on_lesson({"type": "step", "to": "constant.1"})
    events.on_lesson({"type": "step", "to": "constant.2"})
    events.set_text("something else")
    events.on_lesson({"type": "leave"})
    assert visitor.present == own
    events.on_lesson({"type": "step", "to": "selective.2"})
    visitor.undo()
    assert visitor.present == own


def test_another_page_is_opened_without_the_lesson(visitor: History):
    own = visitor.present
    events.on_lesson({"type": "step", "to": "gates.1"})
    assert visitor.present.page == "lab"
    events.on_toolbar({"type": "page", "page": "results"})
    assert visitor.present == replace(own, page="results")
    visitor.undo()
    assert visitor.present.lesson


@pytest.mark.parametrize("teach", [False, True])
def test_large_type_stays_as_it_was_chosen_inside_the_lesson(visitor: History, teach: bool):
    events.on_toolbar({"type": "large", "on": teach})
    events.on_lesson({"type": "step", "to": "constant.1"})
    events.on_lesson({"type": "leave"})
    assert visitor.present.teach is teach  # nothing was chosen in the lesson, so the setting is kept
    events.on_lesson({"type": "step", "to": "constant.1"})
    assert visitor.present.teach is teach
    events.on_toolbar({"type": "large", "on": not teach})
    events.on_lesson({"type": "leave"})
    assert visitor.present.teach is not teach
    events.on_lesson({"type": "step", "to": "constant.1"})
    events.on_lesson({"type": "teach", "on": teach})
    events.on_lesson({"type": "leave"})
    assert visitor.present.teach is teach
    events.on_toolbar({"type": "large", "on": "yes"})
    assert visitor.present.teach is teach


def test_an_answer_is_final_and_kept_when_the_step_is_opened_again(visitor: History):
    place = next(place for place in PLACES if lessons.step_at(place).question)
    events.take_step(place)
    events.on_lesson({"type": "answer", "choice": 0})
    # the question is already answered, so a second answer is ignored
    events.on_lesson({"type": "answer", "choice": 1})
    assert visitor.present.answer == "b"
    visit.current().ticked.add(place)
    events.on_lesson({"type": "answer", "choice": 0})
    assert visitor.present.answer == "b"
    events.take_step(PLACES[-1])
    events.take_step(place)
    assert visitor.present.answer == "b"


def test_showing_the_answer_is_neither_right_nor_wrong(visitor: History):
    events.on_lesson({"type": "answer"})
    assert not visitor.present.answer  # outside of a lesson
    place = Place(ORDER[0], len(lessons.lesson(ORDER[0]).steps))
    events.take_step(place)
    events.on_lesson({"type": "answer", "choice": None})
    assert visitor.present.answer == SHOWN
    assert came(visitor.present).is_right is None


def test_the_start_page_leads_to_the_first_lesson(visitor: History):
    events.on_start({"type": "lesson"})
    assert visitor.present.lesson == Place(ORDER[0], 1)


@pytest.mark.parametrize("event", [{}, {"type": "step"}, {"type": "step", "to": "constant.99"},
                                   {"type": "step", "to": ["constant.1"]}, {"type": "teach", "on": 1},
                                   {"type": ["leave"]}, *({"type": "answer", "choice": its} for its in (9, "a", True))])
def test_events_that_no_browser_of_ours_sends_change_nothing(event: dict[str, Any], visitor: History):
    for place in (None, Place(ORDER[0], len(lessons.lesson(ORDER[0]).steps))):
        if place:
            events.take_step(place)
        before = visitor.present
        for handle in (events.on_lesson, events.on_lessons, events.on_start):
            handle(event)
        assert visitor.present == before


def test_the_list_of_lessons_begins_and_goes_on():
    app = opened(page="lessons")
    now = app.session_state["visit"]
    now.ticked.add(Place("gates", 1))
    cards = sent(app.run(), "lessons")[0]["cards"]
    assert [card["title"] for card in cards] == [f"{n}. {its.title}" for n, its in enumerate(lessons.lessons(), 1)]
    assert (cards[0]["button"], cards[0]["to"]) == ("Begin", "constant.1")
    assert (cards[1]["button"], cards[1]["to"]) == ("Go on", "gates.2")
    with visit.use(now):
        now.channel.receive([("lessons", {"type": "step", "to": cards[1]["to"], "sequence": 1})])
    assert sent(app.run(), "lab")[0]["lesson"]["place"] == "gates.2"
    assert now.history.present.lesson == Place("gates", 2)


def test_a_first_visit_is_an_address_without_anything():
    assert read_query({})[0].page == START == FIRST_VISIT["page"]
    assert query_of(read_query({})[0]) == ""
    assert read_query({"lang": "zh"})[0] == replace(opened_by(None), language="zh")
    assert query_of(LabState()) == "model=stories-selective"
    assert read_query({"page": "explore"}) == (first_lab(), [])


def test_only_the_next_lesson_has_a_filled_button():
    app = opened(page="lessons")

    def filled() -> list[str]:
        return [card["to"] for card in sent(app, "lessons")[0]["cards"] if card["next"]]

    first, second, *_others = lessons.lessons()
    assert filled() == [f"{first.key}.1"]
    app.session_state["visit"].ticked.update(Place(first.key, step) for step in range(1, len(first.steps) + 1))
    app.run()
    assert filled() == [f"{second.key}.1"]

"""The page Training: payload, events, link, and trainings that end when nobody watches them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import models
from app.server import limits
from app.state import events, visit
from app.state.lab_state import LabState
from app.state.lessons import Place
from app.state.link import query_of, read_query
from app.state.training_view import TrainingView
from app.state.visit import Visit
from app.training import page, runs
from learning import recorded
from learning.loop import SOME
from learning.recipe import Recipe
from learning.runner import DONE, RUNNING, STOPPED, WAITING, Runner
from models import HeadPlan, added
from models.storage.checkpoint import CheckpointError
from tests.learning.pictures import unpacked
from tests.learning.test_learn_recipes import recipes
from tests.learning.test_training_runs import begun, children, ended, stop_all, until

LONG, SHORT = Recipe("count", steps=3000), Recipe("count", layers=1, heads=2, steps=3)
RECORDED = recorded.recipe_of("lookup", "softmax")
PRUNED = {"type": "heads", "kind": "self", "layer": 1, "head": 2, "scope": "head", "gate": 0}


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[Visit]:
    """A visitor on the page Training; the process trains one model at a time."""
    queue = Runner(at_once=1, seconds=240, nice=0)
    monkeypatch.setattr(runs, "runner", lambda: queue)
    monkeypatch.setattr(runs, "LEFT_SECONDS", 240)  # no browser asks during the tests
    with visit.use(Visit()) as now:
        now.history.do(replace(now.history.present, page="training"))
        yield now
    stop_all(queue)


def act(now: Visit, *sent: dict[str, Any]) -> TrainingView:
    for event in sent:
        page.on_training(event)
    return now.history.present.training


def content(view: TrainingView | Recipe) -> dict[str, Any]:
    header = page.contents(view if isinstance(view, TrainingView) else TrainingView(view))[0]
    json.dumps(header, allow_nan=False)
    return header


def test_a_recorded_training_has_all_its_moments(now: Visit):
    header, arrays = page.contents(TrainingView(RECORDED))
    pictures = [unpacked(data) for data in recorded.recording(RECORDED) or []]
    assert header["state"] == "recorded" and len(header["moments"]) == len(pictures) > 50
    assert header["curves"][0]["curve"] == [[picture.step, picture.accuracy] for picture in pictures]
    first, last = header["moments"][0], header["moments"][-1]
    assert last["answer"]["rows"][0] == {"id": 0, "label": "5", "before": 0.999, "after": 0.999, "right": True}
    assert last["verdict"] == "✓ right" and first["verdict"] == "✗ wrong: 5 is right"
    assert last["caption"]["text"].startswith("It learned the task") and "by chance" in first["caption"]["text"]
    assert [guess[0]["label"] for guess in last["guesses"]["layers"]] == [token for token, _p, _f in pictures[-1].lens]
    assert last["mlps"] == [pictures[-1].rest[f"mlp {layer}"] for layer in range(2)]
    assert header["baseline"]["share"] == pytest.approx(0.1, abs=0.05)
    n = len(header["picture"]["tokens"]["text"])
    rows, columns = numpy.tril_indices(n)
    patterns = arrays["patterns"].reshape(len(pictures), 2, 4, -1)
    for picture, shown in zip(pictures, patterns, strict=True):
        numpy.testing.assert_array_equal(picture.patterns[:, :, rows, columns], shown)


def test_a_training_that_was_not_started_shows_the_untrained_model(now: Visit):
    header = content(replace(SHORT, plan=HeadPlan().constant("self", 0, 1)))
    assert header["state"] == "new" and [moment["step"] for moment in header["moments"]] == [0]
    assert header["picture"]["kinds"][0]["constant"] == [[False, True]] and f"{SOME} new" in header["about"]
    assert children() == []


def test_the_table_has_the_measured_accuracies(now: Visit, monkeypatch: pytest.MonkeyPatch):
    values = {"lookup": {"softmax": [0.998, 1.0, 1.0], "random": [0.4], "even": [0.3, 0.5, 0.4]}}
    monkeypatch.setattr(recorded, "matrix", lambda: {"repeat": {}, "position": {}, "count": {}} | values)
    table = content(TrainingView())["table"]
    cells = dict(zip(recorded.COLUMNS, table["rows"][0]["cells"], strict=True))
    assert cells["softmax"]["share"] == ">99%"
    assert cells["softmax"]["part"] == pytest.approx([0.9993, 0.9974, 1], abs=1e-4)
    assert cells["random"] == {"share": "40%", "part": [0.4, 0.4, 0.4], "range": "1 seed"}
    assert (cells["even"]["range"], cells["even"]["part"]) == (
        "23% – 57%", pytest.approx([0.4, 0.2314, 0.5686], abs=1e-4))  # 0.4 ± 2.920 · 0.1 / sqrt(3)
    assert cells["gated"] == {"share": "–", "part": [0, 0, 0], "range": "not trained"}


@given(recipes(), st.lists(recipes(), max_size=2))
def test_a_link_holds_the_trainings(recipe: Recipe, others: list[Recipe]):
    view = TrainingView(recipe)
    for other in others:
        view = view.opened(replace(other, task=recipe.task), keeps=True)
    state = replace(LabState("stories-softmax"), page="training", training=view)
    again, problems = read_query(dict(parse_qsl(query_of(state), keep_blank_values=True)))
    assert again.training == view and problems == []


@pytest.mark.parametrize(("text", "words"), [
    ("lookup.softmax.999x4.0.1500", "1 to 3 layers"), ("<img src=x>", "is no training"),
    ("count.softmax.2x4.0.9 lookup.softmax.2x4.0.9", "of one task"),
    (" ".join(["count.softmax.2x4.0.9"] * 3), "different"),
    ("count.softmax.2x4.0.9 " * 99, "is no training")])
def test_a_hostile_link_is_reported_and_starts_nothing(now: Visit, text: str, words: str):
    state, problems = read_query({"page": "training", "train": text})
    assert state.training == TrainingView() and len(problems) == 1
    assert words in problems[0] and problems[0].startswith("The link's training was not opened") and children() == []


VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=9) | st.lists(st.integers())
FIELDS = ("name", "value", "layer", "head", "scope", "constant", "gate", "task", "column", "index")


@given(st.sampled_from(["set", "heads", "cell", "beside", "lab", "more", "x", None]), st.fixed_dictionaries(
    {}, optional={name: VALUES | st.sampled_from(["task", "layers", "seed", "all", "lookup"]) for name in FIELDS}))
def test_a_forged_event_leaves_a_valid_training(kind: str, fields: dict[str, Any]):
    with visit.use(Visit()) as here:
        here.history.do(replace(here.history.present, training=TrainingView(SHORT)))
        view = act(here, fields | {"type": kind})
        assert view.recipe is not None and TrainingView.parse(str(view)) == view
        assert here.trainings is None or not here.trainings.runs


def test_settings_keep_the_heads_that_still_exist(now: Visit):
    view = act(now, {"type": "cell", "task": "lookup", "column": "softmax"}, PRUNED, PRUNED | {"layer": 0, "head": 3},
               {"type": "set", "name": "heads", "value": 3})
    assert view.recipe == Recipe("lookup", heads=3, plan=HeadPlan().gate("self", 1, 2, 0))
    act(now, {"type": "set", "name": "layers", "value": 999})
    assert now.history.present.training == view and "1 to 3 layers" in now.history.problems[0]


def test_the_curve_of_a_trained_model_stays_beside_the_next(now: Visit):
    view = act(now, {"type": "cell", "task": "lookup", "column": "softmax"},
               {"type": "cell", "task": "lookup", "column": "random"}, PRUNED)
    assert view.beside == (recorded.recipe_of("lookup", "random"), RECORDED)
    assert act(now, PRUNED | {"gate": 1, "constant": True}).beside == view.beside  # an untrained one has no curve
    assert [curve["title"] for curve in content(view)["curves"][1:]] == ["Random Synthesizer → 40%", "Softmax → >99%"]
    assert act(now, {"type": "beside", "index": 1}).recipe == RECORDED
    assert act(now, {"type": "set", "name": "task", "value": "count"}).beside == ()


def test_a_training_streams_and_opens_in_the_lab(now: Visit):
    recipe = replace(SHORT, plan=HeadPlan().constant("self", 0, 1))
    now.history.do(replace(now.history.present, training=TrainingView(recipe)))
    act(now, {"type": "lab"})
    assert now.history.present.page == "training"  # nothing is trained yet
    act(now, {"type": "train"})
    assert content(recipe)["state"] in (WAITING, RUNNING) and len(content(recipe)["moments"]) == 1
    ended(now.trainings.runs[recipe])
    header = content(recipe)
    assert header["state"] == DONE and header["has_model"]
    assert [moment["step"] for moment in header["moments"]] == [0, 1, 2, 3]
    act(now, {"type": "lab"})
    state = now.history.present
    assert (state.page, state.model, state.plan) == ("lab", f"learn-{recipe}", recipe.plan)
    assert models.load(state.model) is now.trainings.runs[recipe].lab and models.cached(state.model)
    assert read_query(dict(parse_qsl(query_of(state))))[0] == state
    with pytest.raises(CheckpointError, match="no longer in memory"):
        added.find("learn-count.softmax.1x1.9.9")
    other, problems = read_query({"page": "lab", "model": "learn-count.softmax.1x1.9.9"})
    assert other.model == LabState().model and "train it again" in problems[0]


def test_stop_and_a_second_press_leave_nothing_running(now: Visit):
    now.history.do(replace(now.history.present, training=TrainingView(LONG)))
    act(now, {"type": "train"})
    first = begun(now.trainings.runs[LONG])
    act(now, {"type": "train"})
    assert now.trainings.runs[LONG] is first and len(children()) == 1  # the same training goes on
    act(now, {"type": "set", "name": "seed", "value": 1}, {"type": "train"})
    assert ended(first).state == STOPPED
    second = begun(now.trainings.runs[replace(LONG, seed=1)])
    act(now, {"type": "stop"})
    assert ended(second).state == STOPPED and children() == []
    assert content(replace(LONG, seed=1))["problem"] == "The training was stopped."


def test_train_one_yourself_trains_at_once(now: Visit):
    assert act(now, {"type": "own"}).recipe == page.FIRST
    assert begun(now.trainings.runs[page.FIRST])
    act(now, {"type": "stop"})


def test_in_a_lesson_nothing_is_trained_before_the_guess_and_the_step_stays(now: Visit):
    events.take_step(Place("birth", 4))
    step = now.history.present
    act(now, {"type": "train"}, {"type": "table"}, {"type": "lab"})
    assert now.history.present == step and not now.trainings
    act(now, {"type": "answer", "choice": 1}, {"type": "table"}, {"type": "lab"}, {"type": "train"})
    assert now.history.present.training == step.training and begun(now.trainings.runs[RECORDED])
    act(now, {"type": "leave"})
    assert now.history.present.lesson is None


def test_a_visitor_who_leaves_the_page_stops_the_training(now: Visit, monkeypatch: pytest.MonkeyPatch):
    now.history.do(replace(now.history.present, training=TrainingView(LONG)))
    act(now, {"type": "train"})
    run = begun(now.trainings.runs[LONG])
    page.parts(now.history.present, [])
    assert not run.is_over
    now.trainings.seen -= runs.LEFT_SECONDS  # as if the last request of the page were that long ago
    assert ended(run).state == STOPPED and children() == []


def test_the_next_visitor_waits_and_sees_the_place(now: Visit):
    now.history.do(replace(now.history.present, training=TrainingView(LONG)))
    act(now, {"type": "train"})
    begun(now.trainings.runs[LONG])
    with visit.use(Visit()) as other:
        other.history.do(replace(other.history.present, training=TrainingView(SHORT)))
        act(other, {"type": "train"})
        header = content(SHORT)
        assert header["state"] == WAITING and header["moments"][0]["caption"]["slots"]["n"] == 1
        act(other, {"type": "stop"})
        until(lambda: content(SHORT)["state"] == "new")


def test_a_host_without_a_free_core_only_plays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    for cores, may_train in ((1, False), (2, True)):
        monkeypatch.setattr(runs.os, "sched_getaffinity", lambda process, cores=cores: set(range(cores)), raising=False)
        assert (runs.runner.__wrapped__() is not None) == may_train
    monkeypatch.setattr(runs, "runner", lambda: None)
    with visit.use(Visit()) as here:
        here.history.do(replace(here.history.present, training=TrainingView(RECORDED)))
        act(here, {"type": "train"})
        assert here.trainings.runs == {} and content(RECORDED)["state"] == "recorded"


def test_a_visitor_may_not_start_trainings_without_end(now: Visit, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    now.history.do(replace(now.history.present, training=TrainingView(SHORT)))
    for _ in range(int(limits.TRAININGS.visit)):
        limits.spend(limits.TRAININGS)
    act(now, {"type": "train"})
    assert "per minute" in now.history.problems[0] and now.trainings.runs == {}

"""Checkpoints of a released model's training: loading them, their slider in the Lab, and their part of the link."""

import pytest
import torch

import models
from app.lab import events, page, tools
from app.panels import choosing
from app.state.history import History
from app.state.lab_state import LabState
from app.state.link import query_of, read_query
from models import HeadPlan, catalogue
from models.storage import checkpoint
from models.tasks import assignment
from models.training.recipes import task_of
from models.training.variants import part_of_card
from tests.app.test_lab import view_of
from tests.app.visitors import visiting

NAME = "assignment-softmax"
STEPS = catalogue.steps(NAME)
TEXT = "y=7; x=1; x=3; z=5; x=?"


def test_a_checkpoint_is_loaded_by_its_step():
    """Every checkpoint has weights and constant matrices of its own, and the card of its training."""
    assert 8 <= len(STEPS) <= 12 and STEPS[0] == 1
    answers = {step: models.run(models.load(NAME, step=step), TEXT).output.distribution for step in STEPS}
    assert len({tuple(answer) for answer in answers.values()}) == len(STEPS)
    lab = models.load(NAME, step=100)
    assert lab is models.load(f"{NAME}@100") and lab.name == f"{NAME}@100" and lab.card["training"]["steps"] == 100
    assert lab.card["weights"] == checkpoint.digests(checkpoint.folder_of(lab.name))
    assert lab.card["variant"] == part_of_card(lab.name)["variant"]
    plan = HeadPlan().constant("self", 0, 1)
    own, released = (models.run(each, TEXT, plan).weights["self"][0, 1] for each in (lab, models.load(NAME)))
    assert abs(own.sum(-1) - 1).max() < 1e-5 and abs(own - released).max() > 0.01


@pytest.mark.parametrize(("name", "step", "reason"), [
    (NAME, 7, "has no checkpoint of step 7, only of 1, "), (NAME, -1, "no checkpoint of step -1"),
    (NAME, "../100", "no checkpoint of step"), ("stories-selective", 100, "has no checkpoints"),
    ("hf:gpt2", 100, "has no checkpoints"), ("nothing", 100, "has no checkpoints")])
def test_a_step_that_is_not_stored_is_refused(name: str, step: int, reason: str):
    with pytest.raises(ValueError, match=reason):
        models.load(name, step=step)


@pytest.mark.parametrize("step", [STEPS[1], STEPS[len(STEPS) // 2], STEPS[-1]])
def test_the_stored_accuracy_is_that_of_the_weights(step: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(assignment, "TEST_EVENTS", (6, 24))
    folder = checkpoint.folder_of(f"{NAME}@{step}")
    metric, stored = task_of(NAME).metric, checkpoint.read_card(folder)["metric"]
    with torch.inference_mode():
        found = metric.evaluate(checkpoint.read_model(folder))
    for key in ("accuracy_by_events", "elsewhere_by_events"):
        assert found[key] == pytest.approx({events: stored[key][events] for events in found[key]}, abs=1e-3)


def test_the_answers_become_those_of_the_released_model():
    """The second training has the same recipe; its last checkpoint is nearly as good as the released model."""
    cards = [checkpoint.read_card(checkpoint.folder_of(f"{NAME}@{step}")) for step in STEPS]
    shares = [stored["metric"]["accuracy_by_events"]["24"] for stored in cards]
    assert shares == sorted(shares) and shares[0] == 0
    assert shares[-1] == pytest.approx(models.load(NAME).card["metric"]["accuracy_by_events"]["24"], abs=0.05)


def test_the_slider_has_every_checkpoint_and_the_released_model():
    kept = page._steps(f"{NAME}@100", STEPS)
    assert [(each["name"], each["step"]) for each in kept] == [
        *((f"{NAME}@{step}", step) for step in STEPS), (NAME, 3000)]
    assert all(each["score"] == choosing.headline(models.load(each["name"]).card) for each in kept)
    assert page._steps("stories-selective", catalogue.steps("stories-selective")) == []


def test_a_press_on_the_slider_changes_the_weights_and_one_undo_goes_back(monkeypatch: pytest.MonkeyPatch):
    now = visiting(monkeypatch, History(present=LabState(NAME, TEXT, HeadPlan().gate("self", 1, 2, 0.0))))
    before = now.history.present
    for name in (f"{NAME}@{STEPS[2]}", f"{NAME}@100"):
        events.on_lab({"type": "model", "name": name})
    present = now.history.present
    assert (present.model, present.text, present.plan) == (f"{NAME}@100", TEXT, before.plan)
    for forged in (f"{NAME}@7", f"{NAME}@-1", f"{NAME}@1e9", f"{NAME}@100/..", "../x@1", f"{NAME}@", 100, None):
        events.on_lab({"type": "model", "name": forged})
    assert now.history.present is present
    now.history.undo()
    assert now.history.present == before and not now.history.past


def test_a_link_names_the_step():
    state = LabState(f"{NAME}@100", TEXT)
    query = query_of(state)
    assert f"model={NAME}&step=100" in query
    assert read_query({"model": NAME, "text": TEXT, "step": "100"}) == (state, [])
    assert "step" not in query_of(LabState(NAME, TEXT))
    beside = read_query({"model": NAME, "text": TEXT, "step": "100", "with": NAME})[0]
    assert beside.models == (f"{NAME}@100", NAME)  # the checkpoint beside the released model


@pytest.mark.parametrize("step", ["-1", "1e9", "x", "7", "", "0100", "1" * 5000, "100\n", "../100", "<b>", "１"])
@pytest.mark.parametrize("model", [NAME, "stories-selective"])
def test_an_unknown_step_of_a_link_is_said_and_opens_the_released_model(model: str, step: str):
    state, problems = read_query({"model": model, "step": step})
    assert state.model == model and len(problems) == 1
    assert f"{model} was opened instead" in problems[0] and len(problems[0]) < 300


def test_a_view_of_a_checkpoint_is_called_after_its_step():
    view = view_of(f"{NAME}@100", HeadPlan().constant("self", 0, 1), TEXT)
    assert page._model(view.lab)["title"] == "Softmax · step 100" and view.changed
    sheet = str(tools.content(view_of(f"{NAME}@100", tool="all.card"), tools.TOOLS)[0])
    assert "second training" in sheet and "100 steps of 2,304 tokens, seed 0'" in sheet

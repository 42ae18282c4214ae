"""Models compared in the Lab: families, measured lengths, and the checkpoints of a released model's training."""

from dataclasses import replace
from typing import Any

import numpy
import pytest
import torch

import models
from app.content import picture
from app.lab import page, tools
from app.lab.tools import second
from app.lab.tools.second import Compared
from app.panels import choosing
from app.panels.lengths import TRAINED, curves_of
from app.state import visit
from app.state.history import History
from app.state.lab_state import LabState
from app.state.link import query_of, read_query
from models import HeadPlan, catalogue
from models.storage import checkpoint
from models.tasks import assignment
from models.trace import divergence
from models.training.recipes import RECIPES, task_of
from models.training.variants import part_of_card
from tests.app.test_lab import view_of
from tests.app.visitors import visiting

PAIR = ("assignment-softmax", "assignment-selective")
# a text of 82 tokens; the tables of assignment-random have 49 positions
LONG = "; ".join(f"a={i % 10}" for i in range(40)) + "; a=?"


def compared(text: str, *names: str, plan: HeadPlan = HeadPlan()) -> dict[str, Compared | str]:
    view = view_of(names[0], plan, text)
    with visit.use(visit.Visit()):
        state = replace(view.state, compared=names[1:])
        return {name: second.read(name, state, text) for name in state.models}


def test_each_model_has_its_own_numbers():
    text = "y=7; x=1; x=3; y=?; z=5; x=?"
    found = compared(text, *PAIR)
    readable = second.readable(found)
    first = models.run(models.load(PAIR[0]), text)
    for name, one in found.items():
        trace, (answers, loss, kl) = models.run(models.load(name), text), second.results(one, readable[0])
        assert loss == (pytest.approx(trace.loss, abs=1e-6),) * 2
        assert answers[1].labels[0] == trace.output.labels[0]
        assert answers[1].probabilities[0] == pytest.approx(float(trace.output.probabilities[0]), abs=1e-6)
        apart = None if name == PAIR[0] else pytest.approx(divergence(first.output, trace.output), abs=1e-6)
        assert kl == apart


def takeaway_of(text: str, *names: str, plan: HeadPlan = HeadPlan()) -> str:
    found = compared(text, *names, plan=plan)
    return second.takeaway(second.readable(found), replace(LabState(names[0], text), compared=names[1:]))


def test_one_sentence_says_which_model_gives_the_right_token_more():
    text, names = "x=1; x=7; y=3; x=?", ("assignment-softmax", "assignment-random")
    outputs = [models.run(models.load(name), text).output for name in names]
    softmax, random = (float(its.distribution[its.target]) for its in outputs)
    assert softmax - random > 0.01
    sentence = takeaway_of(text, *names)
    assert f"“{outputs[0].names[outputs[0].target]}”" in sentence
    assert f"{100 * (softmax - random):.1f} points" in sentence
    assert sentence.index("highest with softmax") < sentence.index("lowest with random")
    plan = HeadPlan.parse("self-0.0~3g0")
    changed = models.run(models.load(names[0]), text, plan).output
    pruned = takeaway_of(text, *names, plan=plan)
    assert pruned != sentence and f"{100 * float(changed.distribution[changed.target]):.1f}%" in pruned


def test_without_a_right_token_the_sentence_is_about_the_prediction_of_the_first_model():
    names = ("stories-softmax", "stories-selective")
    text = "Once upon a time there was a little"
    first, second = (models.run(models.load(name), text).output for name in names)
    token = first.names[first.order[0]]
    points = 100 * abs(first.distribution[first.order[0]] - second.distribution[second.names.index(token)])
    sentence = takeaway_of(text, *names)
    assert sentence.startswith(f"“{token.strip()}”")
    assert f"{points:.1f} points apart" in sentence if points >= 1 else "No difference" in sentence


def test_under_one_point_there_is_no_difference():
    assert takeaway_of("x=7; x=?", *PAIR).startswith("No difference: all models give “7”")
    assert takeaway_of("x=7; x=?", PAIR[0]) == ""  # one model alone


def test_compared_models_of_different_shapes_share_the_common_heads():
    """A model of gated attention units has 8 layers of one head, the other models have 4 layers of 8 heads."""
    plan = HeadPlan.parse("self-1.5c-6.0g0_scale-length")
    blocks, units = second.readable(compared("The [cat] sat.", "masked-softmax", "masked-gau-relu2", plan=plan))
    assert blocks.state.plan == HeadPlan.parse("self-1.5c") and units.state.plan.state("self", 6, 0).gate == 0
    assert units.state.plan.scale.policy == "length"


def test_a_text_beyond_a_models_tables_is_refused_there_and_shown_elsewhere():
    found = compared(LONG, "assignment-softmax", "assignment-random")
    assert isinstance(found["assignment-softmax"], Compared)
    reason = found["assignment-random"]
    assert isinstance(reason, str) and "49" in reason and "82" in reason


def test_a_translations_prediction_is_the_most_changed_one():
    """The last token of a translation would show little: a full stop remains even if all cross-attention is pruned."""
    heads = [("cross", layer, head) for layer in range(3) for head in range(8)]
    pruned = HeadPlan().with_heads(heads, gate=0.0)
    plain, changed = (view_of("translation-softmax", plan, "I am here.") for plan in (HeadPlan(), pruned))
    words = [output.names[output.top()[0]] for output in plain.before.outputs]
    assert words[plain.index].strip() == "hier" and words[-1] == "end"
    moved = [divergence(old, new) for old, new in zip(changed.before.outputs, changed.after.outputs, strict=True)]
    assert changed.index == numpy.argmax(moved) and moved[changed.index] > 1
    chosen = replace(changed.state, prediction=0)
    assert replace(changed, state=chosen).index == 0


@pytest.mark.parametrize("name", [name for name in models.names() if catalogue.find(name).task.lengths])
def test_every_model_was_measured_at_its_trained_length(name: str):
    curves = curves_of(name)
    assert (curves[0].model, curves[0].policy) == (name, TRAINED)
    for curve in curves:
        assert RECIPES[name].config.trained_length in curve.by_length
        assert all(values["loss"] > 0 and 0 <= values["accuracy"] <= 1 for values in curve.by_length.values())
        assert all(value >= 0 for values in curve.by_length.values() for row in values["entropy"] for value in row)


def test_another_scale_is_a_line_of_its_own_in_the_length_tool():
    view = view_of("stories-selective", tool="all.length")
    header, _arrays = tools.content(view, tools.offered(view))
    (chart,) = (part for part in header["parts"] if part["part"] == "lines")
    assert len(chart["curves"]) == len(curves_of("stories-selective")) == 2


@pytest.mark.parametrize(("given", "kept", "named"), [
    ("", (), ()), ("assignment-softmax", (), ()), ("x" * 5000, (), ("x",)), ("<script>", (), ("script",)),
    ("assignment-selective assignment-selective", ("assignment-selective",), ()),
    ("assignment-selective stories-softmax no-such-model", ("assignment-selective",),
     ("stories-softmax", "no-such-model"))])  # one of another task, and none
def test_links_with_invalid_compared_models(given: str, kept: tuple[str, ...], named: tuple[str, ...]):
    state, problems = read_query({"model": "assignment-softmax", "with": given})
    assert state.compared == kept and bool(problems) == bool(named)
    assert all(name in str(problems) for name in named)


def test_a_head_pruned_by_training_is_shown_as_pruned():
    """A head that training pruned is displayed as pruned without any plan; a gate of the plan on it changes nothing."""
    view = view_of("translation-pruned-60", written="I am here.")
    blocks: list[dict[str, Any]] = picture.content(view)[0]["kinds"]
    closed = {(block["kind"], layer, head) for block in blocks for layer, row in enumerate(block["gates"])
              for head, gate in enumerate(row) if gate == 0}
    assert closed == view.lab.closed and len(closed) == 12 and not view.changed
    assert all(block["closed"] == [[gate == 0 for gate in row] for row in block["gates"]] for block in blocks)
    before, after = (models.run(view.lab, "I am here.", HeadPlan().gate(*sorted(closed)[0], gate))
                     for gate in (1.0, 0.5))
    assert (before.output.distribution == after.output.distribution).all() and before.written == after.written


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
        page.on_lab({"type": "model", "name": name})
    present = now.history.present
    assert (present.model, present.text, present.plan) == (f"{NAME}@100", TEXT, before.plan)
    for forged in (f"{NAME}@7", f"{NAME}@-1", f"{NAME}@1e9", f"{NAME}@100/..", "../x@1", f"{NAME}@", 100, None):
        page.on_lab({"type": "model", "name": forged})
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

"""Tests of families of models: comparison in the Lab, the prediction that a translation shows, and measured lengths."""

from dataclasses import replace
from typing import Any

import numpy
import pytest

import models
from app.content import picture
from app.lab import tools
from app.lab.tools import second
from app.lab.tools.second import Compared
from app.panels.measured.lengths import TRAINED, curves_of
from app.state import visit
from app.state.lab_state import LabState
from app.state.link import read_query
from models import HeadPlan, catalogue
from models.trace import divergence
from models.training.recipes import RECIPES
from tests.app.test_lab import view_of

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
    """Each model applies the part of the plan for the heads that it has. A model of gated attention units has 8 layers
    of one head. The other models have 4 layers of 8 heads."""
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

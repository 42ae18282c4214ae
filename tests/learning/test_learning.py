"""Small trainings: gradients under a plan, determinism, moments, and the Lab of the trained model."""

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import models
from learning import loop
from learning.loop import Learning, held_out, lab_of_state, learn, moments_at, state_of
from learning.moment import divided, joined
from learning.recipe import ATTENTION, MAX_STEPS
from learning.tasks import TASKS
from models import HeadPlan
from models.generate.decoding import generator
from models.kind import SELF
from models.tasks.base import Batch
from tests.learning.pictures import unpacked

CONSTANT, PRUNED = (SELF, 0, 1), (SELF, 1, 2)
PLAN = HeadPlan().constant(*CONSTANT).gate(*PRUNED, 0.0).gate(SELF, 1, 0, 0.5)
STEPS = 4


@pytest.fixture(scope="module")
def short() -> Learning:
    """A training of four steps under PLAN."""
    return learn("lookup", seed=3, steps=STEPS, plan=PLAN)


def loss_and_gradients(learning: Learning, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    answers = batch.targets.flatten()
    positions = (answers >= 0).nonzero().squeeze(1)
    model = learning._model
    model.zero_grad()
    loss = learning.objective(model, batch.tokens, positions, answers[positions], 0.0)
    loss.backward()
    return loss, {name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
                  for name, p in model.named_parameters()}


@pytest.mark.parametrize("attention", ATTENTION)
def test_the_gradient_under_a_plan_is_the_slope_of_the_loss(attention: str, monkeypatch: pytest.MonkeyPatch):
    """For every attention type the gradient agrees with central differences of the loss, in float64."""
    batch = TASKS["lookup"].batch(8, 1.0, generator(1))
    learning = learn("lookup", attention, seed=2, steps=1, plan=PLAN)
    monkeypatch.setattr(torch.Tensor, "float", lambda tensor: tensor)  # losses and the mask F are in float32 otherwise
    model = learning._model.double()
    _, gradients = loss_and_gradients(learning, batch)
    random = torch.Generator().manual_seed(4)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=random, dtype=torch.float64)
        direction /= direction.norm()
        losses = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * 1e-5 * direction
            losses.append(float(loss_and_gradients(learning, batch)[0].detach()))
            with torch.no_grad():
                parameter -= sign * 1e-5 * direction
        slope = (losses[0] - losses[1]) / 2e-5
        assert slope == pytest.approx(float((gradients[name] * direction).sum()), rel=1e-4, abs=1e-8), name


def test_heads_of_the_plan_get_the_gradient_of_what_they_are():
    """A constant head's queries and keys get no gradient, its values do; a pruned head gets none at all."""
    learning = learn("lookup", steps=1, plan=PLAN)
    _, gradients = loss_and_gradients(learning, TASKS["lookup"].batch(8, 1.0, generator(1)))
    width = learning.recipe.config.head_width
    for layer, head, is_pruned in ((0, 1, False), (1, 2, True)):
        rows = slice(head * width, (head + 1) * width)
        before = f"blocks.{layer}.attention"
        for part in ("query", "key"):
            assert not gradients[f"{before}.source.{part}.weight"][rows].any()
        for written in (gradients[f"{before}.value.weight"][rows], gradients[f"{before}.output.weight"][:, rows]):
            assert bool(written.any()) != is_pruned
    assert gradients["blocks.0.attention.source.query.weight"][:width].any()


def test_a_constant_head_has_even_weights_from_the_first_step(short: Learning):
    moments = list(short)
    n = len(moments[0].trace.tokens)
    expected = numpy.tril(numpy.ones((n, n))) / numpy.arange(1, n + 1)[:, None]
    for moment in moments:
        patterns = moment.trace.weights[SELF]
        numpy.testing.assert_allclose(patterns[0, 1], expected, atol=1e-6)
        assert abs(patterns[0, 0] - expected).max() > 1e-3
        assert not moment.trace.norms[SELF][1, 2].any() and moment.trace.norms[SELF][1, 1].all()
    lab = short.lab
    numpy.testing.assert_allclose(lab.constant_of(SELF, 0, n, n)[1], expected, atol=1e-6)
    assert abs(lab.constant_of(SELF, 0, n, n)[0] - expected).max() > 1e-4


def test_the_same_seed_gives_the_same_numbers(short: Learning):
    state = torch.get_rng_state()
    again, other = learn("lookup", seed=3, steps=STEPS, plan=PLAN), learn("lookup", seed=4, steps=STEPS, plan=PLAN)
    first = [(m.step, m.loss, m.accuracy, m.packed()) for m in short]
    assert [(m.step, m.loss, m.accuracy, m.packed()) for m in again] == first
    assert [m.loss for m in other] != [m[1] for m in first]
    assert torch.equal(torch.get_rng_state(), state)  # a caller's random numbers are not changed


def test_moments_are_the_same_again_and_a_model_survives_the_way_between_processes(short: Learning):
    assert list(short) == list(short)
    assert [m.step for m in short] == [0, 1, 2, 3, 4]
    other = lab_of_state(short.recipe, state_of(short.lab))
    assert other.fingerprint == short.lab.fingerprint and other.card == short.lab.card
    trace, same = (models.run(lab, "a3b8a", PLAN) for lab in (short.lab, other))
    numpy.testing.assert_array_equal(trace.output.distribution, same.output.distribution)


@given(st.integers(1, MAX_STEPS))
def test_moments_go_from_the_first_to_the_last_step(steps: int):
    places = moments_at(steps)
    gaps = numpy.diff(places)
    assert places[0] == 0 and places[-1] == steps and len(places) <= 61 and (gaps > 0).all()
    assert steps < 300 or (len(places) > 50 and gaps[0] < gaps[-1])


def test_the_result_is_a_lab_like_all_others(short: Learning):
    lab, text = short.lab, "a=3; b=8; a=?"
    trace = models.run(lab, text, HeadPlan().constant(SELF, 1, 0))
    assert trace.weights[SELF].shape == (2, 4, 6, 6)
    lens = models.logit_lens(lab, text)
    assert lens.labels.shape[:2] == (3, 6)
    parts = models.head_attribution(lab, text, PLAN)
    assert parts.heads[SELF].sum() + sum(parts.rest.values()) == pytest.approx(parts.total, abs=1e-4)
    assert parts.heads[SELF][PRUNED[1:]] == 0
    assert lab.card["metric"]["accuracy"] == list(short)[-1].accuracy


def test_accuracy_is_the_share_of_right_answers_of_the_lab(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop, "HELD_OUT", 100)
    learning, batch = learn("count", steps=10, plan=PLAN), held_out("count")
    lab = learning.lab
    right = sum(int(models.run(lab, " ".join(lab.task.labels[i] for i in ids[1:]), PLAN).output.order[0] == answer)
                for ids, answer in zip(batch.tokens[:100].tolist(), batch.targets[:100, -1].tolist(), strict=True))
    assert right > 5 and list(learning)[-1].accuracy == pytest.approx(right / 100)


def test_a_packed_moment_has_the_patterns_and_the_answer(short: Learning):
    moment = list(short)[-1]
    data = moment.packed()
    assert len(data) < 2000
    picture = unpacked(data)
    patterns = moment.trace.weights[SELF]
    numpy.testing.assert_allclose(picture.patterns / 255, numpy.sqrt(patterns), atol=0.5 / 255 + 1e-6)
    assert picture.answer[0][0] == moment.trace.output.labels[0] and picture.step == STEPS
    assert picture.heads.shape == (2, 4) and len(picture.lens) == 3
    assert picture.lens[-1][2] == pytest.approx(picture.answer[0][1], abs=1e-3)


def test_joined_parts_are_divided_again_and_damage_is_reported():
    parts = [b"", b"a" * 300, b"bc"]
    assert list(divided(joined(parts))) == parts
    with pytest.raises(ValueError):
        list(divided(joined(parts)[:-1]))

"""Minimal and winning head sets: gates as a function, the fewest heads by exhaustive search, confidence by hand."""

import itertools
import math

import numpy
import pytest
import torch
from foreign_tiny import TEXT, lab_of, picture
from tiny import make_model, prompt_of, random_ids
from tiny_pairs import TEXT_TYPED, make_lab
from torch import Tensor
from torch.testing import assert_close

import models
from models.analysis import head_groups, head_measures, minimal_heads
from models.analysis.answer import winning_heads
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_groups import FACILITATING, INTERFERING, IRRELEVANT, UNDECIDED, group_of
from models.errors import CancelledError
from models.kind import Kind, Traits
from models.lab import Lab, run_prompt
from models.labs.foreign.reading.readers import MaskedReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.running.constants import mean_weights
from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.plan import HeadPlan
from models.prompt import Prompt
from models.tasks.assignment import AssignmentReader
from studies.corpus.minimal_heads import backward
from tests.models.foreign_architectures import ARCHITECTURES

SOFTMAX = Traits("Softmax")
BARE = {"bert-bare", "deberta-v3", "dinov2-registers", "dinov3", "siglip-vision"}  # models without predictions
FOREIGN = sorted(set(ARCHITECTURES) - BARE)


def stack(attention: str) -> StackLab:
    return StackLab(attention, AssignmentReader(), make_model(attention), {}, {})


def toy(count: int, logits: object, places: int = 1, targets: tuple[int, ...] = (0,)) -> Gating:
    """Returns a model with one layer, whose logits are a given function of the gates (B, H)."""
    def under(gates: dict[str, Tensor], asked: tuple[int, ...]) -> Tensor:
        return torch.stack([logits(gates["self"][:, 0])] * len(asked), 1).log_softmax(-1)  # type: ignore[operator]
    return Gating([Kind("self", 1, count, SOFTMAX)], under, Question(tuple(range(places)), targets, True))


def same_as_plans(lab: Lab, prompt: Prompt, constant: bool = False) -> None:
    """Asserts that gates of 0 and 1 predict as the plan with these heads pruned or constant, row by row."""
    prompt = lab.anchored(prompt)
    before = run_prompt(lab, prompt)
    gating = Gating.of(lab, prompt, Question.of(before), constant=constant)
    random = torch.Generator().manual_seed(3)
    sets = torch.rand(3, len(gating.heads), generator=random) < 0.6
    found = gating.log_probabilities(sets.float()).detach().exp()
    for stays, rows in zip(sets, found, strict=True):
        plan = gating.plan(stays)
        assert not constant or plan == HeadPlan().with_heads(
            [head for head, its in zip(gating.heads, stays.tolist(), strict=True) if not its], constant=True)
        after = run_prompt(lab, prompt, plan)
        by_place = {output.position: torch.tensor(output.distribution) for output in after.outputs}
        for place, row in zip(gating.question.positions, rows, strict=True):
            if place in by_place:
                assert_close(row, by_place[place], rtol=1e-3, atol=1e-5)
    ones = gating.divergence(torch.ones(1, len(gating.heads)))
    assert abs(float(ones)) < 1e-5
    gates = torch.full((2, len(gating.heads)), 0.5, requires_grad=True)
    (gradient,) = torch.autograd.grad(gating.loss(gates).sum(), gates)
    assert torch.isfinite(gradient).all() and (gradient != 0).any(1).all()
    assert not any(parameter.grad is not None for parameter in lab.model.parameters())  # type: ignore[attr-defined]


@pytest.mark.parametrize("attention", sorted(TYPES))
def test_gates_of_ours_are_plans(attention: str):
    same_as_plans(stack(attention), prompt_of(random_ids(1, 9)[0]))


@pytest.mark.parametrize(("attention", "constant"), [("softmax", False), ("softmax", True), ("selective", False),
                                                     ("random-softmax", False)])
def test_gates_of_models_of_two_texts_are_plans(attention: str, constant: bool):
    lab = make_lab(attention)
    same_as_plans(lab, lab.read(TEXT_TYPED), constant)


@pytest.mark.parametrize("name", FOREIGN)
def test_gates_of_foreign_models_are_plans(name: str):
    lab = lab_of(name)
    prompt = lab.read_picture(picture()) if isinstance(lab.task, PictureReader) else \
        lab.read(TEXT.replace("mat", "[mat]") if isinstance(lab.task, MaskedReader) else TEXT)
    same_as_plans(lab, prompt)


@pytest.mark.parametrize("name", ["assignment-selective", "masked-gau-relu2", "stories-random"])
def test_constant_gates_of_ours_are_plans(name: str):
    lab = models.load(name)
    text = {"assignment": "x=7; y=2; x=?", "masked": "The girl lost [her] toy."}.get(lab.task.name, "Once upon a time")
    same_as_plans(lab, lab.read(text), constant=True)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_constant_gates_of_foreign_models_are_plans(name: str):
    lab = lab_of(name)
    with pytest.raises(ValueError, match="no constant matrices"):
        lab.gated_log_probabilities(lab.read(TEXT), constant=True)
    lab = lab.with_constant(mean_weights(lab, [TEXT, "The dog ran to the park."]))
    same_as_plans(lab, lab.read(TEXT), constant=True)


@pytest.mark.parametrize("name", sorted(BARE))
def test_a_model_without_predictions_is_refused(name: str):
    lab = lab_of(name)
    prompt = lab.read_picture(picture()) if isinstance(lab.task, PictureReader) else lab.read(TEXT)
    with pytest.raises(ValueError, match="predicts nothing"):
        lab.gated_log_probabilities(prompt)
    with pytest.raises(ValueError, match="no prediction"):
        Question.of(run_prompt(lab, prompt))


def test_questions():
    """A Question is one prediction, or all with a known answer; if none is known, all with their likeliest token."""
    lab = stack("softmax")
    prompt = lab.read("y=7; x=1; y=?; x=?")
    before = run_prompt(lab, prompt)
    (first, second) = before.outputs
    assert Question.of(before, 0) == Question((first.position,), (first.target,), True)
    assert Question.of(before, -1) == Question.of(before, 99) == Question((second.position,), (second.target,), True)
    whole = Question.of(before)
    assert whole.known and all(prompt.targets[place] == target >= 0
                               for place, target in zip(whole.positions, whole.targets, strict=True))
    two = make_lab()
    trace = run_prompt(two, two.anchored(two.read(TEXT_TYPED)))
    whole = Question.of(trace)
    assert not whole.known and len(whole.positions) == len(trace.rows["target"])
    assert list(whole.targets) == [int(output.order[0]) for output in trace.outputs]


# Models whose minimal head sets are known.

def either_of_two(gates: Tensor) -> Tensor:
    """Returns logits: heads 0 and 1 do the same work, so one alone is not needed; 2 another part; 3 to 5 little."""
    work = 1 - (1 - gates[:, 0]) * (1 - gates[:, 1])
    rest = 0.02 * gates[:, 3:].sum(1)
    return torch.stack((4 * work + rest, 3 * gates[:, 2], torch.zeros(len(gates))), 1)


def test_the_fewest_heads_where_single_losses_mislead():
    gating = toy(6, either_of_two)
    curve = minimal_heads.polish(minimal_heads.learn(gating, tokens=10), 0.05)
    assert curve.fewest(0.05) == 2
    curve.best[6] = (1e-9, curve.best[6][1])
    assert curve.fewest(0.0) == 6  # due to rounding no set is within the bound; then all heads are returned
    divergence, stays = curve.best[2]
    assert stays[2] and int(stays[:2].sum()) == 1 and divergence <= 0.05
    alone = gating.prune_each(gating.divergence)
    assert alone[:2].max() < 1e-6 < alone[2]
    misled = dict(minimal_heads.by_order(gating, alone.argsort(descending=True)))
    assert misled[2] > 0.5  # in this order heads 0 and 1 are pruned first, because each can replace the other


def random_toy(seed: int, uneven: bool = True) -> Gating:
    """Returns a model of nine heads that share some work; if uneven, their effects differ widely in size."""
    random = torch.Generator().manual_seed(seed)
    sizes = 2.0 ** -torch.arange(9)[torch.randperm(9, generator=random)].float() if uneven else torch.full((9,), 0.5)
    first, second = (2 * torch.randn(9, 4, generator=random) * sizes.unsqueeze(1) for _ in range(2))
    return toy(9, lambda gates: gates @ first + torch.relu(gates @ second - 0.5))


@pytest.mark.parametrize("seed", range(4))
def test_as_few_as_an_exhaustive_search_finds(seed: int):
    """As the smallest of all 512 sets within the bound, or one more."""
    gating = random_toy(seed)
    sets = torch.tensor(list(itertools.product([False, True], repeat=9)))
    divergences = gating.in_parts(gating.divergence, sets.float())
    best = int(sets[divergences <= minimal_heads.BOUND].sum(1).min())
    curve = minimal_heads.polish(minimal_heads.learn(gating, tokens=10))
    assert best <= curve.fewest(minimal_heads.BOUND) <= best + 1
    for size, (divergence, stays) in curve.best.items():
        assert int(stays.sum()) == size
        assert float(gating.divergence(stays.float()[None])) == pytest.approx(divergence, abs=1e-5)
        plan = gating.plan(stays)
        assert [head for head, its in zip(gating.heads, stays.tolist(), strict=True) if not its] == list(plan.heads)
        assert all(state.gate == 0 and not state.constant for state in plan.heads.values())


def test_the_same_seed_finds_the_same():
    one, other = (minimal_heads.polish(minimal_heads.learn(random_toy(0), tokens=10, seed=5)) for _ in range(2))
    assert [{size: (its, stays.tolist()) for size, (its, stays) in curve.best.items()} for curve in (one, other)] == \
        [{size: (its, stays.tolist()) for size, (its, stays) in one.best.items()}] * 2


def test_curves_by_an_order_and_backwards():
    gating = random_toy(1)
    order = torch.tensor([3, 1, 4, 0, 5, 2, 6, 8, 7])
    points = minimal_heads.by_order(gating, order)
    assert [heads for heads, _ in points] == list(range(9, -1, -1))
    for heads, divergence in points:
        stays = torch.zeros(9)
        stays[order[:heads]] = 1
        assert divergence == pytest.approx(float(gating.divergence(stays[None])), abs=1e-6)
    elimination = backward(gating)
    alone = gating.prune_each(gating.divergence)
    assert list(elimination) == list(range(8, -1, -1)) and elimination[8] == pytest.approx(float(alone.min()), abs=1e-6)


def test_progress_and_cancel():
    calls: list[tuple[int, int]] = []
    minimal_heads.learn(random_toy(0), tokens=10, steps=7, tell=lambda *its: calls.append(its))
    assert calls == [(step, 7) for step in range(1, 8)]
    for work in (minimal_heads.learn, head_groups.fit):
        calls.clear()
        arguments = {"tokens": 10} if work is minimal_heads.learn else {}
        with pytest.raises(CancelledError):
            work(random_toy(0), tell=lambda *its: calls.append(its), cancelled=lambda: len(calls) >= 3, **arguments)
        assert len(calls) == 3


def helped_and_hurt(gates: Tensor) -> Tensor:
    """Returns logits for which head 0 supports the right answer, head 1 opposes it, and head 2 has no effect."""
    return torch.stack((2 * gates[:, 0] - 2 * gates[:, 1], torch.zeros(len(gates))), 1)


def test_groups_by_construction():
    found = head_groups.fit(toy(3, helped_and_hurt))
    assert found.names == [FACILITATING, INTERFERING, IRRELEVANT]
    assert found.kept[2] > 0.9 > 0.1 > found.removed[2]
    untouched = math.log(1 + math.exp(0))
    assert found.loss == pytest.approx(untouched, abs=1e-6)
    assert found.losses == pytest.approx({FACILITATING: math.log(1 + math.exp(2)), INTERFERING:
                                          math.log(1 + math.exp(-2)), IRRELEVANT: untouched, UNDECIDED: untouched})


def test_groups_by_value():
    """Groups follow their definition: both values high, both low, or one high and one low."""
    assert [group_of(*pair) for pair in ((0.9, 0.8), (0.1, 0.2), (0.9, 0.1), (0.1, 0.9))] == \
        [FACILITATING, INTERFERING, IRRELEVANT, UNDECIDED]
    assert [group_of(*pair) for pair in ((0.47, 0.43), (0.55, 0.9), (0.1, 0.45), (0.61, 0.61))] == \
        [UNDECIDED, UNDECIDED, UNDECIDED, FACILITATING]


# Measures of heads.

def test_confidence_by_hand():
    """BOS is excluded as query and as key. Rows of relu² attention are normalised to sum to 1."""
    weights = numpy.zeros((1, 2, 3, 3))
    weights[0, 0] = [[1, 0, 0], [0.9, 0.1, 0], [0.2, 0.5, 0.3]]
    weights[0, 1] = [[2, 0, 0], [0, 2, 0], [1, 1, 2]]
    text = numpy.array([False, True, True])
    assert head_measures.confidence(weights, text, text) == pytest.approx(numpy.array([[0.3, 0.75]]))
    assert numpy.isnan(head_measures.confidence(weights, ~text, numpy.zeros(3, dtype=bool))).all()


def test_tokens_of_the_text_itself():
    two = make_lab()
    trace = run_prompt(two, two.anchored(two.read("I know.")))
    text = head_measures.text_of_rows(two, trace)
    assert [token for token, its in zip(trace.tokens, text["text"], strict=True) if not its] == ["start", "end"]
    assert [token for token, its in zip(trace.rows["target"], text["target"], strict=True) if not its] == ["start"]
    bert = lab_of("bert")
    trace = run_prompt(bert, bert.read("The [cat] sat."))
    its = head_measures.text_of_rows(bert, trace)["text"]
    assert not its[0] and not its[-1] and its[1:-1].all()  # a hidden word counts as a token of the text
    found = head_measures.confidences(bert, trace)["self"]
    assert found.shape == bert.shape["self"] and ((found > 0) & (found < 1)).all()
    row = head_measures.in_one_row(bert.kinds, {"self": found})
    assert row[bert.kinds[0].addresses.index(("self", 1, 2))] == found[1, 2]


@pytest.mark.parametrize("seed", range(6))
def test_as_few_heads_make_another_token_win_as_an_exhaustive_search_finds(seed: int):
    """If two heads are enough, it finds a smallest set, and at most one head more otherwise."""
    gating = random_toy(seed, uneven=False)
    sets = torch.tensor(list(itertools.product([False, True], repeat=9)))
    log_probabilities = gating.in_parts(gating.log_probabilities, 1 - sets.float())[:, 0]
    for token in range(4):
        others = log_probabilities.clone()
        others[:, token] = -torch.inf
        wins = log_probabilities[:, token] > others.max(-1).values
        fewest = int(sets[wins].sum(1).min()) if wins.any() else None
        found = winning_heads.search(gating, token)
        if fewest is None:
            assert found.fewest is None and found.best[found.nearest][0] <= 0
            continue
        assert found.fewest is not None and fewest <= found.fewest <= (fewest if fewest <= 2 else fewest + 1)
        margin, changed = found.best[found.fewest]
        row = (sets == changed).all(1)
        assert int(changed.sum()) == found.fewest
        assert margin == pytest.approx(float((log_probabilities[row, token] - others[row].max(-1).values)[0]), abs=1e-5)


def test_a_search_is_cancelled():
    with pytest.raises(CancelledError):
        winning_heads.search(random_toy(0, uneven=False), 3, cancelled=lambda: True)

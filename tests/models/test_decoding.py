"""Decoding with a cache equals a full forward pass; with budgets it equals plain loops in float64."""

import math

import numpy
import pytest
import torch
from torch.testing import assert_close
from tqdm import tqdm

from models.generate.decoding import Decoder, can_decode
from models.labs.stack import StackLab
from models.nets.config import Config
from models.nets.transformer import Transformer
from models.plan import HeadPlan
from models.prompt import Prompt
from models.tasks.base import Batch
from studies.corpus.forgetting import choose, for_choosing, held_out, kept_share, losses, measure

LAYERS, HEADS, WIDTH, VOCABULARY, N, LIMIT = 3, 4, 32, 40, 70, 48
TYPES = ("softmax", "log-n", "scalable-softmax", "temperature", "selective", "gated")


def model_of(attention: str, seed: int = 0) -> Transformer:
    """Returns a model with large random weights: attention is far from uniform, and the selective mask F far from 0."""
    torch.manual_seed(seed)
    config = Config(attention, vocabulary=VOCABULARY, width=WIDTH, layers=LAYERS, heads=HEADS)
    return Transformer(config, initial_std=1.5 * WIDTH**-0.5, embedding_std=1.0).eval().requires_grad_(False)


def texts_of(count: int, n: int = N, seed: int = 1) -> torch.Tensor:
    """Returns ids (count, n) that start with BOS."""
    ids = torch.randint(1, VOCABULARY, (count, n), generator=torch.Generator().manual_seed(seed))
    ids[:, 0] = 0
    return ids


def decoded(decoder: Decoder, ids: torch.Tensor) -> torch.Tensor:
    """Returns the hidden states (B, N, C), computed token by token with the decoder."""
    return torch.stack([decoder.step(column) for column in ids.unbind(1)], 1)


class Letters:
    """A task whose tokens are displayed as their numbers."""

    limit, labels = LIMIT, tuple(map(str, range(VOCABULARY)))


def lab_of(attention: str) -> StackLab:
    rows = torch.rand(LAYERS, HEADS, LIMIT, LIMIT, generator=torch.Generator().manual_seed(2)).tril()
    rows = rows / rows.sum(-1, keepdim=True)
    return StackLab(f"tiny-{attention}", Letters(), model_of(attention), {"self": rows}, {})


def prompt_of(ids: torch.Tensor) -> Prompt:
    numbers = tuple(ids.tolist())
    return Prompt(numbers, tuple(map(str, numbers)), (len(ids) - 1,), (*numbers[1:], -1))


@pytest.mark.parametrize("attention", TYPES)
@pytest.mark.parametrize("budgets", [None, (N, N, N), (500, N, N + 1)])
def test_without_budgets_it_is_the_forward_pass(attention, budgets):
    model, ids = model_of(attention), texts_of(3)
    logits = model.logits(decoded(Decoder(model, 3, N, budgets), ids))
    assert_close(logits, model.logits(model(ids)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("attention", TYPES)
def test_a_plan_has_the_same_effect_as_in_a_whole_pass(attention):
    lab, ids = lab_of(attention), texts_of(2, LIMIT)
    plan = HeadPlan().constant("self", 0, 0).constant("self", 0, 2).gate("self", 0, 2, 0.3).gate("self", 1, 1, 0.0)
    plan = plan.constant("self", 2, 3).with_scale("logn", 16)
    interventions = lab.interventions(plan, LIMIT)
    hidden = decoded(Decoder(lab.model, 2, LIMIT, interventions=interventions), ids)
    assert_close(hidden, lab.model(ids, interventions), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(hidden, lab.model(ids), atol=0.1)


def pruned_in_loops(model: Transformer, ids: list[int], budgets: list[int], by_age: bool,
                    plan: HeadPlan = HeadPlan(), constant: numpy.ndarray | None = None):
    """Computes attention with budgets for one text in float64, with loops over heads, queries and keys."""
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    selects, width = model.config.attention == "selective", WIDTH // HEADS

    def norm(x, weight):
        return x / math.sqrt((x**2).mean() + numpy.finfo(numpy.float32).eps) * weight

    def turned(x, position):
        result = x.copy()
        for k in range(width // 2):
            angle = position * 10_000 ** (-2 * k / width)
            a, b = x[k], x[k + width // 2]
            result[k] = a * math.cos(angle) - b * math.sin(angle)
            result[k + width // 2] = a * math.sin(angle) + b * math.cos(angle)
        return result

    x = [weights["embedding.weight"][i] for i in ids]
    read = []
    for layer, budget in enumerate(budgets):
        name = f"blocks.{layer}."
        project = {key: weights[f"{name}attention.{where}.weight"] for key, where in (
            ("query", "source.query"), ("key", "source.key"), ("value", "value"), ("output", "output"))}
        normed = [norm(row, weights[f"{name}attention_norm.weight"]) for row in x]
        heads = {key: [(project[key] @ row).reshape(HEADS, width) for row in normed]
                 for key in ("query", "key", "value")}
        votes_for, alive, its_sets = numpy.zeros(len(ids)), [], []
        for i in range(len(ids)):
            alive.append(i)
            if len(alive) > budget:
                candidates = [j for j in alive if j not in (0, i)]
                alive.remove(min(candidates, key=lambda j: (0 if by_age else -votes_for[j], j)))
            its_sets.append(set(alive))
            parts, votes = [], {}
            for h in range(HEADS):
                query = turned(heads["query"][i][h], i)
                scores = {j: query @ turned(heads["key"][j][h], j) / math.sqrt(width) for j in alive}
                if h == 0 and selects:
                    votes = {j: max(0.0, score) for j, score in scores.items() if j not in (0, i)}
                exponentials = {j: math.exp(score - (votes_for[j] if selects else 0)) for j, score in scores.items()}
                state = plan.state("self", layer, h)
                if state.constant:
                    exponentials = {j: constant[layer, h, i, j] for j in alive}
                z = sum(exponentials.values())
                parts.append(state.gate * sum(e / z * heads["value"][j][h] for j, e in exponentials.items()))
            x[i] = x[i] + project["output"] @ numpy.concatenate(parts)
            for j, vote in votes.items():
                votes_for[j] += vote
        read.append(its_sets)
        for i, row in enumerate(x):
            up = weights[f"{name}up.weight"] @ norm(row, weights[f"{name}mlp_norm.weight"])
            gelu = 0.5 * up * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (up + 0.044715 * up**3)))
            x[i] = row + weights[f"{name}down.weight"] @ gelu
    return numpy.stack([weights["embedding.weight"] @ norm(row, weights["norm.weight"]) for row in x]), read


@pytest.mark.parametrize("attention", ["selective", "softmax"])
@pytest.mark.parametrize("by_age", [False, True])
@pytest.mark.parametrize("budgets", [(8, 8, 8), (2, 3, 25), (40, 5, 10)])
def test_budgets_forget_what_plain_loops_forget(attention, by_age, budgets):
    model, ids = model_of(attention), texts_of(3, 40)
    decoder = Decoder(model, 3, 40, budgets, by_age=by_age)
    expected = [pruned_in_loops(model, row, list(budgets), by_age) for row in ids.tolist()]
    for i, column in enumerate(ids.unbind(1)):
        logits = model.logits(decoder.step(column)).double().numpy()
        for text, (its_logits, read) in enumerate(expected):
            for layer, memory in enumerate(decoder.caches):
                assert set(memory.kept()[text].tolist()) == read[layer][i]
            numpy.testing.assert_allclose(logits[text], its_logits[i], rtol=1e-3, atol=2e-3)
    kept = decoder.caches[2].kept().tolist()
    window = [0, *range(41 - budgets[2], 40)]
    if by_age or attention == "softmax":
        assert kept == [window] * 3
    else:  # different texts drop different tokens, so not just the oldest ones
        assert len(set(map(tuple, kept))) == 3
        assert window not in kept


def test_a_plan_within_budgets():
    """Gates apply as without budgets. A constant head's row is cut to the keys that remain and sums to 1 again."""
    lab, ids, budgets = lab_of("selective"), texts_of(1, 30), [6, 5, 9]
    plan = HeadPlan().constant("self", 0, 1).gate("self", 0, 1, 0.5).constant("self", 1, 0).gate("self", 2, 2, 0.25)
    decoder = Decoder(lab.model, 1, 30, budgets, lab.interventions(plan, 30))
    logits = lab.model.logits(decoded(decoder, ids))[0].double().numpy()
    constant = lab.constant["self"].double().numpy()
    expected, _ = pruned_in_loops(lab.model, ids[0].tolist(), budgets, False, plan, constant)
    numpy.testing.assert_allclose(logits, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("attention", TYPES)
def test_decoding_with_full_memory_equals_generate(attention):
    lab, prompt = lab_of(attention), prompt_of(texts_of(1, 10)[0])
    plan = HeadPlan().gate("self", 0, 1, 0.2).constant("self", 1, 1)
    readings = list(lab.write_within(prompt, [LIMIT] * LAYERS, plan, 25))
    assert [r.token for r in readings if not r.is_new] == list(prompt.tokens)
    assert [r.token for r in readings if r.is_new] == list(lab.generate(prompt, plan, 25))
    assert readings[4].kept == ((0, 1, 2, 3, 4),) * LAYERS


def test_writing_ends_at_the_limit_and_within_the_budgets():
    lab = lab_of("selective")
    readings = list(lab.write_within(prompt_of(texts_of(1, LIMIT - 5)[0]), [4, 9, 200], count=40))
    assert len(readings) <= LIMIT
    assert [len(kept) for kept in readings[-1].kept] == [4, 9, len(readings)]


def test_models_that_cannot_be_decoded_are_refused():
    assert not can_decode(model_of("dense"))
    with pytest.raises(ValueError, match="cannot be decoded"):
        Decoder(model_of("dense"), 1, 8)
    with pytest.raises(ValueError, match="expected 3 budgets of 2 tokens or more"):
        Decoder(model_of("selective"), 1, 8, [8, 1, 8])
    with pytest.raises(ValueError, match="expected 3 budgets"):
        Decoder(model_of("selective"), 1, 8, [8, 8])
    decoder = Decoder(model_of("selective"), 1, 2)
    decoded(decoder, texts_of(1, 2))
    with pytest.raises(ValueError, match="texts of 2 tokens"):
        decoder.step(torch.tensor([1]))


def test_losses_are_those_of_a_whole_pass():
    model, ids = model_of("selective"), texts_of(4, 33)
    targets = ids[:, 1:]
    logits = model.logits(model(ids[:, :-1]))
    expected = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none").mean(1)
    assert_close(losses(model, targets, [32] * LAYERS), expected, rtol=1e-4, atol=1e-4)


def test_measured_points(capsys):
    model, targets = model_of("selective"), texts_of(6, 32)
    points = measure(model, targets[:4], targets[4:], factors=(1, 2, 4))
    assert [(p["way"], p["factor"]) for p in points] == [
        ("chosen", 1), ("chosen", 2), ("chosen", 4), ("equal", 2), ("equal", 4),
        ("chosen-oldest", 2), ("chosen-oldest", 4), ("equal-oldest", 2), ("equal-oldest", 4)]
    for point in points:
        assert point["perplexity"] == pytest.approx(math.exp(sum(point["losses"]) / 4), rel=1e-3)
        assert sum(point["budgets"]) * point["factor"] == 32 * LAYERS
    assert points[0]["kept_share"] == 1
    # the progress ends at 100%, so the estimated amount of work was right
    assert "100%" in capsys.readouterr().err.splitlines()[-1]


def test_budgets_are_taken_where_they_cost_least(monkeypatch):
    """They follow the layers' known needs. Dropping the oldest tokens has a search and budgets of its own."""
    needs = {False: torch.tensor([4.0, 16.0, 2.0]), True: torch.tensor([16.0, 2.0, 4.0])}

    def cost(model, targets, budgets, by_age=False):
        return (needs[by_age] - torch.tensor(budgets)).clamp_min(0).sum() + torch.tensor([0.5, 0.5])

    monkeypatch.setattr("studies.corpus.forgetting.losses", cost)
    chosen = choose(model_of("selective"), texts_of(2, 32), (1, 2, 4), tqdm(disable=True))
    assert chosen[1] == [32] * 3
    assert chosen[4][1] > chosen[4][0] > chosen[4][2]
    assert cost(None, None, chosen[2], False).mean() == 0.5
    assert cost(None, None, chosen[4], False).mean() <= 2.5 < cost(None, None, [8, 8, 8], False).mean()
    assert {factor: sum(budgets) for factor, budgets in chosen.items()} == {1: 96, 2: 48, 4: 24}
    points = {(p["way"], p["factor"]): p for p in measure(model_of("selective"), texts_of(2, 32), texts_of(2, 32),
                                                         (1, 2, 4))}
    assert points["chosen", 4]["budgets"][1] == max(points["chosen", 4]["budgets"])
    assert points["chosen-oldest", 4]["budgets"][0] == max(points["chosen-oldest", 4]["budgets"])


def test_kept_share():
    assert kept_share([4], 4) == 1
    assert kept_share([2, 4], 4) == (1 + 2 + 2 + 2 + 10) / 20


def test_windows_of_two_purposes_share_none():
    class Held:
        trained_length = 512

        def held_out(self, length):
            return torch.arange(40)[:, None].expand(40, length)

        def validation(self):
            return [Batch(part, part) for part in torch.arange(100, 132)[:, None].expand(32, 512).split(8)]

    reported, validation = held_out(Held(), 20), for_choosing(Held(), 8)
    assert reported.shape == (20, 512) and validation.shape == (8, 512)
    assert (reported < 100).all() and (validation >= 100).all()
    # the first half is from books, the second half from stories
    assert (reported[:10] < 20).all() and (reported[10:] >= 20).all()
    assert (validation[:4] < 116).all() and (validation[4:] >= 116).all()

"""Hard Concrete gates equal the formulas of Louizos et al. 2018 in scalars, by samples and in training."""

import copy
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import OutageError, Stopping
from torch.testing import assert_close

from models.generate.decoding import generator
from models.labs.seq2seq import Seq2SeqLab
from models.nets import hard_concrete
from models.nets.config import END, START, PairConfig
from models.nets.seq2seq import Seq2Seq
from models.plan import HeadPlan
from models.tasks import TASKS
from models.tasks.base import Pairs
from models.tasks.translation import TranslationCorpus, TranslationMetric, TranslationReader
from models.training import trainer
from studies import prune_heads
from studies.prune_heads import Gates, Pruning, learn, measured, removed, trained

LOGS = [-6.0, -2.4, -0.8, 0.0, 0.3, 2.4, 6.0]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cdf(x: float, log_a: float) -> float:
    """Returns P(stretched gate <= x) at temperature 0.33."""
    place = (x + 0.1) / 1.2
    return sigmoid(0.33 * (math.log(place) - math.log(1 - place)) - log_a)


def inverse(u: float, log_a: float) -> float:
    """Returns the u-quantile of the stretched gate."""
    return 1.2 * sigmoid((math.log(u) - math.log(1 - u) + log_a) / 0.33) - 0.1


@pytest.mark.parametrize("log_a", LOGS)
def test_by_value(log_a: float):
    tensor = torch.tensor([log_a], dtype=torch.float64)
    assert hard_concrete.open_probability(tensor).item() == pytest.approx(1 - cdf(0, log_a), abs=1e-12)
    assert hard_concrete.full_probability(tensor).item() == pytest.approx(1 - cdf(1, log_a), abs=1e-12)
    for u in (1e-6, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-6):
        found = hard_concrete.quantile(tensor, torch.tensor([u], dtype=torch.float64)).item()
        assert found == pytest.approx(min(1, max(0, inverse(u, log_a))), abs=1e-9)
        if 0 < found < 1:
            assert cdf(found, log_a) == pytest.approx(u, abs=1e-9)  # the two scalar functions are inverse to each other


@pytest.mark.parametrize("log_a", [-1.0, 0.0, 1.5])
def test_draws_have_these_probabilities(log_a: float):
    gates = hard_concrete.sample(torch.full((200_000,), log_a), generator(1))
    assert (gates > 0).double().mean().item() == pytest.approx(1 - cdf(0, log_a), abs=5e-3)
    assert (gates == 1).double().mean().item() == pytest.approx(1 - cdf(1, log_a), abs=5e-3)
    assert gates.min() >= 0 and gates.max() <= 1 and ((gates > 0) & (gates < 1)).any()


def test_at_test_a_gate_is_0_or_1_and_gradients_are_finite_at_the_ends():
    log_a = torch.linspace(-3, 3, 61)
    zero, one = 1 - hard_concrete.open_probability(log_a), hard_concrete.full_probability(log_a)
    assert torch.equal(hard_concrete.decided(log_a), one > zero)
    far = log_a.abs() > 1e-6
    assert torch.equal(hard_concrete.decided(log_a)[far], (log_a > 0)[far])
    log_a = torch.tensor([-30.0, 0.0, 30.0], requires_grad=True)
    (hard_concrete.sample(log_a, generator(2)).sum() + hard_concrete.penalty(log_a)).backward()
    assert torch.isfinite(log_a.grad).all()


# training of gates on a toy task whose target is the text itself

V, N = 12, 6
TASK = TranslationReader()


class Copying(TranslationCorpus):
    def batch(self, step: int, steps: int, seed: int) -> Pairs:
        words = torch.randint(3, V, (16, N), generator=generator(seed, step))
        ends = torch.full((16, 1), END)
        texts = torch.cat((torch.full((16, 1), START), words, ends), 1)
        return Pairs(torch.cat((torch.full((16, 1), START), words), 1), torch.cat((words, ends), 1), texts)


def make_model() -> Seq2Seq:
    torch.manual_seed(0)
    return Seq2Seq(PairConfig("softmax", V, 16, 1, 4, trained_length=16, encoder_layers=2)).eval()


PRUNING = Pruning("translation-softmax", ("encoder",), 0.5, steps=6)


def test_a_run_that_stops_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prune_heads, "SAVE_EVERY", 0.0)
    whole = learn(PRUNING, make_model(), Copying(TASK), tmp_path / "whole")
    with pytest.raises(OutageError):
        learn(PRUNING, make_model(), Stopping(Copying(TASK), 3), tmp_path / "parts")
    parts = learn(PRUNING, make_model(), Copying(TASK), tmp_path / "parts")
    assert_close(parts.state_dict(), whole.state_dict(), rtol=0, atol=0)
    assert (whole.log_a["encoder"] != prune_heads.INITIAL).all()
    with pytest.raises(FileExistsError, match="another"):
        learn(replace(PRUNING, strength=0.1), make_model(), Copying(TASK), tmp_path / "parts")


def test_the_decoder_is_frozen_where_the_encoder_alone_has_gates(tmp_path: Path):
    for kinds in (("encoder",), ("encoder", "decoder", "cross")):
        model, before = make_model(), make_model().state_dict()
        learn(replace(PRUNING, kinds=kinds), model, Copying(TASK), tmp_path / str(len(kinds)))
        changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
        assert any(name.startswith("encoder.") for name in changed)
        assert any(not name.startswith("encoder") for name in changed) == (len(kinds) > 1)
        assert not any(parameter.requires_grad for parameter in model.parameters())
    assert len(trained(make_model(), ("encoder", "cross"))) == len(list(make_model().parameters()))


def test_the_loss_has_the_penalty_and_the_gates():
    gates, batch = Gates(make_model(), ("encoder", "cross")), Copying(TASK).batch(0, 1, 0)
    with torch.no_grad():
        gates.log_a["cross"].copy_(torch.tensor([[-3.0, 0.5, 0.0, 2.0]]))
    pruning = replace(PRUNING, kinds=("encoder", "cross"), strength=0.25, label_smoothing=0.0)
    random = generator(prune_heads.STREAM, 0, 7)
    drawn = {kind: hard_concrete.sample(gates.log_a[kind], random) for kind in ("cross", "encoder")}
    model = copy.deepcopy(gates.model)
    for kind, its in drawn.items():
        for layer, row in enumerate(its):
            model.attentions(kind)[layer].output.weight.data.unflatten(1, (4, -1)).mul_(row[None, :, None])
    logits = model.logits(model(batch.texts, batch.tokens)).log_softmax(-1)
    expected = -logits.gather(2, batch.targets.unsqueeze(2)).mean()
    count = sum(1 - cdf(0, value) for its in gates.log_a.values() for value in its.flatten().tolist())
    assert gates.loss(batch, pruning, 7).item() == pytest.approx(expected.item() + 0.25 * count, rel=1e-4)


@pytest.mark.parametrize("strength, left", [(5.0, 0), (1e-9, None)])
def test_strength_decides(strength: float, left: int | None, tmp_path: Path):
    """A penalty that dominates the loss closes all heads; a tiny penalty closes at most half of them."""
    pruning = replace(PRUNING, strength=strength, steps=80, rate=1e-2)
    gates = learn(pruning, make_model(), Copying(TASK), tmp_path)
    found = int(hard_concrete.decided(gates.log_a["encoder"]).sum())
    assert found == left if left is not None else found >= 4
    assert len(gates.plan.heads) == 8 - found


def test_the_control_is_the_same_training_without_gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The control trains the encoder's weights by Adam on the cross entropy alone, step by step. No head is removed."""
    control = replace(PRUNING, strength=0.0)
    gates = learn(control, make_model(), Copying(TASK), tmp_path)
    assert not gates.log_a and not gates.plan.heads
    model = make_model()
    weights = [its for name, its in model.named_parameters() if name.startswith("encoder")]
    adam = torch.optim.Adam(weights, control.rate)
    for step in range(control.steps):
        batch = Copying(TASK).batch(step, control.steps, 0)
        loss = torch.nn.functional.cross_entropy(model.logits(model(batch.texts, batch.tokens)).flatten(0, 1),
                                                 batch.targets.flatten(), label_smoothing=control.label_smoothing)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, trainer.CLIP)
        adam.step()
    assert_close(gates.model.state_dict(), model.state_dict(), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(TranslationCorpus, "pairs", lambda *_: [("a", "eins zwei drei vier")])
    monkeypatch.setattr(TranslationMetric, "translate", lambda *_: ["eins zwei drei vier"])
    found = measured(gates, control, TASKS["translation"].build(), None)
    assert found["heads_left"] == {"encoder": 8} and found["plan"] == "" and found["probabilities"] == {}
    assert found["sentence_bleu"] == [100.0]
    assert "sentence_bleu" not in measured(gates, PRUNING, TASKS["translation"].build(), None)


def test_removed_heads_are_gates_of_0():
    """Without the slices of W_O of some heads the model gives the same result as with gates of 0, to the last digit."""
    torch.manual_seed(1)
    config = PairConfig("softmax", TASK.vocabulary, 32, 2, 4, trained_length=64)
    model = Seq2Seq(config, embedding_std=1.0).eval().requires_grad_(False)
    gates = Gates(copy.deepcopy(model), prune_heads.KINDS)
    for log_a in gates.log_a.values():
        log_a.data = torch.randn(log_a.shape, generator=generator(4))
    plan = gates.plan
    assert 5 < len(plan.heads) < 23 and {state.gate for state in plan.heads.values()} == {0.0}
    removed(gates.model, plan)
    lab = Seq2SeqLab("tiny", TASK, model, {}, {})
    prompt = TASK.read("He has never seen it.")
    texts, tokens = torch.tensor([prompt.ids]), torch.tensor([[START, 5, 6, 7]])
    under = model(texts, tokens, lab.interventions(plan, len(prompt.ids), 4))
    assert_close(gates.model(texts, tokens), under)
    assert (under - model(texts, tokens)).abs().max() > 1e-3


def test_what_is_written_of_a_run(monkeypatch: pytest.MonkeyPatch):
    gates = Gates(make_model(), ("encoder",))
    gates.log_a["encoder"].data[1] = -2.0
    monkeypatch.setattr(TranslationCorpus, "pairs", lambda *_: [("a", "eins zwei drei vier")])
    monkeypatch.setattr(TranslationMetric, "translate", lambda *_: ["eins zwei drei vier"])
    result = measured(gates, PRUNING, TASKS["translation"].build(), None)
    assert result["heads_left"] == {"encoder": 4} and result["bleu"] == 100 and result["strength"] == 0.5
    assert result["probabilities"]["encoder"] == [[round(1 - cdf(0, 2.0), 4)] * 4, [round(1 - cdf(0, -2.0), 4)] * 4]
    assert HeadPlan.parse(result["plan"]) == HeadPlan().with_heads([("encoder", 1, h) for h in range(4)], gate=0)
    assert trainer.CLIP and "version" in result["signature"]

"""The study of constant attention (PAPA): constants by algebra, plans on batches, probes by seed."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from foreign_tiny import TEXTS, lab_of
from tiny import HEADS, LAYERS, make_model
from torch.testing import assert_close

import models
from models import HeadPlan
from models.labs.stack import StackLab
from models.tasks.masked import MaskedReader
from studies.papa import corpora, features, probes, results, study
from studies.papa.corpora import Corpus, Example, joined
from studies.papa.features import GRID, ConstantMatrices, MeanAttention, Texts, texts_of


def masked_lab(attention: str = "softmax") -> StackLab:
    """Returns a tiny bidirectional model that reads sentences."""
    model = make_model(attention, causal=False)
    task = MaskedReader()
    config = replace(model.config, vocabulary=task.vocabulary)
    torch.manual_seed(3)
    whole = type(model)(config, initial_std=0.3, embedding_std=1.0).requires_grad_(False).eval()
    return StackLab(f"masked-{attention}", task, whole, {}, {})


def labs() -> list:
    return [masked_lab(), lab_of("bert"), lab_of("roberta")]


def examples(sentences=TEXTS, letters: str = "t", labels=("O", "B-t")) -> list[Example]:
    """Returns the sentences; each word has the second label if it starts with one of the letters."""
    return [Example(text, words, tuple(labels[text[start].lower() in letters] for start, _ in words))
            for text, words in (joined(sentence.split()) for sentence in sentences)]


def small(texts: str, metric: str = "f1") -> Corpus:
    """Returns a task of a few sentences."""
    return Corpus("pos", "Small", metric, True, lambda data: (examples(), examples()), texts)


def as_texts(lab, sentences=TEXTS) -> Texts:
    return texts_of(lab, examples(sentences))


def live(lab, text: Texts, i: int) -> torch.Tensor:
    """Returns the attention patterns (L, H, n, n) of an ordinary forward pass over text i."""
    return torch.tensor(numpy.array(models.run(lab, text.examples[i].text).live["self"]))


@pytest.mark.parametrize("which", range(3))
def test_states_are_those_of_the_ordinary_pass(which: int):
    """Weights are those of a Trace, and the values of a text do not depend on its batch."""
    lab = labs()[which]
    texts = as_texts(lab, (TEXTS[0], TEXTS[0].replace("cat", "dog").replace("mat", "rug"), TEXTS[1]))
    seen: dict[int, list] = {}
    values = features.features(lab, texts, watch=lambda kind, layer, its: seen.setdefault(layer, []).append(its))
    assert values.shape[1] == lab.kinds[0].layers + 1 and sum(len(its) for its in seen[0]) == len(texts.ids)
    for i, ids in enumerate(texts.ids):
        alone = lab.states(torch.tensor([ids]))
        rows = values[int(texts.starts[i]):int(texts.starts[i + 1])]
        assert_close(rows.float(), torch.stack(alone, 2)[0], rtol=2e-3, atol=2e-3)
    for (chosen, _), weights in zip(texts.passes(), seen[1], strict=True):
        for row, i in enumerate(chosen.tolist()):
            assert_close(weights[row], live(lab, texts, i)[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("which", range(3))
def test_constants_of_one_text_are_its_attention(which: int):
    """With all heads constant at the mean over one text, results change for other texts, but not for this text."""
    lab = labs()[which]
    one = as_texts(lab, TEXTS[:1])
    mean = MeanAttention(lab)
    before = features.features(lab, one, watch=mean.add)
    constants, n = ConstantMatrices(lab, mean.matrices), len(one.ids[0])
    assert_close(constants.at_length(n), live(lab, one, 0), rtol=1e-4, atol=1e-6)
    plan = HeadPlan().with_heads(lab.kinds[0].addresses, constant=True)
    after = features.features(lab, one, lambda n: constants.interventions(plan, n))
    assert_close(after.float(), before.float(), rtol=1e-2, atol=1e-2)
    other = as_texts(lab, TEXTS[1:2])
    changed = features.features(lab, other, lambda n: constants.interventions(plan, n)) - features.features(lab, other)
    assert float(changed.abs().max()) > 0.05


def test_two_lengths_by_hand():
    """An entry is a mean over the texts with both positions: here [CLS] a [SEP], twice, and [CLS] a b [SEP]."""
    lab = lab_of("bert")
    mean = MeanAttention(lab)
    short, long = torch.rand(2, 4, 3, 3), torch.rand(1, 4, 4, 4)
    for layer in (0, 1):
        mean.add("self", layer, short)
        mean.add("self", layer, long)
    last, found = GRID - 1, mean.matrices[1]
    assert_close(found[:, 0, 1], (short[:, :, 0, 1].sum(0) + long[0, :, 0, 1]) / 3)
    assert_close(found[:, 1, last], (short[:, :, 1, 2].sum(0) + long[0, :, 1, 3]) / 3)
    assert_close(found[:, 2, 1], long[0, :, 2, 1])  # only the longer text has a second word
    assert not found[:, 3].any() and not found[:, :, 3].any()
    row = torch.stack((found[:, 0, 0], found[:, 0, 1], found[:, 0, last]), -1)
    assert_close(ConstantMatrices(lab, mean.matrices).at_length(3)[1][:, 0], row / row.sum(-1, keepdim=True))


@pytest.mark.parametrize("which", range(3))
def test_plans_on_batches_are_plans_on_texts(which: int):
    """If no head is constant or gated, texts do not affect each other."""
    lab = labs()[which]
    texts = as_texts(lab, TEXTS[:1])
    mean = MeanAttention(lab)
    features.features(lab, as_texts(lab), watch=mean.add)
    constants, n = ConstantMatrices(lab, mean.matrices), len(texts.ids[0])
    seen = {}
    plan = HeadPlan().constant("self", 0, 1).gate("self", 1, 2, 0.0).constant("self", 1, 2)
    batch = torch.tensor([texts.ids[0]])
    lab.states(batch, constants.interventions(plan, n), lambda kind, layer, weights: seen.update({layer: weights[0]}))
    assert_close(seen[0][1], constants.at_length(n)[0, 1]) and assert_close(seen[1][2], constants.at_length(n)[1, 2])
    assert_close(seen[0][0], live(lab, texts, 0)[0, 0], rtol=1e-4, atol=1e-5)
    every = torch.ones(lab.kinds[0].layers, lab.kinds[0].heads)
    plain = lab.states(batch)[-1]
    assert_close(lab.states(batch, constants.mixed(every, n))[-1], plain)
    constant = HeadPlan().with_heads(lab.kinds[0].addresses, constant=True)
    assert_close(lab.states(batch, constants.mixed(0 * every, n))[-1],
                 lab.states(batch, constants.interventions(constant, n))[-1])
    gates = HeadPlan().with_heads(lab.kinds[0].addresses, gate=0.0)
    assert float((lab.states(batch, constants.interventions(gates, n))[-1] - plain).abs().max()) > 0.05


def tagged(lab, letters: str = "t", sentences=TEXTS) -> tuple[Texts, list]:
    """Returns a task that any probe can learn: whether a word begins with one of the letters."""
    texts = texts_of(lab, examples(sentences, letters, ("no", "yes")))
    return texts, probes.questions_of(lab, texts, ("no", "yes"), True)


def test_a_padded_batch_is_its_texts_one_by_one():
    """Padding has no weight: for a batch of several lengths a probe computes the same as for each text alone."""
    lab = lab_of("bert")
    texts = as_texts(lab, (TEXTS[0], TEXTS[1], " ".join(TEXTS[:2])))
    assert len({len(ids) for ids in texts.ids}) > 1
    questions = probes.questions_of(lab, replace(texts, examples=tuple(replace(example, labels=("0",))
                                                                        for example in texts.examples)), ("0",), False)
    values = features.features(lab, texts).float()
    torch.manual_seed(0)
    probe = probes.Probe(*features.feature_moments(values), 3, 9.0).requires_grad_(False)
    probe.position_weights.normal_()
    together = probe(values[questions.tokens], questions.positions)
    for i, ids in enumerate(texts.ids):
        own = values[int(texts.starts[i]):int(texts.starts[i + 1])]
        weights = probe.position_weights[list(lab.grid_positions(len(ids), GRID))]
        pooled = (own * weights.unsqueeze(-1)).sum(0)
        assert_close(together[i], probe.second(probe.first(pooled.flatten()).tanh()))


def test_training_batches_mix_lengths():
    """The loss is the mean over all answers of the batch."""
    lab = masked_lab()
    texts, questions = tagged(lab)
    batches = [*texts.shuffled(len(texts.ids), torch.Generator().manual_seed(0))]
    batch, = batches
    assert sorted(i for chosen, _ in batch for i in chosen.tolist()) == [*range(len(texts.ids))] and len(batch) > 1
    sizes = [sum(len(chosen) for chosen, _ in part) for part in texts.shuffled(2, torch.Generator().manual_seed(0))]
    assert max(sizes) == 2 and sum(sizes) == len(texts.ids)
    values = features.features(lab, texts)
    probe = probes.train(values, questions, 2, True, 0)
    loss = probes.batch_loss(probe, [lab.states(ids) for _, ids in batch], lab, texts, batch,
                             probes.label_indices(texts, ("no", "yes")))
    logits = probe(probe.standardise(values[questions.tokens]), questions.positions)
    assert_close(loss, torch.nn.functional.cross_entropy(logits, questions.labels), rtol=1e-2, atol=1e-2)


def test_training_stops_at_the_best_epoch(monkeypatch: pytest.MonkeyPatch):
    """Training stops PATIENCE epochs after the lowest validation loss, and returns the probe with this loss."""
    losses = iter([3.0, 1.0, 2.0, 2.0, 0.5, 0.0])
    stored = []
    monkeypatch.setattr(probes, "PATIENCE", 2)
    monkeypatch.setattr(probes, "_loss", lambda probe, *rest: stored.append(probes.to_tensors(probe)) or next(losses))
    lab = masked_lab()
    texts, questions = tagged(lab)
    probe = probes.train(features.features(lab, texts), questions, 2, True, 0)
    assert len(stored) == 4 and torch.equal(probe.first.weight, stored[1]["first.weight"])
    assert not torch.equal(stored[1]["first.weight"], stored[3]["first.weight"])


def test_validation_texts_do_not_train():
    """All words of a text are in the same split. One text in six is for validation."""
    texts = torch.arange(60).repeat_interleave(3)
    training, validation = probes.split(probes.Questions(texts[:, None], torch.zeros(180, 1, dtype=torch.long),
                                                         torch.zeros(180, dtype=torch.long), texts))
    assert len(validation) == 30 and not {*training.texts.tolist()} & {*validation.texts.tolist()}
    assert len(training) == 150


def test_nan_weights_stop_the_study():
    """For a model with NaN weights the study ends with an error message and trains no probe."""
    lab = masked_lab()
    lab.model.blocks[0].attention.value.weight[0, 0] = torch.nan
    texts, questions = tagged(lab)
    with pytest.raises(ValueError, match="the attention pattern of layer 2 contains NaN"):
        features.features(lab, texts, watch=MeanAttention(lab).add)
    with pytest.raises(ValueError, match="hidden states contain NaN"):
        probes.train(features.features(lab, texts), questions, 2, True, 0)


def test_probes_are_their_seeds():
    """A probe depends only on its seed, not on other uses of random numbers."""
    lab = masked_lab()
    texts, questions = tagged(lab)
    values = features.features(lab, texts)
    torch.manual_seed(1)
    one = probes.train(values, questions, 2, True, 0)
    torch.manual_seed(2)
    same, other = probes.train(values, questions, 2, True, 0), probes.train(values, questions, 2, True, 1)
    assert all(torch.equal(its, same.state_dict()[name]) for name, its in one.state_dict().items())
    assert not torch.equal(one.first.weight, other.first.weight)


@pytest.mark.parametrize("which", range(2))
def test_probes_learn(which: int, monkeypatch: pytest.MonkeyPatch):
    """Probes of words and of texts learn, and the packed probe equals the trained one."""
    monkeypatch.setattr(probes, "PATIENCE", 60)
    lab = labs()[which]
    texts, questions = tagged(lab)
    values = features.features(lab, texts)
    probe = probes.train(values, questions, 2, True, 0)
    predicted = probes.predict(probe, values, questions, ("no", "yes"))
    assert corpora.score("accuracy", [its.labels for its in texts.examples], predicted) == 1
    assert probes.predict(probes.from_tensors(probes.to_tensors(probe)), values, questions, ("no", "yes")) == predicted
    whole = replace(texts, examples=tuple(replace(its, labels=(str(i % 2),)) for i, its in enumerate(texts.examples)))
    questions = probes.questions_of(lab, whole, ("0", "1"), False)
    assert (questions.positions >= 0).sum(1).tolist() == [len(ids) for ids in texts.ids]
    probe = probes.train(values, questions, 2, False, 0)
    assert probes.predict(probe, values, questions, ("0", "1")) == [[str(i % 2)] for i in range(len(texts.ids))]


def test_lambda_finds_the_head_that_is_needed(monkeypatch: pytest.MonkeyPatch):
    """It affects the answer, and its attention is far from its constant matrix; that of the others is not."""
    monkeypatch.setattr(study, "EPOCHS", 40)
    monkeypatch.setattr(probes, "PATIENCE", 60)
    lab = masked_lab()
    width = lab.model.config.width // HEADS
    lab.model.blocks[1].attention.value.weight[2 * width:3 * width] *= 10
    one, questions = tagged(lab, sentences=TEXTS[:1])
    mean = MeanAttention(lab)
    values = features.features(lab, one, watch=mean.add)
    matrices = mean.matrices.clone()
    matrices[1, 2] = torch.eye(GRID).flip(0).roll(-GRID // 2, 1) + 1e-3
    weight = study.learn_lambda(lab, one, ("no", "yes"), matrices, probes.train(values, questions, 2, True, 0))
    others = [its for i, its in enumerate(weight.flatten().tolist()) if i != 1 * HEADS + 2]
    # the other heads do not change the loss, but Adam takes full steps even along rounding errors
    assert float(weight[1, 2]) > max(0.2, 2 * max(map(abs, others))), weight
    weight = torch.arange(LAYERS * HEADS).flip(0).view(LAYERS, HEADS).float()
    assert study.sorted_heads(lab, weight) == [("self", i, j) for i, j in reversed([*numpy.ndindex(LAYERS, HEADS)])]


def test_states_of_the_source():
    assert results.head_counts(144) == (0, 72, 126, 135, 144)
    learned = [("self", layer, head) for layer in range(6) for head in range(12)][::-1]
    for state in results.conditions(72):
        plan = results.plan_of(state, learned)
        assert len(plan.heads) == state.count
        assert all((its.gate == 0) == (state.mode == "removed") for its in plan.heads.values())
    seeds = {str(its): len(its.seeds) for its in results.conditions(72, probes=5)}
    assert [seeds[its] for its in ("learned 0 0", "learned 63 0", "learned 36 0", "removed 72 0")] == [5, 5, 3, 3]
    assert [draw for draw in range(9) if f"random 63 {draw}" in seeds] == [*range(5)]
    first = results.plan_of(results.Condition("learned", 36), learned)
    assert set(first.heads) == set(learned[:36])
    draws = [set(results.plan_of(results.Condition("random", 36, (i,), i), learned).heads) for i in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2] and draws[0] != set(first.heads)


def test_scores_by_hand():
    right = [["B-a", "I-a", "O", "B-b"], ["O", "B-a"]]
    assert corpora.score("f1", right, right) == 1
    assert corpora.score("f1", right, [["B-a", "O", "O", "B-b"], ["O", "B-a"]]) == pytest.approx(2 / 3)
    assert corpora.score("f1", right, [["O"] * 4, ["O"] * 2]) == 0
    assert corpora.score("accuracy", [["x"], ["y"], ["y"], ["x"]], [["x"], ["y"], ["x"], ["x"]]) == 0.75
    # tp 2, tn 1, fp 1, fn 0: Matthews correlation (2 · 1 - 1 · 0) / sqrt(3 · 2 · 2 · 1)
    assert corpora.score("matthews", [["x"], ["y"], ["y"], ["x"]], [["x"], ["y"], ["x"], ["x"]]) == \
        pytest.approx(2 / 12**0.5)
    assert corpora.score("matthews", [["x"], ["y"]], [["x"], ["x"]]) == 0
    with pytest.raises(ValueError, match="no metric 'acuracy'; expected accuracy"):
        corpora.score("acuracy", right, right)


def test_the_cache_stays_within_its_limit(tmp_path: Path):
    """The least recently used file is deleted. A stored file is not computed again, but a damaged file is."""
    made = []

    def make(i: int):
        return lambda: made.append(i) or torch.full((10, 2, 5), float(i)).half()

    cache = features.Cache(tmp_path, 700)  # room for three files of 200 bytes with their headers
    for i in (0, 1, 0, 2, 0):
        assert cache.get(str(i), make(i))[0, 0, 0] == i
    assert made == [0, 1, 2] or made == [0, 1, 2, 0]
    for i in range(3, 9):
        cache.get(str(i), make(i))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1000
    newest = max(tmp_path.iterdir(), key=lambda its: its.stat().st_mtime_ns)
    newest.write_bytes(b"nonsense")
    assert cache.get("8", make(8))[0, 0, 0] == 8 and made[-1] == 8


@pytest.mark.parametrize("key", [*corpora.CORPORA])
def test_tasks(key: str):
    """Each has right positions of words and one label for each word or text, and is the same at every call."""
    corpus, data = corpora.CORPORA[key], corpora.data_of(key, share=0.1)
    assert len(data.train) == round(0.1 * corpora.MORE.get(key, corpora.TRAIN)) and len(data.test) == 40
    for example in (*data.train, *data.test):
        assert len(example.labels) == (len(example.words) if corpus.by_word else 1)
        assert all(example.text[start:stop].strip() == example.text[start:stop] != "" for start, stop in example.words)
    assert corpora.data_of.__wrapped__(key, share=0.1).train == data.train
    assert not {its.text for its in data.train} & {its.text for its in data.test} or key != "acceptability"


def test_pairs_of_sentences():
    """Each text has two sentences. Half of the test captions were revised, and no caption is in training."""
    for key, parts in (("entailment", {corpora.CAPTIONS, corpora.REVISED}), ("paraphrase", {""})):
        train, test = corpora.CORPORA[key].read(corpora.DATA)
        first, tested = ({its.text.partition(" ; ")[0] for its in examples} for examples in (train, test))
        assert all(" ; " in its.text for its in (*train, *test)) and not first & tested
        assert {its.labels for its in train} == {its.labels for its in test}
        assert Counter(its.part for its in test) == dict.fromkeys(parts, len(test) // len(parts))


def test_held_out_paradigms_are_not_trained_on():
    train, test = corpora.CORPORA["acceptability"].read(corpora.DATA)
    seen, unseen = ({its.text for its in test if its.part == part} for part in (corpora.SEEN, corpora.UNSEEN))
    assert len([its for its in test if its.part == corpora.SEEN]) == len(test) / 2
    assert not {its.text for its in train} & unseen and seen
    assert {its.labels for its in train} == {(corpora.GOOD,), (corpora.BAD,)}

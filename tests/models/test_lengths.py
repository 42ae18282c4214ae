"""The measurement in studies/corpus/lengths.py against explicit sums."""

import math

import numpy
import pytest
import torch

from models.catalogue import names
from models.lab import run
from models.loading import own
from models.plan import HeadPlan
from models.storage.checkpoint import CHECKPOINTS, read_card
from models.tasks import TASKS, stories
from models.tasks.base import Task
from models.tasks.stories import StoriesCorpus, StoriesMetric, StoriesReader
from models.trace import row_entropy
from studies import store
from studies.corpus import lengths
from studies.corpus.lengths import facts, measure, plans_of


def test_a_models_numbers_are_means_over_its_texts():
    lab, task = own("assignment-softmax"), TASKS["assignment"].build()
    plan = plans_of(lab)["trained"]
    result = measure(lab, task, 13, plan, 193)
    losses, hits = [], []
    batch, whose = task.corpus.held_out_texts(13, 193)
    groups: dict[int, list[float]] = {}
    probabilities = lab.model.logits(lab.model(batch.tokens)).softmax(-1)
    for row, place in (batch.targets >= 0).nonzero().tolist():
        answer = int(batch.targets[row, place])
        losses.append(-math.log(float(probabilities[row, place, answer])))
        hits.append(int(probabilities[row, place].argmax()) == answer)
        groups.setdefault(int(whose[row]), []).append(losses[-1])
    assert result["texts"]["predictions"] == [len(group) for group in groups.values()]
    assert result["texts"]["losses"] == pytest.approx([sum(g) / len(g) for g in groups.values()], abs=1e-4)
    # the metric of the card uses these texts
    assert result["accuracy"] == lab.card["metric"]["accuracy_by_events"]["6"]
    assert result["loss"] == pytest.approx(math.fsum(losses) / len(losses), abs=1e-4)
    assert result["accuracy"] == pytest.approx(sum(hits) / len(hits), abs=1e-4)
    assert len(result["entropy"]) == 3 and all(len(row) == 4 for row in result["entropy"])


class Counting(StoriesCorpus):
    """A corpus with ascending tokens in books and descending tokens in stories. No two tokens are equal. Books have
    three times as many tokens as stories."""

    def stream(self, corpus: str, split: str) -> torch.Tensor:
        return torch.arange(24_000) if corpus == "books" else 40_000 - torch.arange(8_000)


def counting() -> Task:
    corpus = Counting(StoriesReader())
    return Task(corpus.reader, corpus, StoriesMetric(corpus))


def test_stories_are_the_same_tokens_at_every_length(monkeypatch: pytest.MonkeyPatch):
    """The same tokens are used at every length. The proportion of books and stories is that of the card's metric."""
    monkeypatch.setattr(stories, "HELD_OUT_TOKENS", 16 * 1024)
    found = {}
    for n in (32, 256, 1024):
        batch, whose = counting().corpus.held_out_texts(n, 1024)
        assert batch.tokens.shape == (16 * 1024 // n, n) and (batch.tokens[:, 0] == 0).all()
        assert (batch.tokens[:, 1:] == batch.targets[:, :-1]).all()
        assert whose.tolist() == [i // (1024 // n) for i in range(len(whose))]
        found[n] = batch.targets.flatten().tolist()
    assert found[32] == found[256] == found[1024]
    assert sum(token < 24_000 for token in found[32]) / len(found[32]) == pytest.approx(0.75, abs=0.1)


def test_words_looked_at_are_of_all_texts():
    tokens = lengths.captured_of(counting(), 512, 1024)
    assert len(tokens) == lengths.CAPTURED // 512
    assert (tokens[0] < 24_000).all() and (tokens[-1, 1:] > 24_000).all()  # books come first


@pytest.mark.parametrize(("name", "text"), [
    ("stories-selective", "Once upon a time there was a dragon"), ("masked-gau-relu2", "The [cat] sat on [the] mat"),
    ("assignment-random", "x=1; y=2; x=?; y=?"), ("masked-softmax", "The [MASK] sat")])
def test_a_typed_text_has_the_numbers_of_its_trace(name: str, text: str):
    """For an input text under a plan, the values equal those computed from all rows of its trace."""
    lab = own(name)
    plan = HeadPlan().constant("self", 1, 0).gate("self", 0, 0, 0.5)
    trace = run(lab, text, plan)
    found = facts(lab, trace.prompt, plan)
    known = [output for output in trace.outputs if output.target >= 0]
    assert found["loss"] == (None if math.isnan(trace.loss) else pytest.approx(trace.loss, abs=1e-5))
    if known and name.startswith(("masked", "assignment")):
        assert found["accuracy"] == pytest.approx(sum(o.order[0] == o.target for o in known) / len(known))
    assert found["entropy"] == pytest.approx(row_entropy(trace.weights["self"]).mean(), abs=1e-4)
    if lab.attention.is_distribution:  # checks weight = exp(score - F - ln Z)
        scores = trace.scores["self"] - (0 if trace.mask is None else trace.mask[:, None])
        diagonal = numpy.arange(len(trace.tokens))
        log_z = scores[..., diagonal, diagonal] - numpy.log(trace.live["self"][..., diagonal, diagonal])
        assert found["log_normaliser"] == pytest.approx(log_z.mean(), abs=1e-4)
    else:
        assert found["log_normaliser"] == pytest.approx(numpy.log(trace.live["self"].sum(-1)).mean(), abs=1e-4)


@pytest.mark.parametrize("name", [name for name in names() if name.startswith(("assignment", "masked"))])
def test_page_and_card_say_the_same(name: str):
    """The measurement for the page and the card's metric have the same accuracies, because both use the same tokens. If
    one of them is measured again, the other must be measured again too."""
    metric, found = read_card(CHECKPOINTS / name)["metric"], store.read(name, "length")
    assert found is not None
    of_card = {2 * int(n) + 1: value for n, value in metric.get("accuracy_by_events", {}).items()}
    of_card |= {int(n): value for n, value in metric.get("accuracy_by_length", {}).items()}
    of_page = found["readings"]["trained"]
    assert of_card == {n: of_page[str(n)]["accuracy"] for n in of_card} and len(of_card) >= 3

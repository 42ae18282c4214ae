"""Measures over held-out texts against explicit sums: lengths, word pieces of names, patched heads, examples."""

import argparse
import itertools
import math
from collections import Counter
from pathlib import Path

import numpy
import pytest
import torch

import models
from models.analysis.answer.head_attribution import patching_of
from models.analysis.head_measures import KEYS, TENTHS, HeadExamples, key_ids
from models.catalogue import names
from models.lab import read, run, run_prompt
from models.loading import own
from models.nets.attention.selective import selection
from models.plan import HeadPlan
from models.storage.checkpoint import CHECKPOINTS, read_card
from models.storage.datasets import DATA
from models.tasks import TASKS, stories
from models.tasks.base import Task
from models.tasks.stories import StoriesCorpus, StoriesMetric, StoriesReader
from models.trace import row_entropy
from models.training.recipes import task_of
from studies import store
from studies.corpus import lengths, patching, word_pieces
from studies.corpus.examples import LONGEST, beginning
from studies.corpus.lengths import facts, measure, plans_of
from studies.corpus.word_pieces import pairs
from tests.models.tiny_pairs import make_lab


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
    """Tokens ascend in books and descend in stories; all differ, and books have three times as many."""

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
    """If one of them is measured again, so must be the other."""
    metric, found = read_card(CHECKPOINTS / name)["metric"], store.read(name, "length")
    assert found is not None
    of_card = {2 * int(n) + 1: value for n, value in metric.get("accuracy_by_events", {}).items()}
    of_card |= {int(n): value for n, value in metric.get("accuracy_by_length", {}).items()}
    of_page = found["readings"]["trained"]
    assert of_card == {n: of_page[str(n)]["accuracy"] for n in of_card} and len(of_card) >= 3


TEXT = "One day Emma saw a lantern. The bird looked at Emma and"


def test_pairs_and_numbers_of_word_pieces():
    """Pairs are the first pieces of names and words, and the numbers are those of the trace."""
    lab = own("stories-selective")
    ids = torch.tensor([lab.read(TEXT).ids])
    labels = [lab.task.labels[i] for i in ids[0].tolist()]
    found = {kind: [labels[i - 1:i + 1] for i in where[0].nonzero().flatten().tolist()]
             for kind, where in pairs(lab.task.labels, ids).items()}
    assert found["names"] == [[" Em", "ma"]] * 2
    assert found["others"] == [[" l", "ant"]]  # "ern" is the third piece of "lantern", so it is in no pair
    assert [" day", " Em"] in found["words"] and ["ma", " saw"] not in found["words"]
    measured = word_pieces.measure(lab.model, lab.task.labels, torch.tensor([lab.read(TEXT).ids]))
    trace = models.run(lab, TEXT)
    kinds = pairs(lab.task.labels, torch.tensor([trace.prompt.ids]))
    for layer, its in enumerate(measured["layers"]):
        mask_values = selection(torch.tensor(trace.scores["self"][layer][None]))[0]
        for kind, places in kinds.items():
            chosen = [float(mask_values[k, k - 1]) for k in places[0].nonzero().flatten().tolist()]
            assert its[kind] == pytest.approx([sum(chosen) / len(chosen)], abs=1e-3)
    assert measured["windows"] == 1 and measured["names"] == 2
    assert {its["name"] for its in measured["most"]} == {"Em|ma"}


def test_the_example_has_a_name_in_pieces():
    text = dict(StoriesReader.examples)["A name in pieces"]
    task = StoriesReader()
    assert pairs(task.labels, torch.tensor([task.read(text).ids]))["names"].any()


STUDIES = Path(__file__).resolve().parents[2] / "docs" / "studies.md"
MEASURED = ("assignment-softmax", "assignment-selective", "translation-softmax")


def test_assignments_differ_in_the_latest_value_of_the_variable():
    for first, second in itertools.islice(patching.assignment_pairs(3), 50):
        values = [dict(event.split("=") for event in text.split("; ")[:-1]) for text in (first, second)]
        asked = first.split("; ")[-1].removesuffix("=?")
        assert values[0][asked] != values[1][asked]
        assert sum(one != other for one, other in zip(first.split("; "), second.split("; "), strict=True)) == 1


def test_sentences_differ_in_one_word():
    pairs = list(patching.sentence_pairs(["He is my dog.", "I see a man.", "Nothing.", "A big car."], 0))
    assert pairs == [("I see a man.", "I see a woman.")]  # the other sentences have two such words or none


def test_removal_by_hand():
    lab = models.load("assignment-softmax")
    task = task_of(lab.name, DATA, Path("runs"))
    found = patching.measure(lab, task, argparse.Namespace(texts=3))
    usable = []
    for text, second in patching.assignment_pairs(patching.SEED):
        try:
            usable.append((text, patching_of(lab, read(lab, text, second))))
        except ValueError:
            continue
        if len(usable) == 6:
            break
    plan = HeadPlan()
    for kind, layer, head, share in found["named"]:
        mean = sum(float(result.restored[kind][layer, head]) for _, result in usable[:3]) / 3
        assert mean == pytest.approx(share, abs=1e-3) and mean >= patching.NAMED
        plan = plan.gate(kind, layer, head, 0.0)
    kept = [models.run(lab, text, plan).output.labels[0] == models.run(lab, text).output.labels[0]
            for text, _ in usable[3:]]
    assert found["without_named"] == pytest.approx(sum(kept) / 3)
    assert found["unmodified"] == 1 and len(found["without_random"]) == patching.DRAWS


@pytest.mark.parametrize("name", MEASURED)
def test_stored_numbers_follow_the_rule_and_are_in_the_document(name: str):
    found = store.read(name, "patching")
    assert found is not None and found["texts"] == 200
    assert found["necessary"] == patching.necessary(found["without_named"], found["without_random"], found["texts"])
    assert found["without_random_mean"] == pytest.approx(
        sum(found["without_random"]) / len(found["without_random"]), abs=1e-4)
    cells = (f"`{name}`", f"{len(found['named'])} of {found['heads']}", f"{100 * found['without_named']:.1f}%",
             f"{100 * found['without_random_mean']:.1f}%", f"{100 * min(found['without_random']):.1f}%",
             found["necessary"])
    assert f"| {' | '.join(cells)} |" in STUDIES.read_text("utf-8")


@pytest.mark.parametrize(("without", "least", "word"), [
    (0.37, 0.835, "yes"), (0.475, 0.9, "not decided"), (0.53, 0.9, "not decided"), (0.705, 0.9, "no"),
    (0.2, 0.5, "no")])
def test_heads_are_necessary_only_beyond_the_error(without: float, least: float, word: str):
    assert patching.necessary(without, [least, 0.95], 200) == word


TEXTS = ["Tom has a dog.", "I see the big red house.", "He is reading a book.", "We went home.", "Where are you now?",
         "It is late.", "My mother sings.", "They like tea.", "You know it.", "She runs fast.", "No."]


@pytest.mark.parametrize(("lab", "kind", "layer", "head"), [
    (models.load("stories-softmax"), "self", 2, 3), (models.load("masked-gau-relu2"), "self", 4, 0),
    (make_lab(), "cross", 1, 2), (make_lab(), "decoder", 0, 1)], ids=lambda its: getattr(its, "name", its))
def test_examples_equal_loops(lab: models.Lab, kind: str, layer: int, head: int):
    found = HeadExamples(lab.kind(kind), len(lab.task.labels))
    sure, entropies, weight, uniform = [], [], Counter[int](), Counter[int]()
    jobs: Counter[str] = Counter()
    for text in TEXTS:
        trace = run_prompt(lab, lab.anchored(lab.read(text)))
        ids = key_ids(trace, lab.kind(kind))
        found.add(lab, trace, ids)
        pattern = trace.weights[kind][layer, head]
        queries = trace.rows[lab.kind(kind).query_row]
        labels = [lab.task.labels[i] for i in ids]
        assert labels == list(trace.rows[lab.kind(kind).key_row])
        ids_of_queries = trace.prompt.ids if lab.kind(kind).query_row == "text" else trace.prompt.target  # type: ignore
        if lab.kind(kind).query_row == lab.kind(kind).key_row:
            jobs.update(job_of(pattern, queries, lab.kind(kind).causal))
        is_text, keys_text = lab.task.is_text(ids_of_queries), lab.task.is_text(ids.tolist())
        rows = []
        for n in range(len(queries)):
            if not is_text[n]:
                continue
            row = [float(its) / float(sum(pattern[n])) if sum(pattern[n]) else 0.0 for its in pattern[n]]
            rows.append((max(its for its, real in zip(row, keys_text, strict=True) if real),
                         -sum(its * math.log(its) for its in row if its > 0)))
            count = n + 1 if lab.kind(kind).causal else len(row)
            for i, (key, its) in enumerate(zip(ids.tolist(), row, strict=True)):
                weight[key] += its
                uniform[key] += 1 / count if i < count else 0
        sure.append(sum(its for its, _ in rows) / len(rows))
        entropies.append(sum(its for _, its in rows) / len(rows))
    result = found.of_head(layer, head)
    for name, values in (("confidence", sure), ("entropy", entropies)):
        assert result[f"{name}_values"] == pytest.approx([values[i] for i in result[name]], abs=2e-3)
        assert len(set(result[name])) == TENTHS and result[f"{name}_values"] == sorted(result[f"{name}_values"])
    assert result.get("jobs", {}) == pytest.approx({name: n / len(TEXTS) for name, n in jobs.items()}, abs=1e-3)
    best = weight.most_common(KEYS)
    total, even = sum(weight.values()), sum(uniform.values())
    assert result["shares"] == pytest.approx([its / total for _, its in best], abs=1e-3)
    assert result["times"] == pytest.approx([weight[key] / total / (uniform[key] / even) for key in result["keys"]],
                                            abs=0.02)


def job_of(pattern, tokens, causal: bool) -> list[str]:
    """Returns the pattern on which most of the weight lies, by loops; empty if none has 40%."""
    n, sums = len(tokens), {}
    for name in ("previous", "same", "first", "induction"):
        values = []
        for i in range(n):
            keys = [j for j in range(i + 1 if causal else n) if (
                j == i - 1 if name == "previous" else tokens[j] == tokens[i] and j != i if name == "same" else
                j == 0 < i if name == "first" else 0 < j <= i and tokens[j - 1] == tokens[i])]
            if keys:
                values.append(sum(float(pattern[i][j]) for j in keys) / max(1e-9, float(sum(pattern[i]))))
        sums[name] = sum(values) / len(values) if values else 0.0
    best = max(sums, key=sums.__getitem__)
    return [best] if sums[best] >= 0.4 else []


def test_beginnings_are_whole_sentences():
    assert beginning("A cat.  It\nsat.") == "A cat. It sat."
    long = "The cat sat on the mat and looked at the bird. " * 9
    assert beginning(long) == " ".join(["The cat sat on the mat and looked at the bird."] * 3)
    cut = beginning("word " * 99)
    assert cut.endswith("word") and LONGEST - 5 <= len(cut) <= LONGEST


def test_the_example_of_a_decile_is_its_middle_text():
    found = HeadExamples(models.load("stories-softmax").kinds[0], 2)
    found.confidences = [numpy.full((4, 8), value / 100) for value in range(100)]
    found.entropies = found.confidences[::-1]
    assert found.of_head(0, 0)["confidence"] == list(range(5, 100, 10))
    assert found.of_head(0, 0)["entropy"] == list(range(94, -1, -10))

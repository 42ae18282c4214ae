"""Examples of heads against loops over the attention patterns, and held-out texts."""

import math
from collections import Counter

import numpy
import pytest

import models
from models.analysis.head_examples import KEYS, TENTHS, HeadExamples, key_ids
from models.lab import run_prompt
from studies.corpus.examples import LONGEST, beginning
from tests.models.tiny_pairs import make_lab

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

"""Pairwise similarity of heads against loops, against models/nets/disagreement.py, and on whole models."""

import numpy
import pytest
import tiny
import tiny_pairs
import torch
from torch.nn import functional

from models.analysis.head_similarity import disagreement_of, of_text, of_trace, pairs
from models.nets.attention.base import Record
from models.nets.disagreement import TERMS, disagreement


def record() -> Record:
    random = torch.Generator().manual_seed(1)
    weights = (2 * torch.randn(2, 3, 5, 5, generator=random)).softmax(-1)
    values = torch.randn(2, 3, 5, 4, generator=random)
    outputs = weights @ values
    return Record(weights, None, weights, weights, outputs.norm(dim=-1), None, values, outputs)


@pytest.mark.parametrize("term", TERMS)
def test_pairs(term: str):
    """Each entry equals a loop, and the mean of all entries is the negative disagreement. A head has similarity 1 with
    itself."""
    its = record()
    found = pairs(its, term)
    vectors = {"sub": its.values, "out": its.outputs, "pos": its.live}[term]
    for i, j in ((0, 0), (0, 2), (2, 1)):
        entries = [float(vectors[b, i, n] @ vectors[b, j, n]) if term == "pos" else
                   float(functional.cosine_similarity(vectors[b, i, n], vectors[b, j, n], dim=0))
                   for b in range(2) for n in range(5)]
        assert float(found[i, j]) == pytest.approx(sum(entries) / 10, rel=1e-5)
    exist = torch.ones(2, 5, dtype=torch.bool)
    assert float(found.mean()) == pytest.approx(-float(disagreement(its, term, exist, exist)), rel=1e-5)
    if term != "pos":
        assert found.diagonal().tolist() == pytest.approx([1.0] * 3)


def test_of_a_text():
    lab = tiny.make_lab("softmax")
    prompt = lab.read(tiny.TEXT)
    found = of_text(lab, prompt)
    (trace,) = lab.run(prompt, [tiny.NO_INTERVENTION])
    assert {term: its.shape for term, its in found["self"].items()} == dict.fromkeys(TERMS, (2, 4, 4))
    numpy.testing.assert_allclose(found["self"]["pos"], of_trace(trace)["self"]["pos"], rtol=1e-4)
    records: list[Record] = []
    lab.model(torch.tensor([prompt.ids]), records=records)
    exist = torch.ones(1, len(prompt.ids), dtype=torch.bool)
    for term in TERMS:
        expected = sum(float(disagreement(its, term, exist, exist)) for its in records) / len(records)
        assert disagreement_of(found, term) == pytest.approx(expected, rel=1e-4)


def test_of_two_texts():
    lab = tiny_pairs.make_lab()
    found = of_text(lab, lab.anchored(lab.read(tiny_pairs.TEXT_TYPED)))
    assert {kind: its["sub"].shape for kind, its in found.items()} == {
        "encoder": (3, 4, 4), "decoder": (2, 4, 4), "cross": (2, 4, 4)}
    for term in TERMS:
        assert -1 <= disagreement_of(found, term) < 0

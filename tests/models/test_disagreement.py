"""Disagreement and similarity of heads against loops over all pairs of heads, with padding and in training."""

import math

import numpy
import pytest
import tiny
import tiny_pairs
import torch
from torch import Tensor
from torch.nn import functional

from models.analysis.head_similarity import disagreement_of, of_text, of_trace, pairs
from models.nets.attention.base import Record
from models.nets.disagreement import TERMS, disagreement, total

B, H, N, M, D = 3, 4, 5, 7, 8


def record_of(weights: Tensor, values: Tensor) -> Record:
    outputs = weights @ values
    return Record(weights, None, weights, weights, outputs.norm(dim=-1), None, values, outputs)


def random_record(seed: int = 0) -> Record:
    random = torch.Generator().manual_seed(seed)
    weights = (2 * torch.randn(B, H, N, M, generator=random)).softmax(-1)
    return record_of(weights, torch.randn(B, H, M, D, generator=random))


EVERYWHERE = torch.ones(B, N, dtype=torch.bool), torch.ones(B, M, dtype=torch.bool)


def by_loops(record: Record, term: str, queries: Tensor, keys: Tensor) -> float:
    """Returns -1/H² times the sum over all pairs of heads, token by token (Li et al. 2018, eq. 4 to 6)."""
    terms = []
    rows = keys if term == "sub" else queries
    for text in range(len(queries)):
        for token in range(rows.shape[1]):
            if not rows[text, token]:
                continue
            together = 0.0
            for i in range(H):
                for j in range(H):
                    if term == "pos":
                        together += float((record.live[text, i, token].double() *
                                           record.live[text, j, token].double()).abs().sum())
                        continue
                    vectors = (record.values if term == "sub" else record.outputs)[text, :, token].double()
                    together += float(vectors[i] @ vectors[j] / (vectors[i].norm() * vectors[j].norm()))
            terms.append(-together / H**2)
    return math.fsum(terms) / len(terms)


@pytest.mark.parametrize("term", TERMS)
def test_it_is_the_mean_over_pairs_of_heads(term: str):
    record = random_record()
    queries, keys = (torch.rand(which.shape, generator=torch.Generator().manual_seed(3)) < 0.7 for which in EVERYWHERE)
    for exist in (EVERYWHERE, (queries, keys)):
        assert disagreement(record, term, *exist).item() == pytest.approx(by_loops(record, term, *exist), rel=1e-5)
    assert by_loops(record, term, queries, keys) != pytest.approx(by_loops(record, term, *EVERYWHERE), rel=1e-3)


def test_the_total():
    layers = [(random_record(seed), *EVERYWHERE) for seed in (1, 2, 3)]
    expected = sum(by_loops(record, term, *EVERYWHERE) / 3 for record, *_ in layers for term in ("sub", "out"))
    assert total(layers, ("sub", "out")).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("term", TERMS)
def test_climbing_makes_heads_differ(term: str):
    """A few steps along the gradient, from nearly identical heads, increase the disagreement."""
    random = torch.Generator().manual_seed(0)
    alike = 3 * torch.randn(B, 1, N, M, generator=random)
    scores = (alike + 0.1 * torch.randn(B, H, N, M, generator=random)).requires_grad_()
    values = (torch.ones(B, H, M, D) + 0.1 * torch.randn(B, H, M, D, generator=random)).requires_grad_()
    optimiser, history = torch.optim.Adam([scores, values], lr=0.1), []
    for _ in range(60):
        value = disagreement(record_of(scores.softmax(-1), values), term, *EVERYWHERE)
        history.append(value.item())
        optimiser.zero_grad()
        (-value).backward()
        optimiser.step()
    assert history[-1] > 0.6 * history[0]


@pytest.mark.parametrize("term", TERMS)
def test_pairs(term: str):
    """Their mean is the negative disagreement; a head has similarity 1 with itself."""
    its = random_record()
    found = pairs(its, term)
    vectors = {"sub": its.values, "out": its.outputs, "pos": its.live}[term]
    for i, j in ((0, 0), (0, 2), (2, 1)):
        entries = [float(vectors[b, i, n] @ vectors[b, j, n]) if term == "pos" else
                   float(functional.cosine_similarity(vectors[b, i, n], vectors[b, j, n], dim=0))
                   for b in range(B) for n in range(vectors.shape[2])]
        assert float(found[i, j]) == pytest.approx(sum(entries) / len(entries), rel=1e-5)
    assert float(found.mean()) == pytest.approx(-float(disagreement(its, term, *EVERYWHERE)), rel=1e-5)
    if term != "pos":
        assert found.diagonal().tolist() == pytest.approx([1.0] * H)


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

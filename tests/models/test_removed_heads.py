"""Models without some heads give the same results as with gates of 0, with fewer multiplications."""

import pytest
import tiny
import tiny_pairs
import torch
from torch.testing import assert_close

from models.generate.seq2seq_decoding import write
from models.nets.head_removal import Nothing, multiplications, without
from models.plan import HeadPlan

CLOSED = {
    "some": [(0, 1), (1, 0), (1, 3)], "the first ones": [(0, 0), (1, 0), (1, 1)],
    "one layer": [(0, 0), (0, 1), (0, 2), (0, 3), (1, 2)], "all": [(a, b) for a in (0, 1) for b in range(4)]}
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize("which", CLOSED)
@tiny.either_way
def test_logits_are_those_of_gates_of_0(attention: str, causal: bool, which: str):
    lab = tiny.make_lab(attention, causal)
    closed = {tiny.address(lab, *its) for its in CLOSED[which]}
    ids = tiny.random_ids(2, 20)
    interventions = lab.interventions(HeadPlan().with_heads(closed, gate=0.0), 20)
    expected = lab.model.logits(lab.model(ids, interventions))
    before = {name: tensor.clone() for name, tensor in lab.model.state_dict().items()}
    smaller = without(lab.model, closed)
    assert_close(smaller.logits(smaller(ids)), expected, **CLOSE)
    assert multiplications(smaller, ids[:1]) < multiplications(lab.model, ids[:1])
    assert all(torch.equal(tensor, before[name]) for name, tensor in lab.model.state_dict().items())
    with pytest.raises(AssertionError):  # the unmodified model has other results
        assert_close(lab.model.logits(lab.model(ids)), expected, **CLOSE)


@tiny_pairs.every_type
def test_of_two_texts(attention: str):
    """Heads are removed in all three blocks, and generation with cached keys and values gives the same text."""
    lab = tiny_pairs.make_lab(attention)
    closed = {("encoder", 0, 1), ("encoder", 2, 0), ("decoder", 0, 0), ("decoder", 0, 2), ("cross", 0, 3),
              *(("cross", 1, head) for head in range(4)), *(("encoder", 1, head) for head in range(4))}
    texts, targets = tiny_pairs.random_pairs(3, 12, 9)
    plan = HeadPlan().with_heads(closed, gate=0.0)
    expected = lab.model.logits(lab.model(texts, targets, lab.interventions(plan, 12, 9)))
    smaller = without(lab.model, closed)
    found = smaller.logits(smaller(texts, targets))
    assert_close(found[targets != tiny_pairs.PADDING], expected[targets != tiny_pairs.PADDING], **CLOSE)
    assert isinstance(smaller.attentions("encoder")[1], Nothing)
    prompt = lab.read(tiny_pairs.TEXT_TYPED)
    assert write(smaller, [prompt.ids], 3, limit=lab.limit)[0].ids == lab.translate(prompt, plan, beam=3)


def test_multiplications_are_counted_by_hand():
    """Softmax attention has four projections of C by D per head and token. It also has two products of N by D per head
    and query."""
    lab = tiny.make_lab("softmax")
    n, width = 20, tiny.WIDTH
    ids = tiny.random_ids(1, n)
    head = n * 4 * width * (width // 4) + 2 * n * n * (width // 4)
    rest = tiny.LAYERS * n * 8 * width**2 + n * width * lab.model.config.vocabulary
    for closed in ([], CLOSED["some"], CLOSED["all"]):
        smaller = without(lab.model, [("self", *its) for its in closed])
        assert multiplications(smaller, ids) == rest + (8 - len(closed)) * head

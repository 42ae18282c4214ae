"""Relevance is conserved and equals that of the same rules written as plain loops."""

import pytest
import torch
from tiny import make_model, prompt_of, random_ids
from tiny_pairs import TEXT_TYPED, make_lab
from torch.testing import assert_close

from models.analysis.relevance import HeadRelevance, applies, propagated, relevance_of, shares
from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.plan import HeadPlan
from models.tasks.assignment import AssignmentReader

WITHIN = sorted(name for name in TYPES if not name.startswith("gau-"))


def stack(attention: str) -> StackLab:
    return StackLab(attention, AssignmentReader(), make_model(attention), {}, {})


@pytest.mark.parametrize("attention", WITHIN)
def test_relevance_is_conserved(attention: str):
    """The relevance of the embeddings sums to the logit, within 1e-4 of the largest logit."""
    lab = stack(attention)
    prompt = prompt_of(random_ids(1, 9)[0])
    top, relevance, reached = propagated(lab, prompt, range(9))
    hidden = lab.model(torch.tensor([prompt.ids]))
    expected = lab.model.logits(hidden)[0].max(-1).values
    assert_close(top, expected, rtol=1e-4, atol=1e-4)
    assert (reached - top).abs().max() <= 1e-4 * top.abs().max()
    assert relevance["self"].shape == (9, *lab.shape["self"]) and (relevance["self"] != 0).any()


def test_against_the_rules_in_loops():
    """Each step divides the relevance of v among its terms W u; the norm's scale and the MLP's ratios are constant."""
    lab = stack("softmax")
    prompt = prompt_of(random_ids(1, 5)[0])
    top, relevance, _ = propagated(lab, prompt, [4])
    model, records = lab.model.double(), []
    with torch.no_grad():
        x = list(model.states(torch.tensor([prompt.ids]), records=records))[-2]  # input of the last block
        block = model.blocks[-1]
        outputs = records[-1].outputs[0]  # shape (H, N, D)
        written = block.attention.output(outputs.transpose(0, 1).flatten(1))[4]  # output of W_O at the last token
        middle = x[0, 4] + written
        up = block.up(block.mlp_norm(middle))
        passed = torch.nn.functional.gelu(up, approximate="tanh") / up
        last = middle + block.down(up * passed)
        scale = (last.square().mean() + torch.finfo(torch.float64).eps).rsqrt() * model.norm.weight
        token = int(model.logits(model.norm(last)).argmax())
        row = model.embedding.weight[token] * model.config.output_scale
        share = row * scale  # ratio of relevance to value, of the last hidden state
        norm = (middle.square().mean() + torch.finfo(torch.float64).eps).rsqrt() * block.mlp_norm.weight
        through = torch.zeros_like(middle)
        for neuron in range(len(up)):  # relevance of each neuron of the MLP, then of the neuron's inputs
            arrived = (block.down.weight[:, neuron] * share).sum() * passed[neuron]
            through += arrived * block.up.weight[neuron] * norm
        # the same ratio for the hidden state between attention and MLP: the sum of the MLP path and the residual path
        share = share + through
        width = outputs.shape[-1]
        expected = []
        for head in range(len(outputs)):
            matrix = block.attention.output.weight[:, head * width:(head + 1) * width]
            expected.append(sum(float(outputs[head, 4, d] * (matrix[:, d] * share).sum()) for d in range(width)))
    model.float()
    assert_close(relevance["self"][0, -1], torch.tensor(expected, dtype=torch.float32), rtol=1e-3, atol=1e-4)
    assert float(top[0]) == pytest.approx(float((last * row * scale).sum()), rel=1e-4)


@pytest.mark.parametrize("attention", ["softmax", "selective", "random-softmax"])
def test_relevance_of_a_contrast(attention: str):
    """It sums to the difference of the two logits, under a plan, and in a model of two texts."""
    two = make_lab(attention)
    one = stack(attention)
    plan = HeadPlan().gate("self", 0, 1, 0.5).gate("self", 1, 0, 0.0)
    cases = ((one, prompt_of(random_ids(1, 9)[0]), plan),
             (two, two.anchored(two.read(TEXT_TYPED)), HeadPlan().constant("encoder", 0, 1).gate("cross", 1, 0, 0.3)))
    for lab, prompt, changes in cases:
        first, second, contrast = (relevance_of(lab, prompt, changes, 4, *tokens)
                                   for tokens in ((5, None), (7, None), (5, 7)))
        logits = lab.writes(prompt, changes, 4).logits
        assert contrast.total == pytest.approx(float(logits[5] - logits[7]), abs=1e-4)
        assert arrived(contrast) == pytest.approx(contrast.total, abs=1e-4)
        for kind, values in contrast.heads.items():
            assert_close(values, first.heads[kind] - second.heads[kind], rtol=1e-3, atol=1e-5)
        for row, values in contrast.rows.items():
            assert_close(values, first.rows[row] - second.rows[row], rtol=1e-3, atol=1e-5)
    assert relevance_of(one, cases[0][1], HeadPlan(), 4).heads["self"] == pytest.approx(
        propagated(one, cases[0][1], [4])[1]["self"][0].numpy(), abs=1e-6)
    assert contrast.rows.keys() == {"text", "target"} and all(values.any() for values in contrast.rows.values())


def arrived(relevance: HeadRelevance) -> float:
    """Returns the relevance of all embeddings."""
    return float(sum(values.sum() for values in relevance.rows.values()))


def test_relevance_does_not_pass_through_a_patch():
    lab = stack("softmax")
    ids = random_ids(2, 9)
    prompt = prompt_of(ids[0]).with_source(prompt_of(ids[1]))
    whole = relevance_of(lab, prompt, HeadPlan(), 8)
    patched = relevance_of(lab, prompt, HeadPlan().patch("self", 1, 0), 8)
    assert arrived(whole) == pytest.approx(whole.total, rel=1e-4) and abs(arrived(patched) / patched.total - 1) > 1e-3


def test_shares():
    lab = stack("softmax")
    prompt = prompt_of(random_ids(1, 9)[0])
    found = shares(lab, prompt, [3, 8])["self"]
    assert_close(found.sum(-1), torch.ones(len(found)))
    _, relevance, _ = propagated(lab, prompt, [3, 8])
    by_hand = torch.stack([its.abs() / its.abs().sum(-1, keepdim=True) for its in relevance["self"]]).mean(0)
    assert_close(found, by_hand)


def test_units_that_multiply_are_left_out():
    lab = stack("gau-softmax")
    assert not applies(lab) and applies(stack("softmax")) and applies(make_lab())
    with pytest.raises(ValueError, match="not made of sums"):
        propagated(lab, prompt_of(random_ids(1, 5)[0]), [4])

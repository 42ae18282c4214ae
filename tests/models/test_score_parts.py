"""Parts of scores and relevance: sums equal the model in float64, single parts equal parts computed by hand."""

import copy
import math
from dataclasses import replace

import numpy
import pytest
import tiny_pairs
import torch
from foreign_tiny import TEXT as FOREIGN_TEXT
from foreign_tiny import lab_of
from tiny import make_lab, make_model, prompt_of, random_ids
from tiny_pairs import TEXT_TYPED
from torch.testing import assert_close

import models
from models.analysis.relevance import HeadRelevance, applies, propagated, relevance_of, shares
from models.errors import InputError, StructureError
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.nets.attention.base import Record
from models.nets.config import START
from models.plan import HeadPlan
from models.prompt import TargetPrompt
from models.tasks.assignment import AssignmentReader

PLANS = (HeadPlan(), HeadPlan().gate("self", 0, 1, 0.0).constant("self", 0, 2), HeadPlan().with_scale("logn", 6))


def exact(lab: StackLab | Seq2SeqLab) -> models.Lab:
    """Returns a Lab with the same model, which computes in float64."""
    return replace(lab, model=copy.deepcopy(lab.model).double())


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize(("attention", "causal"), [("softmax", True), ("softmax", False), ("selective", True),
                                                  ("scalable-softmax", True), ("temperature", True), ("log-n", False)])
def test_every_split_sums_to_the_score(attention: str, causal: bool, plan: HeadPlan):
    if plan.scale.policy not in TYPES[attention].policies:
        plan = HeadPlan()
    lab = exact(make_lab(attention, causal))
    prompt = prompt_of(random_ids(1, 12)[0])
    records: list[Record] = []
    lab.model(torch.tensor([prompt.ids]), lab.interventions(plan, 12), records)
    for layer, query, key in ((0, 5, 2), (1, 11, 0), (1, 7, 7)):
        for head in range(lab.kinds[0].heads):
            parts = lab.score_parts(prompt, plan, ("self", layer, head), query, key)
            score = float(records[layer].scores[0, head, query, key])
            for total in (parts.score, parts.dimensions.sum(), parts.content + parts.position, parts.writers.sum()):
                assert float(total) == pytest.approx(score, abs=1e-6)  # the factors on the scores are float32
            assert parts.weight == pytest.approx(float(records[layer].live[0, head, query, key]), abs=1e-12)
            assert len(parts.key_names) == len(parts.writers) == (1 if layer == 0 else 2 + lab.kinds[0].heads)


def test_one_part_by_hand():
    """The embedding's part is the score from the embedding alone, at the norm of the whole hidden state."""
    lab = exact(make_lab("softmax"))
    ids = random_ids(1, 12)[0].tolist()
    parts = lab.score_parts(prompt_of(torch.tensor(ids)), HeadPlan(), ("self", 1, 2), 9, 9)
    states = list(lab.model.states(torch.tensor([ids])))[1][0, 9]
    norm, source = lab.model.blocks[1].attention_norm, lab.model.blocks[1].attention.source
    rms = states.square().mean().add(torch.finfo(torch.float64).eps if norm.eps is None else norm.eps).sqrt()
    embedding = lab.model.embedding.weight[ids[9]] / rms * norm.weight
    query, key = ((matrix.weight @ embedding).unflatten(0, (lab.kinds[0].heads, -1))[2]
                  for matrix in (source.query, source.key))
    # at distance 0 the rotations of query and key cancel
    assert float(parts.writers[0, 0]) == pytest.approx(float(query @ key) * len(query) ** -0.5, abs=1e-6)
    assert parts.position == pytest.approx(0, abs=1e-6)


def test_selective_attention_subtracts_f():
    lab = models.load("stories-selective")
    trace = models.run(lab, "The girl was sad because her toy was lost.")
    parts = lab.score_parts(trace.prompt, HeadPlan(), ("self", 1, 2), 8, 3)
    assert trace.mask is not None
    assert parts.masking == pytest.approx(float(trace.mask[1, 8, 3]), abs=1e-5)
    assert parts.score == pytest.approx(float(trace.scores["self"][1, 2, 8, 3]), abs=1e-4)


@pytest.mark.parametrize(("attention", "reason"), [
    ("random", "from a table"), ("dense", "from the query alone"), ("factorized-dense", "from the query alone"),
    ("fixed-random", "from a table"), ("factorized-random", "from a table"),
    ("dense-softmax", "mixes scores"), ("gau-softmax", "shares queries and keys")])
def test_scores_without_query_and_key_are_named(attention: str, reason: str):
    with pytest.raises(StructureError, match=reason):
        make_lab(attention).score_parts(prompt_of(random_ids(1, 8)[0]), HeadPlan(), ("self", 0, 0), 3, 1)


@pytest.mark.parametrize("plan", [HeadPlan(), HeadPlan().gate("cross", 0, 1, 0.0).constant("encoder", 0, 2)], ids=str)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_encoder_decoders(kind: str, plan: HeadPlan):
    """Every split sums to the recorded score; the key of cross-attention has the parts of the encoder's output."""
    lab = exact(tiny_pairs.make_lab())
    prompt = TargetPrompt.of(prompt_of(tiny_pairs.random_pairs(1, 9, 4)[0][0]), (START, 5, 9, 7))
    trace = lab.run(prompt, [plan])[0]
    layers, heads = lab.shape[kind]
    for layer, head in numpy.ndindex(layers, heads):
        parts = lab.score_parts(prompt, plan, (kind, layer, head), 3, 2)
        score = float(trace.scores[kind][layer, head, 3, 2])
        for total in (parts.score, parts.dimensions.sum(), parts.content + parts.position, parts.writers.sum()):
            assert float(total) == pytest.approx(score, abs=1e-5)
        assert parts.weight == pytest.approx(float(trace.live[kind][layer, head, 3, 2]), abs=1e-6)
        assert parts.writers.shape == (len(parts.query_names), len(parts.key_names))
        assert parts.rotates == (kind != "cross") == (parts.position != 0)
        blocks = {name[0] for name in parts.key_names if isinstance(name, tuple)}
        assert blocks <= ({"encoder"} if kind != "decoder" else {"decoder", "cross"})
        if kind == "cross":
            assert ("decoder", layer, 0) in parts.query_names and ("cross", layer, 0) not in parts.query_names
            assert ("encoder", lab.shape["encoder"][0] - 1, 0) in parts.key_names


def test_one_part_of_a_cross_attention_key_by_hand():
    """The last encoder layer's MLP, through the encoder's last norm at its scale and through W_k."""
    lab = exact(tiny_pairs.make_lab())
    prompt = TargetPrompt.of(prompt_of(tiny_pairs.random_pairs(1, 9, 4)[0][0]), (START, 5, 9, 7))
    taken = {}
    last, cross = lab.model.encoder[-1], lab.model.decoder[1]
    hooks = [last.down.register_forward_hook(lambda module, inputs, output: taken.update(mlp=output[0, 4])),
             lab.model.encoder_norm.register_forward_pre_hook(lambda module, inputs: taken.update(x=inputs[0][0, 4])),
             cross.cross_norm.register_forward_hook(lambda module, inputs, output: taken.update(query=output[0, 2]))]
    lab.run(prompt, [HeadPlan()])
    for hook in hooks:
        hook.remove()
    norm = lab.model.encoder_norm
    eps = torch.finfo(torch.float64).eps if norm.eps is None else norm.eps
    key = cross.cross.source.key.weight @ (taken["mlp"] * norm.weight / (taken["x"].square().mean() + eps).sqrt())
    query = cross.cross.source.query.weight @ taken["query"]
    heads = lab.shape["cross"][1]
    expected = (query * key).unflatten(0, (heads, -1)).sum(1) * (len(query) / heads) ** -0.5
    for head in range(heads):
        parts = lab.score_parts(prompt, HeadPlan(), ("cross", 1, head), 2, 4)
        assert float(parts.writers.sum(0)[-1]) == pytest.approx(float(expected[head]), abs=1e-6)
        assert parts.key_names[-1] == f"mlp {lab.shape['encoder'][0] - 1}"


@pytest.mark.parametrize("name", ["gpt2", "bert", "mistral", "t5", "t5gemma", "marian", "gpt_oss", "qwen3"])
@pytest.mark.parametrize("plan", [HeadPlan(), HeadPlan().with_scale("logn", 6)], ids=str)
def test_imported_models(name: str, plan: HeadPlan):
    """Dimensions and what the model adds sum to the recorded score."""
    lab = lab_of(name)
    trace = models.run(lab, FOREIGN_TEXT, plan)
    for kind, (layers, heads) in lab.shape.items():
        for layer, head in ((0, heads - 1), (layers - 1, 0)):
            parts = lab.score_parts(trace.prompt, plan, (kind, layer, head), 3, 2)
            score = float(trace.scores[kind][layer, head, 3, 2])
            assert parts.content + parts.position == pytest.approx(score, abs=1e-5)
            assert float(parts.dimensions.sum()) == pytest.approx(parts.content, abs=1e-9)
            assert parts.weight == pytest.approx(float(trace.live[kind][layer, head, 3, 2]), abs=1e-6)
            assert not parts.key_names and not parts.rotates
            if name == "t5" and kind != "cross":  # a bias for the distance
                assert abs(parts.position) > 1e-3
            else:
                cap = lab.model.config.encoder.attn_logit_softcapping if name == "t5gemma" else math.inf
                capped = cap * math.tanh(parts.content / cap) if cap < math.inf else parts.content
                assert parts.content + parts.position == pytest.approx(capped, abs=2e-5)  # scores are float32


def test_dimensions_of_an_imported_model_by_hand():
    """GPT-2's queries and keys are two thirds of the output of c_attn."""
    lab = lab_of("gpt2")
    prompt, block = lab.read(FOREIGN_TEXT), lab.model.transformer.h[1].attn
    taken = {}
    hook = block.c_attn.register_forward_hook(lambda module, inputs, output: taken.update(qkv=output[0]))
    parts = lab.score_parts(prompt, HeadPlan(), ("self", 1, 1), 5, 2)
    hook.remove()
    query, key, _ = taken["qkv"].chunk(3, -1)
    width = len(parts.dimensions)
    rows = slice(width, 2 * width)
    expected = query[5, rows] * key[2, rows] / width**0.5
    numpy.testing.assert_allclose(parts.dimensions, expected.detach(), atol=1e-6)


def test_unseen_keys_and_models_without_queries_are_refused():
    lab = make_lab("softmax")
    for query, key in ((2, 5), (99, 0), (-1, 0)):
        with pytest.raises(InputError, match="does not attend"):
            lab.score_parts(prompt_of(random_ids(1, 8)[0]), HeadPlan(), ("self", 0, 0), query, key)
    with pytest.raises(StructureError, match="more than one product of query and key"):
        lab_of("deberta").score_parts(lab_of("deberta").read(FOREIGN_TEXT), HeadPlan(), ("self", 0, 0), 3, 2)
    with pytest.raises(InputError, match="does not attend"):
        lab_of("gpt2").score_parts(lab_of("gpt2").read(FOREIGN_TEXT), HeadPlan(), ("self", 0, 0), 3, 5)


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
    two = tiny_pairs.make_lab(attention)
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
    assert not applies(lab) and applies(stack("softmax")) and applies(tiny_pairs.make_lab())
    with pytest.raises(ValueError, match="not made of sums"):
        propagated(lab, prompt_of(random_ids(1, 5)[0]), [4])

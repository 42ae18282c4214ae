"""Logit lens and direct logit attribution equal the model's output, plain hooks, and sums computed by hand."""

import numpy
import pytest
import torch
from foreign_tiny import eager_of, lab_of
from tiny import TEXT, all_heads, either_way, make_lab, prompt_of, random_ids
from tiny_pairs import TEXT_TYPED, every_type
from tiny_pairs import make_lab as make_pair_lab
from torch import Tensor

import models
from models.analysis.answer.head_attribution import HeadAttribution, HeadPatching, attribution_of, patching_of
from models.analysis.answer.logit_lens import lens_of
from models.errors import InputError, StructureError
from models.lab import read
from models.plan import HeadPlan
from models.prompt import TargetPrompt

LENSES = ("bert", "roberta", "albert", "mpnet", "deberta-v2", "gpt2", "gpt_neox", "gpt_neo", "llama", "gemma3_text")
ADDERS = ("gpt2", "gpt_neox", "gpt_neo", "llama", "mistral", "phi3", "qwen3")
OTHER = "y=2; x=4; x=9; y=?; z=1; x=?"


def parts_of(attribution: HeadAttribution) -> float:
    return float(sum(values.sum() for values in attribution.heads.values()) + sum(attribution.rest.values()))


@either_way
def test_the_lens_of_a_stack(attention: str, causal: bool):
    """A layer's prediction is the final norm and unembedding of the hidden state after the layer."""
    lab = make_lab(attention, causal)
    ids = random_ids(1, 12)[0]
    plan = all_heads(lab, gate=0.7).constant("self", 0, 0)
    lens = lens_of(lab, prompt_of(ids), plan, k=4)
    assert lens.probabilities.shape == lens.labels.shape == lens.ids.shape == (3, 12, 4)
    assert lens.positions.tolist() == list(range(12)) and lens.first.shape == (12,)
    states = list(lab.model.states(ids[None], lab.interventions(plan, 12)))
    states[:2] = [lab.model.norm(state) for state in states[:2]]
    for layer, state in enumerate(states):
        expected = lab.model.logits(state[0]).softmax(-1)
        numpy.testing.assert_allclose(lens.probabilities[layer], expected.topk(4).values, atol=1e-5)
        numpy.testing.assert_array_equal(lens.final[layer] == lens.probabilities[layer, :, 0],
                                         expected.argmax(-1) == lens.ids[-1, :, 0])
    trace = lab.run(prompt_of(ids), [plan])[0]
    for position, output in enumerate(trace.outputs):
        numpy.testing.assert_allclose(lens.probabilities[-1, position], output.probabilities[:4], atol=1e-6)
        assert lens.labels[-1, position, 0] == output.labels[0]
        leads = [layer for layer in range(3) if lens.ids[layer, position, 0] == lens.ids[-1, position, 0]]
        assert lens.first[position] == leads[0]


@every_type
def test_the_lens_of_a_translation(attention: str):
    """The lens covers the decoder's tokens. With a teacher-forced target both plans have the same tokens."""
    lab = make_pair_lab(attention)
    plan = HeadPlan().gate("cross", 1, 2, 0.0).gate("encoder", 0, 1, 0.5)
    lens = models.logit_lens(lab, TEXT_TYPED, plan)
    trace = models.run(lab, TEXT_TYPED, plan)
    assert lens.tokens == trace.rows["target"] and lens.probabilities.shape == (3, len(lens.tokens), 5)
    for position, output in enumerate(trace.outputs):
        numpy.testing.assert_allclose(lens.probabilities[-1, position], output.probabilities[:5], rtol=1e-5, atol=1e-6)
    anchored = lab.anchored(lab.read(TEXT_TYPED))
    assert lens_of(lab, anchored, plan).tokens == lens_of(lab, anchored).tokens


@pytest.mark.parametrize("name", LENSES)
def test_the_lens_of_an_imported_model(name: str):
    lab = lab_of(name)
    text, plan = "The cat sat on the [mat].", HeadPlan().gate("self", 0, 1, 0.3)
    lens, trace = models.logit_lens(lab, text, plan), models.run(lab, text, plan)
    numpy.testing.assert_allclose(lens.probabilities[-1, -1], trace.output.probabilities[:5], atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama"])
def test_early_layers_of_an_imported_model(name: str):
    """The lens applies the final norm, if the model has one, and the LM head to transformers' own hidden states."""
    lab, eager = lab_of(name), eager_of(name)
    prompt = lab.read("The cat sat on the [mat].")
    lens = lens_of(lab, prompt)
    head = {"gpt2": lambda x: eager.lm_head(eager.transformer.ln_f(x)), "bert": lambda x: eager.cls(x),
            "llama": lambda x: eager.lm_head(eager.model.norm(x))}[name]
    with torch.no_grad():
        states = eager(**lab.task.inputs(prompt), output_hidden_states=True).hidden_states
        for layer in (0, 1):
            expected = head(states[layer])[0, lens.positions.tolist()].softmax(-1).topk(5)
            numpy.testing.assert_allclose(lens.probabilities[layer], expected.values, atol=1e-5)


@either_way
def test_attribution_of_a_stack_sums_to_the_logit(attention: str, causal: bool):
    lab = make_lab(attention, causal)
    ids = random_ids(1, 12)[0]
    plan = all_heads(lab, gate=0.7).constant("self", 0, 0)
    logits = lab.model.logits(lab.model(ids[None], lab.interventions(plan, 12))[0])
    for position in (3, 11):
        found = attribution_of(lab, prompt_of(ids), plan, position=position)
        assert found.token == int(logits[position].argmax()) and found.position == position
        assert found.heads["self"].shape == lab.shape["self"]
        assert found.total == pytest.approx(float(logits[position].max()), abs=1e-4)
        assert parts_of(found) == pytest.approx(found.total, abs=1e-4)
    found = attribution_of(lab, prompt_of(ids), plan, token=5, against=9)
    assert found.total == pytest.approx(float(logits[-1, 5] - logits[-1, 9]), abs=1e-4)
    assert parts_of(found) == pytest.approx(found.total, abs=1e-4)
    assert attribution_of(lab, prompt_of(ids), plan, token=5, against=5).total == 0


@either_way
def test_attribution_against_hooks(attention: str, causal: bool):
    """A contribution is the logit of the head's slice of the input of W_O, at the scale of the final norm."""
    lab = make_lab(attention, causal)
    ids = random_ids(1, 12)[0]
    inputs: list[Tensor] = []
    last: list[Tensor] = []
    handles = [block.attention.output.register_forward_pre_hook(lambda module, given: inputs.append(given[0]))
               for block in lab.model.blocks]
    handles.append(lab.model.norm.register_forward_pre_hook(lambda module, given: last.append(given[0])))
    lab.model(ids[None])
    for handle in handles:
        handle.remove()
    scale = (last[0][0, 7].square().mean() + torch.finfo(torch.float32).eps).rsqrt() * lab.model.norm.weight
    found = attribution_of(lab, prompt_of(ids), token=3, position=7)
    layers, heads = lab.shape["self"]
    for layer in range(layers):
        width = inputs[layer].shape[-1] // heads
        for head in range(heads):
            alone = torch.zeros_like(inputs[layer][0, 7])
            alone[head * width:(head + 1) * width] = inputs[layer][0, 7, head * width:(head + 1) * width]
            written = lab.model.blocks[layer].attention.output(alone)
            expected = float(lab.model.logits(written * scale)[3])
            assert found.heads["self"][layer, head] == pytest.approx(expected, abs=1e-4)


@every_type
def test_attribution_of_a_translation(attention: str):
    """Heads of the encoder affect the decoder only through cross-attention, so their direct contribution is 0."""
    lab = make_pair_lab(attention)
    plan = HeadPlan().gate("cross", 1, 2, 0.0)
    trace = models.run(lab, TEXT_TYPED, plan)
    found = models.head_attribution(lab, TEXT_TYPED, plan)
    assert {kind: values.shape for kind, values in found.heads.items()} == lab.shape
    assert found.token == int(trace.outputs[-1].order[0]) and not found.heads["encoder"].any()
    assert parts_of(found) == pytest.approx(found.total, abs=1e-4)
    assert found.heads["cross"][1, 2] == 0 != found.heads["cross"][1, 1]
    target = TargetPrompt.of(lab.read(TEXT_TYPED), (0, 20, 30))
    ids = torch.tensor([target.ids]), torch.tensor([target.target])
    logits = lab.model.logits(lab.model(*ids))[0, 1]
    other = attribution_of(lab, target, token=40, against=50, position=1)
    assert other.total == pytest.approx(float(logits[40] - logits[50]), abs=1e-4)


@pytest.mark.parametrize("name", ADDERS)
def test_attribution_of_an_imported_model_sums_to_the_logit(name: str):
    lab = lab_of(name)
    text, plan = "The cat sat on the mat.", HeadPlan().gate("self", 1, 1, 0.3)
    trace = models.run(lab, text, plan)
    found = models.head_attribution(lab, text, plan)
    assert found.token == int(trace.output.order[0])
    assert parts_of(found) == pytest.approx(found.total, abs=1e-4)
    first, second = (int(trace.output.order[i]) for i in (0, 7))
    pair = models.head_attribution(lab, text, plan, token=first, against=second)
    ratio = numpy.log(trace.output.distribution[first] / trace.output.distribution[second])
    assert pair.total == pytest.approx(float(ratio), abs=1e-4)
    assert parts_of(pair) == pytest.approx(pair.total, abs=1e-4)


def test_attribution_of_gpt2_against_hooks():
    """The attribution equals plain hooks on transformers' eager model, LayerNorm's mean and deviation held fixed."""
    lab, eager = lab_of("gpt2"), eager_of("gpt2")
    prompt = lab.read("The cat sat on the mat.")
    inputs: list[Tensor] = []
    last: list[Tensor] = []
    norm = eager.transformer.ln_f
    handles = [block.attn.c_proj.register_forward_pre_hook(lambda module, given: inputs.append(given[0][0, -1]))
               for block in eager.transformer.h]
    handles.append(norm.register_forward_pre_hook(lambda module, given: last.append(given[0][0, -1])))
    with torch.no_grad():
        logits = eager(torch.tensor([prompt.ids])).logits[0, -1]
    for handle in handles:
        handle.remove()
    token, against = 20, 33
    found = attribution_of(lab, prompt, token=token, against=against)
    direction = eager.lm_head.weight[token] - eager.lm_head.weight[against]
    deviation = (last[0].var(correction=0) + norm.eps).sqrt()
    for layer, block in enumerate(eager.transformer.h):
        for head in range(4):
            own = slice(8 * head, 8 * head + 8)
            written = inputs[layer][own] @ block.attn.c_proj.weight[own]
            expected = float(((written - written.mean()) / deviation * norm.weight) @ direction)
            assert found.heads["self"][layer, head] == pytest.approx(expected, abs=1e-4)
    assert found.total == pytest.approx(float(logits[token] - logits[against]), abs=1e-4)


def test_refusals():
    sentence = "The cat sat on the [mat]."
    for name in ("bert-bare", "bert-class"):
        for measure in (models.logit_lens, models.head_attribution):
            with pytest.raises(StructureError, match="predicts no tokens"):
                measure(lab_of(name), sentence)
    with pytest.raises(StructureError, match="encoder-decoders"):
        models.logit_lens(lab_of("t5"), sentence)
    for name in ("bert", "falcon_h1"):
        with pytest.raises(StructureError, match="do not add up"):
            models.head_attribution(lab_of(name), sentence)
    with pytest.raises(InputError, match=r"\[brackets\]"):
        models.logit_lens(lab_of("bert"), "The cat sat on the mat.")


def test_tokens_and_positions_that_are_wrong():
    lab = make_lab("softmax")
    named = models.head_attribution(lab, TEXT, token=lab.task.labels[5])
    assert named.token == 5 and named.total == models.head_attribution(lab, TEXT, token=5).total
    assert models.head_attribution(lab, TEXT, position=-12).position == 0
    for wrong in ({"token": "nothing"}, {"token": 99_999}, {"position": 12}, {"position": -13}, {"against": -1}):
        with pytest.raises(InputError):
            models.head_attribution(lab, TEXT, **wrong)
    stories = models.load("stories-softmax")
    with pytest.raises(InputError, match="“ his” is"):
        models.head_attribution(stories, "Once upon a time", token="his")
    with pytest.raises(InputError, match="both prompts have the answer"):
        patching_of(lab, read(lab, TEXT, TEXT))


def test_a_patch_reaches_lens_and_attribution():
    lab = make_lab("softmax")
    plan = all_heads(lab, patch="output")
    other = OTHER
    assert models.logit_lens(lab, TEXT, plan, source=TEXT).final.tolist() == models.logit_lens(lab, TEXT).final.tolist()
    found, source = models.head_attribution(lab, TEXT, plan, token=3, source=other), lab.read(other)
    trace = models.run(lab, TEXT, plan, source=other)
    assert found.total - models.head_attribution(lab, TEXT, plan, token=4, source=other).total == pytest.approx(
        float(numpy.log(trace.output.distribution[3] / trace.output.distribution[4])), abs=1e-4)
    assert source.ids != lab.read(TEXT).ids


@pytest.mark.parametrize("what", ["output", "pattern"])
@pytest.mark.parametrize("attention", ["softmax", "selective", "gau-relu2", "random-dense"])
def test_patching_each_head_is_what_a_plan_gives(attention: str, what: str):
    lab, text, source = make_lab(attention), TEXT, OTHER.replace("x=?", "y=?")
    found = patching_of(lab, read(lab, text, source), what)
    before, there = models.run(lab, text), models.run(lab, source)
    assert (found.token, found.against) == (int(there.output.order[0]), int(before.output.order[0]))
    assert found.before == pytest.approx(difference(before, found), abs=1e-4)
    assert found.source == pytest.approx(difference(there, found), abs=1e-4)
    for kind, layer, head in lab.kinds[0].addresses:
        alone = models.run(lab, text, HeadPlan().patch(kind, layer, head, what), source)
        expected = difference(alone, found)
        assert found.difference[kind][layer, head] == pytest.approx(expected, abs=1e-4)
        assert found.restored[kind][layer, head] == pytest.approx(
            (expected - found.before) / (found.source - found.before), abs=1e-4)
    assert len(found.ranked) == len(lab.kinds[0].addresses)
    assert found.ranked[0][1] == max(found.restored[kind].max() for kind in found.restored)


def difference(trace: models.Trace, found: HeadPatching) -> float:
    distribution = trace.outputs[found.position].distribution
    return float(numpy.log(distribution[found.token] / distribution[found.against]))


def test_patching_each_head_of_a_translation():
    """For both prompts the decoder reads the translation of the first text."""
    lab = make_pair_lab("softmax")
    prompt = lab.anchored(lab.read("The cat is sleeping here.").with_source(lab.read("A cat is sleeping here.")))
    found = patching_of(lab, prompt)
    for address in (("encoder", 0, 1), ("decoder", 1, 2), ("cross", 1, 3)):
        alone = lab.run(prompt, [HeadPlan().patch(*address)])[0]
        assert found.difference[address[0]][address[1:]] == pytest.approx(difference(alone, found), abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "bert", "gemma3_text", "mpnet"])
def test_patching_each_head_of_an_imported_model(name: str):
    lab = lab_of(name)
    text, source = ("A [the] cat sat on the mat.", "A [the] mat sat on the cat.")
    found = patching_of(lab, read(lab, text, source), token=20, against=30)
    for address in (("self", 0, 1), ("self", 1, 2)):
        alone = models.run(lab, text, HeadPlan().patch(*address), source)
        assert found.difference["self"][address[1:]] == pytest.approx(difference(alone, found), abs=1e-4)

"""Patched heads: their output, or only their attention pattern, comes from a forward pass over a second prompt."""

import contextlib
from collections.abc import Callable, Iterator

import numpy
import pytest
import torch
from foreign_tiny import lab_of
from tiny import TEXT, address, either_way, make_lab, prompt_of, random_ids
from tiny_pairs import TEXT_TYPED
from tiny_pairs import make_lab as make_pair_lab
from torch import Tensor, nn

import models
from models.generate.seq2seq_decoding import write
from models.kind import CROSS, DECODER, ENCODER
from models.lab import Lab, run_prompt
from models.plan import OUTPUT, PATTERN, HeadPlan
from models.prompt import Prompt, TargetPrompt
from models.trace import Trace

OTHER = "y=2; x=4; x=9; y=?; z=1; x=?"


def every_head(lab: Lab, what: str, kinds: tuple[str, ...] = ()) -> HeadPlan:
    return HeadPlan().with_heads([a for kind in lab.kinds for a in kind.addresses if not kinds or kind.name in kinds],
                                 patch=what)


def same(one: Trace, other: Trace) -> None:
    """Asserts that every number of two traces is equal bit for bit."""
    for name in ("scores", "live", "weights", "norms"):
        for kind, array in getattr(one, name).items():
            numpy.testing.assert_array_equal(array, getattr(other, name)[kind], err_msg=f"{name} of {kind}")
    for before, after in zip(one.outputs, other.outputs, strict=True):
        numpy.testing.assert_array_equal(before.distribution, after.distribution)
    assert one.written == other.written


@pytest.mark.parametrize("what", [OUTPUT, PATTERN])
@either_way
def test_a_patch_from_the_same_prompt_changes_nothing(attention: str, causal: bool, what: str):
    lab = make_lab(attention, causal)
    prompt = prompt_of(random_ids(1, 12)[0])
    same(run_prompt(lab, prompt),
         run_prompt(lab, prompt.with_source(prompt), every_head(lab, what)))


@pytest.mark.parametrize("what", [OUTPUT, PATTERN])
@pytest.mark.parametrize(("make", "name", "text"), [
    *((make_pair_lab, attention, TEXT_TYPED) for attention in ("softmax", "selective", "random-dense")),
    *((lab_of, name, "The cat sat on the [mat].") for name in ("bert", "gpt2", "llama", "t5", "mpnet", "albert"))])
def test_a_patch_from_the_same_text_changes_nothing(make: Callable[[str], Lab], name: str, text: str, what: str):
    lab = make(name)
    same(models.run(lab, text), models.run(lab, text, every_head(lab, what), source=text))


@contextlib.contextmanager
def outputs_of(modules: list[nn.Module], values: list[Tensor] | None = None) -> Iterator[list[Tensor]]:
    """Context manager: records the outputs of modules, or replaces them by `values`."""
    found: list[Tensor] = []

    def hook(module: nn.Module, given: object, output: Tensor) -> Tensor:
        found.append(output)
        return output if values is None else values[len(found) - 1]

    handles = [module.register_forward_hook(hook) for module in modules]
    yield found
    for handle in handles:
        handle.remove()


@either_way
def test_all_heads_and_everything_else_of_the_source_give_the_source(attention: str, causal: bool):
    """If all heads, embeddings and MLPs are patched from the second prompt, the result is that of the second prompt."""
    lab = make_lab(attention, causal)
    prompt, source = (prompt_of(ids) for ids in random_ids(2, 12))
    others = [lab.model.embedding, *(block.down for block in lab.model.blocks if block.has_mlp)]
    with outputs_of(others) as values:
        expected = run_prompt(lab, source)
    plan, sourced = every_head(lab, OUTPUT), prompt.with_source(source)
    interventions = lab.interventions(plan, 12, lab.source_values(sourced, plan))
    with outputs_of(others, values):
        hidden = lab.model(torch.tensor([prompt.ids]), interventions)
    numpy.testing.assert_allclose(lab.model.logits(hidden[0]).softmax(-1).numpy(),
                                  numpy.stack([output.distribution for output in expected.outputs]), atol=1e-6)


@pytest.mark.parametrize("attention", ["softmax", "selective", "gated", "gau-relu2", "random-softmax"])
def test_one_patched_head_by_hand(attention: str):
    """A patched head's slice of the input of W_O is the slice of the second prompt times the head's gate."""
    lab = make_lab(attention)
    kind, layer, head = address(lab, 1, 2)
    prompt, source = (prompt_of(ids) for ids in random_ids(2, 12))
    plan = HeadPlan().patch(kind, layer, head).gate(kind, layer, head, 0.5)
    output = lab.model.blocks[layer].attention.output
    inputs: list[Tensor] = []
    handle = output.register_forward_pre_hook(lambda module, given: inputs.append(given[0].clone()))
    run_prompt(lab, source)
    handle.remove()
    width = inputs[0].shape[-1] // lab.shape["self"][1]
    here = slice(head * width, (head + 1) * width)

    def exchange(module: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        changed = given[0].clone()
        changed[..., here] = 0.5 * inputs[0][..., here]
        return (changed,)

    handle = output.register_forward_pre_hook(exchange)
    expected = run_prompt(lab, prompt)
    handle.remove()
    after = run_prompt(lab, prompt.with_source(source), plan)
    numpy.testing.assert_allclose(after.outputs[-1].distribution, expected.outputs[-1].distribution, atol=1e-6)
    assert not numpy.allclose(after.outputs[-1].distribution, run_prompt(lab, prompt).outputs[-1].distribution)


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_patched_pattern_of_an_imported_model(name: str):
    """After the plan the attention pattern is that of the second prompt; the values are those of the first prompt."""
    lab = lab_of(name)
    texts = "A the cat sat on the mat.", "A the mat sat on the cat."
    trace = models.run(lab, texts[0], HeadPlan().patch("self", 0, 1, PATTERN), texts[1])
    source = models.run(lab, texts[1])
    numpy.testing.assert_array_equal(trace.weights["self"][0, 1], source.weights["self"][0, 1])
    numpy.testing.assert_array_equal(trace.weights["self"][0, 0], trace.live["self"][0, 0])
    assert not numpy.array_equal(trace.norms["self"][0, 1], source.norms["self"][0, 1])


def test_patched_encoder_alone_translates_the_second_text():
    """Its embeddings are needed, too; patched decoder heads read the same decoder tokens in both passes."""
    lab = make_pair_lab("softmax")
    prompt, source = lab.read("The cat is sleeping here."), lab.read("A cat is sleeping here.")
    target = (0, 17, 30, 41)
    anchored = TargetPrompt.of(prompt.with_source(source), target)
    other = run_prompt(lab, TargetPrompt.of(source, target))
    plan = every_head(lab, PATTERN, (DECODER, CROSS))
    after = run_prompt(lab, anchored, plan)
    for kind in (DECODER, CROSS):
        numpy.testing.assert_array_equal(after.weights[kind], other.weights[kind])
    assert not numpy.array_equal(after.weights[ENCODER], other.weights[ENCODER])


@pytest.mark.parametrize("attention", ["softmax", "selective"])
@pytest.mark.parametrize("beam", [1, 4])
def test_writing_under_a_patch_is_the_same_with_and_without_a_cache(attention: str, beam: int):
    """The decoder of the second prompt reads every candidate too."""
    lab = make_pair_lab(attention)
    prompt, source = lab.read("The cat is sleeping here."), lab.read("A cat is sleeping here.")
    plan = HeadPlan().patch(CROSS, 0, 1).patch(DECODER, 1, 2).patch(DECODER, 0, 0, PATTERN).patch(ENCODER, 2, 3)
    values = lab.source_values(prompt.with_source(source), plan, (0,))
    interventions = lab.interventions(plan, len(prompt.ids), 20, values)
    cached, whole = (write(lab.model, [prompt.ids], beam, interventions, 20, cached, [source.ids])[0]
                     for cached in (True, False))
    assert cached.ids == whole.ids == lab.translate(prompt.with_source(source), plan, beam)[:len(whole.ids)]
    written = run_prompt(lab, TargetPrompt.of(prompt.with_source(source), (0, *cached.ids[:-1])), plan)
    if beam == 1:
        assert [int(output.order[0]) for output in written.outputs] == list(cached.ids)


def test_a_continuation_is_patched_at_the_prompt():
    lab = make_lab("softmax")
    prompt, source = lab.read(TEXT), lab.read(OTHER)
    plan = every_head(lab, OUTPUT)
    first = next(iter(lab.generate(prompt.with_source(source), plan, 3)), None)
    trace = run_prompt(lab, prompt.with_source(source), plan)
    likeliest = int(trace.outputs[-1].order[0])
    assert first == (None if likeliest == 0 else lab.task.labels[likeliest])
    assert list(lab.generate(prompt.with_source(prompt), plan, 6)) == list(lab.generate(prompt, HeadPlan(), 6))


def test_what_is_missing_is_named_and_nothing_patched_changes_nothing():
    lab = make_lab("softmax")
    plan = HeadPlan().patch("self", 0, 0)
    with pytest.raises(ValueError, match="give a second prompt"):
        models.run(lab, TEXT, plan)
    with pytest.raises(ValueError, match="second text has 3 tokens; 12 are needed"):
        models.run(lab, TEXT, plan, source="x=3")
    with pytest.raises(ValueError, match="has no second prompt"):
        list(lab.write_within(lab.read(TEXT), [8] * 2, plan))
    with pytest.raises(ValueError, match="no layer"):
        models.run(lab, TEXT, HeadPlan().patch("self", 9, 0), source=TEXT)
    with pytest.raises(ValueError, match="give a second prompt"):
        models.run(lab_of("gpt2"), "The cat", plan)
    same(models.run(lab, TEXT), models.run(lab, TEXT, source=OTHER))


@pytest.mark.parametrize(("text", "plan"), [
    ("self-0.1p", HeadPlan().patch("self", 0, 1)),
    ("self-0.1~2a", HeadPlan().patch("self", 0, 1, PATTERN).patch("self", 0, 2, PATTERN)),
    ("self-0.1cpg0.5", HeadPlan().patch("self", 0, 1).constant("self", 0, 1).gate("self", 0, 1, 0.5)),
    ("encoder-1.0p_cross-0.0ag0",
     HeadPlan().patch("encoder", 1, 0).patch("cross", 0, 0, PATTERN).gate("cross", 0, 0, 0)),
])
def test_the_text_form(text: str, plan: HeadPlan):
    assert str(plan) == text
    assert HeadPlan.parse(text) == plan
    assert plan.patches and plan
    assert not plan.without_patches().patches


def test_a_patch_can_be_undone_and_prompts_carry_its_source():
    plan = HeadPlan().patch("self", 0, 1).gate("self", 0, 1, 0.5)
    assert plan.without_patches() == plan.patch("self", 0, 1, "") == HeadPlan().gate("self", 0, 1, 0.5)
    with pytest.raises(ValueError, match="output or pattern"):
        HeadPlan().patch("self", 0, 1, "values")
    assert HeadPlan.read("self-0.1q")[1]
    prompt, source = Prompt((1, 2), ("a", "b"), (), (-1, -1)), Prompt((3, 4), ("c", "d"), (), (-1, -1))
    assert prompt.with_source(source) != prompt
    assert TargetPrompt.of(prompt.with_source(source), (0,)).source == source

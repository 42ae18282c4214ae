"""Foreign models, one matrix over every architecture: what a plan does equals the same change made by hooks on
transformers' own eager model, maps equal its `output_attentions`, and nothing stays on a model.

    pytest tests/models/test_foreign.py
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy
import pytest
import torch
from foreign_hooks import Change, bias_of, changed, layers_of
from foreign_tiny import ARCHITECTURES, TEXT, eager_of, lab_of, picture
from torch.testing import assert_close

import models
from models import HeadPlan, Trace
from models.kind import TARGET
from models.lab import run_prompt
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.reading.readers import MaskedReader, Seq2SeqReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.running.writing import TargetPrompt, with_target
from models.prompt import Prompt
from models.trace import bytes_of_maps, sketch_of

BASE = 9  # of log n: not the length of any text here
FEW = ("bert", "albert", "deberta-v2", "gpt2", "mistral", "t5", "vit")  # one of each way to attend


@pytest.fixture(params=ARCHITECTURES)
def name(request: pytest.FixtureRequest) -> str:
    """Each architecture."""
    return request.param


@pytest.fixture
def lab(name: str) -> ForeignLab:
    return with_random_constant(lab_of(name))


def with_random_constant(lab: ForeignLab) -> ForeignLab:
    """With constant matrices for texts of its longest, or 64 tokens."""
    random = torch.Generator().manual_seed(1)
    size = min(lab.limit, 64)
    return lab.with_constant({kind: torch.randn(*shape, size, size, generator=random).mul(2).softmax(-1)
                              for kind, shape in lab.shape.items()})


def prompt_of(lab: ForeignLab) -> Prompt:
    """A text that asks for something; with a decoder's row where there is a decoder, so that maps have one size."""
    if isinstance(lab.task, PictureReader):
        return lab.read_picture(picture())
    prompt = lab.read(TEXT.replace("mat", "[mat]") if isinstance(lab.task, MaskedReader) else TEXT)
    if isinstance(lab.task, Seq2SeqReader):
        row = tuple(5 + 7 * i % 90 for i in range(6))
        return TargetPrompt(**{**vars(with_target(lab, prompt)), "target": row})
    return prompt


def eagerly(name: str, lab: ForeignLab, prompt: Prompt, changes: dict[tuple[str, int], Change]) -> Any:
    """What transformers' own model says under the changes."""
    inputs = dict(lab.task.inputs(prompt))
    if isinstance(prompt, TargetPrompt):
        inputs["decoder_input_ids"] = torch.tensor([prompt.target])
    model = eager_of(name)
    with torch.inference_mode(), changed(model, changes):
        return model(**inputs, output_attentions=True)


def answers(trace: Trace) -> torch.Tensor:
    """What a trace says, as one tensor."""
    if trace.vectors is not None:
        return torch.tensor(trace.vectors)
    return torch.tensor(numpy.stack([output.distribution for output in trace.outputs]))


def expected(trace: Trace, result: Any) -> torch.Tensor:
    """The same of transformers' result."""
    if trace.vectors is not None:
        return result.last_hidden_state[0]
    logits = result.logits if result.logits.ndim == 3 else result.logits[:, None]
    return logits[0, [output.position for output in trace.outputs]].softmax(-1)


def attentions(result: Any, kind: str) -> torch.Tensor:
    """(L, H, N, M) what transformers returns of a kind."""
    key = {"self": "attentions", "encoder": "encoder_attentions", "decoder": "decoder_attentions",
           "cross": "cross_attentions"}[kind]
    return torch.cat(tuple(result[key]))


def check(name: str, lab: ForeignLab, plan: HeadPlan, changes: dict[tuple[str, int], Change]) -> None:
    """The plan and the changes do the same, and something."""
    prompt = prompt_of(lab)
    trace, result = run_prompt(lab, prompt, plan), eagerly(name, lab, prompt, changes)
    assert_close(answers(trace), expected(trace, result), rtol=1e-3, atol=1e-5)
    for kind in lab.shape:
        assert_close(torch.tensor(trace.weights[kind]), attentions(result, kind), rtol=1e-3, atol=1e-5)
    untouched = answers(run_prompt(lab, prompt))
    assert float((answers(trace) - untouched).abs().max()) > 1e-4  # else this test could not fail


def some(lab: ForeignLab) -> list[tuple[str, int, int]]:
    """A head of the first and one of the last layer of every kind."""
    return [address for kind, (layers, heads) in lab.shape.items() for address in ((kind, 0, 1), (kind, layers - 1, 0))
            if heads > 1]


def test_the_hooks_know_every_layer(name: str, lab: ForeignLab):
    found = layers_of(eager_of(name), isinstance(lab.task, Seq2SeqReader))
    for kind, (layers, _) in lab.shape.items():
        assert sum(its == kind for its, _, _ in found) == (1 if name == "albert" else layers)


def test_a_pruned_head_is_its_slice_zeroed(name: str, lab: ForeignLab):
    plan = HeadPlan().with_heads(some(lab), gate=0.0)
    check(name, lab, plan, {(kind, layer): Change(lab.shape[kind][1], {head: 0.0}) for kind, layer, head in some(lab)})


def test_a_gate_is_a_factor_on_the_slice(name: str, lab: ForeignLab):
    plan = HeadPlan().with_heads(some(lab), gate=0.25)
    check(name, lab, plan, {(kind, layer): Change(lab.shape[kind][1], {head: 0.25}) for kind, layer, head in some(lab)})


def test_a_constant_head_is_its_weights_replaced(name: str, lab: ForeignLab):
    prompt = prompt_of(lab)
    sizes = {kind: maps.shape[-2:] for kind, maps in run_prompt(lab, prompt).weights.items()}
    changes = {(kind, layer): Change(lab.shape[kind][1], {head: 0.5}, {
        head: torch.tensor(lab.constant_of(kind, layer, *sizes[kind])[head])}) for kind, layer, head in some(lab)}
    check(name, lab, HeadPlan().with_heads(some(lab), constant=True, gate=0.5), changes)


def test_log_n_is_a_factor_on_the_scores(name: str, lab: ForeignLab):
    """By the keys that each query sees, which a window bounds; what is added to scores is not multiplied."""
    prompt, model = prompt_of(lab), eager_of(name)
    changes = {}
    for kind in lab.kinds:
        scores = run_prompt(lab, prompt).scores[kind.name]
        for layer in range(kind.layers):
            seen = torch.tensor(numpy.isfinite(scores[layer, 0]).sum(-1, keepdims=True)).float()
            if kind.causal and name not in ("mistral", "gemma3_text", "gpt_neo"):
                assert seen.flatten().tolist() == list(range(1, len(seen) + 1))
            bias = bias_of(model, kind.name, *scores.shape[-2:])
            changes[kind.name, layer] = Change(kind.heads, factor=seen.log() / math.log(BASE), bias=bias)
    check(name, lab, HeadPlan().with_scale("logn", BASE), changes)


def test_maps_are_those_of_output_attentions(name: str, lab: ForeignLab):
    """Bit by bit: the same operations in the same order. Scores give the weights, and -inf stands where none is."""
    prompt = prompt_of(lab)
    trace, result = run_prompt(lab, prompt), eagerly(name, lab, prompt, {})
    for kind, (layers, heads) in lab.shape.items():
        live = torch.tensor(trace.live[kind])
        assert live.shape[:2] == (layers, heads) and trace.weights[kind] is trace.live[kind]
        assert torch.equal(live, attentions(result, kind))
        assert_close(torch.tensor(trace.scores[kind]).softmax(-1), live)
        hidden = numpy.isneginf(trace.scores[kind])
        assert not trace.live[kind][hidden].any() and (trace.scores[kind][~hidden] > -1e30).all()
        assert len(trace.rows[lab.kind(kind).query_row]) == live.shape[2]
        assert len(trace.rows[lab.kind(kind).key_row]) == live.shape[3]
    assert torch.equal(answers(trace), expected(trace, result))


def test_a_gate_of_one_changes_nothing(name: str, lab: ForeignLab):
    """Beside another head that is gated, and by itself."""
    prompt, kind = prompt_of(lab), lab.kinds[0].name
    untouched, gated = (run_prompt(lab, prompt, plan) for plan in (HeadPlan(), HeadPlan().gate(kind, 0, 0, 0.5)))
    assert numpy.array_equal(untouched.norms[kind][0, 1:], gated.norms[kind][0, 1:])
    assert not numpy.array_equal(untouched.norms[kind][0, :1], gated.norms[kind][0, :1])
    every = HeadPlan().with_heads([a for k in lab.kinds for a in k.addresses], gate=1.0)
    assert torch.equal(answers(run_prompt(lab, prompt, every)), answers(untouched))


def test_norms_are_of_what_the_projection_reads(name: str, lab: ForeignLab):
    prompt, model = prompt_of(lab), eager_of(name)
    read: dict[str, list[torch.Tensor]] = {}
    hooks = [output.register_forward_pre_hook(
        lambda _, arguments, kind=kind: read.setdefault(kind, []).append(arguments[0][0]) and None)
        for kind, _, output in layers_of(model, isinstance(lab.task, Seq2SeqReader))]
    inputs = dict(lab.task.inputs(prompt))
    if isinstance(prompt, TargetPrompt):
        inputs["decoder_input_ids"] = torch.tensor([prompt.target])
    with torch.inference_mode():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    trace = run_prompt(lab, prompt)
    for kind, (_, heads) in lab.shape.items():
        norms = torch.stack([part.unflatten(-1, (heads, -1)).norm(dim=-1).T for part in read[kind]])
        assert_close(torch.tensor(trace.norms[kind]), norms)


def test_a_plan_leaves_no_trace(name: str, lab: ForeignLab):
    """Neither in weights nor in anything that hangs on a module."""
    def state() -> list[Any]:
        return [(key, sorted(vars(module)), [id(v) for v in vars(module).values()])
                for key, module in lab.model.named_modules()]

    prompt = prompt_of(lab)
    before = answers(run_prompt(lab, prompt))
    weights = {key: tensor.clone() for key, tensor in lab.model.state_dict().items()}
    attached = state()
    run_prompt(lab, prompt, HeadPlan().with_heads(some(lab), constant=True, gate=0.5).with_scale("logn", BASE))
    assert state() == attached
    assert all(torch.equal(tensor, weights[key]) for key, tensor in lab.model.state_dict().items())
    assert torch.equal(answers(run_prompt(lab, prompt)), before)


@pytest.mark.parametrize("name", FEW)
def test_two_threads_do_not_disturb_each_other(name: str, lab: ForeignLab):
    prompt = prompt_of(lab)
    plans = [HeadPlan(), HeadPlan().with_heads(some(lab), gate=0.0), HeadPlan().with_heads(some(lab), constant=True)]
    alone = [answers(run_prompt(lab, prompt, plan)) for plan in plans]
    wrong: list[int] = []
    together = threading.Barrier(len(plans))

    def visit(i: int) -> None:
        together.wait()
        for _ in range(15):
            if not torch.equal(answers(run_prompt(lab, prompt, plans[i])), alone[i]):
                wrong.append(i)

    visitors = [threading.Thread(target=visit, args=(i,)) for i in range(len(plans))]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert wrong == []


def test_a_sketch_says_what_a_trace_says(name: str, lab: ForeignLab):
    """And one layer on demand is that layer."""
    prompt = prompt_of(lab)
    plan = HeadPlan().with_heads(some(lab), constant=True, gate=0.5)
    trace, (sketch,) = run_prompt(lab, prompt, plan), lab.sketch(prompt, [plan])
    other = sketch_of(trace)
    for kind in lab.shape:
        assert numpy.array_equal(sketch.thumbnails[kind], other.thumbnails[kind])
        assert sketch.sizes[kind] == other.sizes[kind] and numpy.array_equal(sketch.norms[kind], trace.norms[kind])
        last = lab.shape[kind][0] - 1
        layer, its = lab.layer(prompt, plan, kind, last), trace.layer(kind, last)
        for part in ("scores", "live", "weights"):
            assert numpy.array_equal(getattr(layer, part), getattr(its, part))
    assert sketch.rows == trace.rows and sketch.written == trace.written
    assert [o.target for o in sketch.outputs] == [o.target for o in trace.outputs]
    assert sketch.nbytes < trace.nbytes
    maps = [*trace.scores.values(), *trace.live.values()]
    assert bytes_of_maps(lab.kinds, {row: len(tokens) for row, tokens in trace.rows.items()}) == \
        sum(array.nbytes for array in maps)


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - {"vit"}))
def test_the_longest_text_runs(name: str):
    """What is over the positions is left out, and said to be."""
    lab = lab_of(name)
    text = "the cat sat " * 300
    prompt = lab.read(text)
    assert len(prompt.ids) == lab.limit and prompt.left_out > 0
    assert 0 < prompt.read_chars < len(text)
    assert len(lab.read(text[:prompt.read_chars]).ids) == lab.limit
    models.run(lab, text)


@pytest.mark.parametrize("name", ["t5", "bart", "marian"])
def test_what_was_written_is_the_row(name: str):
    lab = lab_of(name)
    trace = models.run(lab, TEXT)
    assert len(trace.outputs) == len(trace.rows[TARGET]) and all(o.row == TARGET for o in trace.outputs)
    row = with_target(lab, lab.read(TEXT)).target
    assert trace.rows[TARGET] == tuple(lab.task.pieces[i] for i in row)

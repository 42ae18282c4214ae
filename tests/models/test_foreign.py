"""Foreign (external) models, every architecture: plans against hooks on transformers' own eager model."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import torch
from foreign_hooks import Change, bias_of, changed, layers_of, slices_of
from foreign_tiny import TEXT, eager_of, lab_of, picture
from torch.testing import assert_close

import models
from models import HeadPlan, Trace
from models.kind import policies_of
from models.lab import run_prompt
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.reading.readers import MaskedReader, Seq2SeqReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.running.writing import TargetPrompt, with_target
from models.prompt import Prompt
from models.trace import bytes_of_maps, sketch_of
from tests.models.foreign_architectures import ARCHITECTURES, HYBRIDS, PICTURES

BASE = 9  # base of log n; no text in these tests has this length
WINDOWED = ("longformer", "longformer-class", "led")  # their softmax has one column for each position in a window
CAPPED = {"t5gemma", "gpt_oss"}  # log n multiplies the scores before the cap, and does not multiply the sink
EXACT, WINDOW = {"rtol": 0.0, "atol": 0.0}, {"rtol": 1e-4, "atol": 1e-6}
# one architecture for each implementation of attention
FEW = ("bert", "albert", "deberta-v2", "gpt2", "mistral", "t5", "vit", "bloom", "longformer")


@pytest.fixture(params=[*ARCHITECTURES, *HYBRIDS])
def name(request: pytest.FixtureRequest) -> str:
    """Returns the name of each architecture in turn."""
    return request.param


@pytest.fixture
def lab(name: str) -> ForeignLab:
    return with_random_constant(lab_of(name))


def with_random_constant(lab: ForeignLab) -> ForeignLab:
    """Returns the Lab with random constant matrices for texts of at most 64 tokens."""
    random = torch.Generator().manual_seed(1)
    size = min(lab.limit, 64)
    return lab.with_constant({kind: torch.randn(*shape, size, size, generator=random).mul(2).softmax(-1)
                              for kind, shape in lab.shape.items()})


def prompt_of(lab: ForeignLab) -> Prompt:
    """Returns a prompt with a prediction; a decoder gets a teacher-forced target, for maps of a fixed size."""
    if isinstance(lab.task, PictureReader):
        return lab.read_picture(picture())
    prompt = lab.read(TEXT.replace("mat", "[mat]") if isinstance(lab.task, MaskedReader) else TEXT)
    if isinstance(lab.task, Seq2SeqReader):
        row = tuple(5 + 7 * i % 90 for i in range(6))
        return TargetPrompt(**{**vars(with_target(lab, prompt)), "target": row})
    return prompt


def eagerly(name: str, lab: ForeignLab, prompt: Prompt, changes: dict[tuple[str, int], Change]) -> Any:
    """Returns the output of transformers' own eager model under the changes."""
    inputs = dict(lab.task.inputs(prompt))
    if isinstance(prompt, TargetPrompt):
        inputs |= {"decoder_input_ids": torch.tensor([prompt.target]), "use_cache": False}
    model = eager_of(name)
    with torch.inference_mode(), changed(model, changes):
        return model(**inputs, output_attentions=True)


def answers(trace: Trace) -> torch.Tensor:
    """Returns the predictions of a trace as one tensor."""
    if trace.vectors is not None:
        return torch.tensor(trace.vectors)
    return torch.tensor(numpy.stack([output.distribution for output in trace.outputs]))


def expected(trace: Trace, result: Any) -> torch.Tensor:
    """Returns the predictions of transformers' result as one tensor."""
    if trace.vectors is not None:
        return result.last_hidden_state[0]
    logits = result.logits if result.logits.ndim == 3 else result.logits[:, None]
    return logits[0, [output.position for output in trace.outputs]].softmax(-1)


def attentions(name: str, result: Any, kind: str) -> torch.Tensor:
    """Returns the attention maps (L, H, N, M) of one block from transformers' result. SqueezeBERT returns scores
    instead. Layers of hybrids that have no softmax return nothing or a state. Longformer returns windows of nine keys,
    preceded by the key of a global token; it returns the queries of global tokens separately."""
    found = result[{"self": "attentions"}.get(kind, f"{kind}_attentions")]
    if name in HYBRIDS:
        n = result.logits.shape[1]
        found = [its for its in found if its is not None and its.shape[-2:] == (n, n)]
    given = torch.cat(tuple(found))
    if name == "squeezebert":
        return given.softmax(-1)
    if name not in WINDOWED or kind not in ("self", "encoder"):
        return given
    n = given.shape[2]
    full = torch.zeros(*given.shape[:3], n + 8)
    for i in range(n):
        full[:, :, i, i:i + 9] = given[:, :, i, -9:]
    full = full[..., 4:-4]
    if given.shape[-1] > 9:
        full[..., 0] += given[..., 0]
        full[:, :, 0] = torch.cat(tuple(result.global_attentions))[..., 0]
    return full


def check(name: str, lab: ForeignLab, plan: HeadPlan, changes: dict[tuple[str, int], Change]) -> None:
    """Asserts that the plan and the changes have the same effect, and that this effect is not zero."""
    prompt = prompt_of(lab)
    trace, result = run_prompt(lab, prompt, plan), eagerly(name, lab, prompt, changes)
    assert_close(answers(trace), expected(trace, result), rtol=1e-3, atol=1e-5)
    for kind in lab.shape if name != "squeezebert" else ():  # SqueezeBERT's `attentions` are scores
        assert_close(torch.tensor(trace.weights[kind]), attentions(name, result, kind), rtol=1e-3, atol=1e-5)
    untouched = answers(run_prompt(lab, prompt))
    # the plan has an effect, otherwise the test could not fail
    assert float((answers(trace) - untouched).abs().max()) > 1e-4


def some(lab: ForeignLab) -> list[tuple[str, int, int]]:
    """Returns a head of the first and one of the last layer of every block."""
    return [address for kind, (layers, heads) in lab.shape.items() for address in ((kind, 0, 1), (kind, layers - 1, 0))
            if heads > 1]


@pytest.mark.parametrize("gate", [0.0, 0.25])
def test_a_gate_is_a_factor_on_the_slice(gate: float, name: str, lab: ForeignLab):
    """A gate of 0 prunes the head. A hybrid with one softmax layer has both heads in this layer."""
    changes: dict[tuple[str, int], Change] = {}
    for kind, layer, head in some(lab):
        gates = changes[kind, layer].gates if (kind, layer) in changes else {}
        changes[kind, layer] = Change(lab.shape[kind][1], {**gates, head: gate})
    check(name, lab, HeadPlan().with_heads(some(lab), gate=gate), changes)


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - set(WINDOWED)))
def test_a_constant_head_is_its_weights_replaced(name: str, lab: ForeignLab):
    prompt = prompt_of(lab)
    sizes = {kind: maps.shape[-2:] for kind, maps in run_prompt(lab, prompt).weights.items()}
    changes = {(kind, layer): Change(lab.shape[kind][1], {head: 0.5}, {
        head: torch.tensor(lab.constant_of(kind, layer, *sizes[kind])[head])}) for kind, layer, head in some(lab)}
    check(name, lab, HeadPlan().with_heads(some(lab), constant=True, gate=0.5), changes)


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - set(WINDOWED) - CAPPED - {"deberta", "beit"}))
def test_log_n_is_a_factor_on_the_scores(name: str, lab: ForeignLab):
    """The log of the number of keys that each query sees, also within a window, and not on biases."""
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
    """Bit by bit; scores are -inf where a query cannot see a key."""
    prompt = prompt_of(lab)
    trace, result = run_prompt(lab, prompt), eagerly(name, lab, prompt, {})
    for kind, (layers, heads) in lab.shape.items():
        live = torch.tensor(trace.live[kind])
        assert live.shape[:2] == (layers, heads) and trace.weights[kind] is trace.live[kind]
        assert_close(live, attentions(name, result, kind), **(WINDOW if name in WINDOWED else EXACT))
        if name == "gpt_oss":
            assert not lab.kind(kind).attention.is_distribution and 0.05 < float(live.sum(-1).min()) < 0.99
        else:
            assert_close(torch.tensor(trace.scores[kind]).softmax(-1), live)
        hidden = numpy.isneginf(trace.scores[kind])
        assert not trace.live[kind][hidden].any() and (trace.scores[kind][~hidden] > -1e30).all()
        assert len(trace.rows[lab.kind(kind).query_row]) == live.shape[2]
        assert len(trace.rows[lab.kind(kind).key_row]) == live.shape[3]
    if name not in WINDOWED:  # in windowed models our code computes one large product instead of many small ones
        assert torch.equal(answers(trace), expected(trace, result))
    assert_close(answers(trace), expected(trace, result))


def test_a_gate_of_one_changes_nothing(name: str, lab: ForeignLab):
    prompt, kind = prompt_of(lab), lab.kinds[0].name
    untouched, gated = (run_prompt(lab, prompt, plan) for plan in (HeadPlan(), HeadPlan().gate(kind, 0, 0, 0.5)))
    assert numpy.array_equal(untouched.norms[kind][0, 1:], gated.norms[kind][0, 1:])
    assert not numpy.array_equal(untouched.norms[kind][0, :1], gated.norms[kind][0, :1])
    every = HeadPlan().with_heads([a for k in lab.kinds for a in k.addresses], gate=1.0)
    assert torch.equal(answers(run_prompt(lab, prompt, every)), answers(untouched))


@pytest.mark.parametrize("name", [*ARCHITECTURES, *(name for name in HYBRIDS if not name.startswith("qwen"))])
def test_norms_are_of_what_the_projection_reads(name: str, lab: ForeignLab):
    """In Qwen's hybrids the norms are of the heads, and the projection reads them times the model's own gate."""
    prompt, model = prompt_of(lab), eager_of(name)
    read: dict[str, list[torch.Tensor]] = {}
    hooks = [output.register_forward_pre_hook(
        lambda its, arguments, kind=kind: read.setdefault(kind, []).append(
            slices_of(its, arguments[0], lab.shape[kind][1])[0]) and None)
        for kind, _, output in layers_of(model, isinstance(lab.task, Seq2SeqReader))]
    eagerly(name, lab, prompt, {})
    for hook in hooks:
        hook.remove()
    trace = run_prompt(lab, prompt)
    for kind in lab.shape:
        norms = torch.stack([part.norm(dim=-1).T for part in read[kind]])
        # The first positions, without padding. Products of other shapes round differently, depending on the processor.
        assert_close(torch.tensor(trace.norms[kind]), norms[..., :trace.norms[kind].shape[-1]],
                     **({"rtol": 1e-5, "atol": 1e-5} if name in WINDOWED else {}))


def test_a_plan_leaves_no_trace(name: str, lab: ForeignLab):
    def state() -> list[Any]:
        return [(key, sorted(vars(module)), [id(v) for v in vars(module).values()])
                for key, module in lab.model.named_modules()]

    prompt = prompt_of(lab)
    before = answers(run_prompt(lab, prompt))
    weights = {key: tensor.clone() for key, tensor in lab.model.state_dict().items()}
    attached = state()
    plan = HeadPlan().with_heads(some(lab), constant=True, gate=0.5)
    run_prompt(lab, prompt, plan.with_scale("logn", BASE) if "logn" in policies_of(lab.kinds) else plan)
    assert state() == attached
    assert all(torch.equal(tensor, weights[key]) for key, tensor in lab.model.state_dict().items())
    assert torch.equal(answers(run_prompt(lab, prompt)), before)


@pytest.mark.parametrize("name", HYBRIDS)
def test_a_long_text_leaves_nothing_for_a_short_one(name: str):
    lab = lab_of(name)
    short = models.run(lab, TEXT).output.distribution
    models.run(lab, TEXT * 4)
    assert (models.run(lab, TEXT).output.distribution == short).all()


@pytest.mark.parametrize("name", [*FEW, *HYBRIDS])
def test_two_threads_do_not_disturb_each_other(name: str, lab: ForeignLab):
    prompt = prompt_of(lab)
    plans = [HeadPlan(), HeadPlan().with_heads(some(lab), gate=0.0), HeadPlan().with_heads(some(lab), constant=True)]
    alone = [answers(run_prompt(lab, prompt, plan)) for plan in plans]
    with ThreadPoolExecutor(len(plans)) as pool:
        together = list(pool.map(lambda plan: answers(run_prompt(lab, prompt, plan)), plans * 15))
    assert all(torch.equal(its, alone[i % len(plans)]) for i, its in enumerate(together))


def test_a_sketch_has_the_values_of_a_trace(name: str, lab: ForeignLab):
    """A sketch has the same values as a trace, and a layer computed on demand equals that layer of the trace."""
    prompt = prompt_of(lab)
    plan = HeadPlan().with_heads(some(lab), constant=True, gate=0.5)
    trace, (sketch,) = run_prompt(lab, prompt, plan), lab.sketch(prompt, [plan])
    other = sketch_of(trace, [kind.name for kind in lab.kinds if kind.attention.has_sink])
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


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - PICTURES))
def test_the_longest_text_runs(name: str):
    """Tokens beyond the model's maximum number of positions are left out, and a message reports it."""
    lab = lab_of(name)
    text = "the cat sat " * 300
    prompt = lab.read(text)
    assert len(prompt.ids) == lab.limit and prompt.omitted > 0
    assert 0 < prompt.read_chars < len(text)
    assert len(lab.read(text[:prompt.read_chars]).ids) == lab.limit
    models.run(lab, text)


@pytest.mark.parametrize("name", ["t5", "bart", "marian"])
def test_a_typed_target_is_teacher_forced(name: str):
    lab = lab_of(name)
    typed = lab.task.tokenizer(text_target="the dog ran", add_special_tokens=False)["input_ids"]
    trace = models.run(lab, TEXT, target="the dog ran")
    row = trace.prompt.target
    assert len(typed) > 2 and list(row[-len(typed):]) == typed and row[0] == with_target(lab, lab.read(TEXT)).target[0]
    ids = torch.tensor([lab.read(TEXT).ids])
    with torch.inference_mode():
        logits = eager_of(name)(input_ids=ids, decoder_input_ids=torch.tensor([row])).logits[0]
    for output, expected in zip(trace.outputs, logits.softmax(-1), strict=True):
        assert output.distribution == pytest.approx(expected.numpy(), abs=1e-6)
    assert models.run(lab, TEXT, target=" ").rows == models.run(lab, TEXT).rows

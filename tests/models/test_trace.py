"""A Trace records the forward pass and cannot be changed; the loss per byte; a Lab with the required members alone."""

import copy
import math
from dataclasses import FrozenInstanceError, fields, replace

import numpy
import pytest
import torch
from foreign_tiny import lab_of
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray
from tiny import LAYERS, TEXT, address, all_heads, another_scale, make_lab, prompt_of, random_ids, trace_of
from torch.nn import functional
from torch.testing import assert_close

import models
from models import capabilities
from models.lab import Lab, run, run_prompt
from models.labs.stack import StackLab
from models.messages import Message
from models.nets.attention.gated import Gated
from models.plan import HeadPlan
from models.prompt import Prompt
from models.tasks.text_scores import loss_per_byte
from models.trace import Output, Trace, divergence, entropy, row_entropy

N, V = 12, 64
PLANS = {"untouched": lambda lab: HeadPlan(), "gate": lambda lab: HeadPlan().gate(*address(lab, 0, 1), 0.5),
         "scale": another_scale,
         "constant": lambda lab: all_heads(lab, constant=True).constant(*address(lab, 1, 2), on=False)}


@pytest.fixture(params=PLANS)
def plan(request: pytest.FixtureRequest, lab: StackLab) -> HeadPlan:
    return PLANS[request.param](lab)


def arrays(trace: Trace) -> dict[str, ndarray]:
    found = {f"{name}[{kind}]": array for name in ("scores", "live", "weights", "norms")
             for kind, array in getattr(trace, name).items()}
    found |= {f"output {output.position}": output.distribution for output in trace.outputs}
    return found | {"losses": trace.losses} | ({} if trace.mask is None else {"mask": trace.mask})


def output(*probabilities: float) -> Output:
    names = tuple(str(i) for i in range(len(probabilities)))
    return Output(0, numpy.array(probabilities, dtype=numpy.float32), names)


def test_shapes(lab: StackLab, plan: HeadPlan):
    trace = models.run(lab, TEXT, plan)
    assert trace.tokens == ["start", "y=", "7", "x=", "1", "x=", "3", "y=?", "7", "z=", "5", "x=?"]
    heads = lab.shape["self"][1]
    for name in ("scores", "live", "weights"):
        assert list(getattr(trace, name)) == ["self"] and getattr(trace, name)["self"].shape == (LAYERS, heads, N, N)
    assert trace.norms["self"].shape == (LAYERS, heads, N)
    assert (trace.mask is None) == (lab.model.config.attention != "selective")
    assert trace.mask is None or trace.mask.shape == (LAYERS, N, N)
    assert trace.losses.shape == (N,)
    assert [o.position for o in trace.outputs] == [7, 11] and trace.output is trace.outputs[-1]
    assert all(array.dtype == numpy.float32 for array in arrays(trace).values())


def test_nothing_can_be_changed(lab: StackLab):
    trace = models.run(lab, TEXT, PLANS["constant"](lab))
    writeable = [name for name, array in arrays(trace).items() if array.flags.writeable]
    assert not writeable
    for field in fields(trace):
        with pytest.raises(FrozenInstanceError):
            setattr(trace, field.name, None)


def test_norms_follow_from_weights_and_values(lab: StackLab):
    """In the first layer, whose input is the embedding, the output norms follow from weights and values."""
    ids = random_ids(1, N)[0]
    trace, block, heads = trace_of(lab, ids, PLANS["gate"](lab)), lab.model.blocks[0], lab.shape["self"][1]
    x = block.attention_norm(lab.model.embedding(ids))
    values = block.attention.value(x).unflatten(-1, (heads, -1))
    gates = torch.ones(heads, 1)
    gates[1 % heads] = 0.5
    weights = torch.tensor(trace.weights["self"][0])
    if block.attention.replaces_mlp:  # the unit's own gate is applied before the gate of the plan
        values = functional.silu(values)
        outputs = torch.einsum("hij,jhd->hid", weights, values) * functional.silu(block.attention.gate(x))
    else:
        outputs = torch.einsum("hij,jhd->hid", weights, values)
    if isinstance(block.attention, Gated):  # the computed gate is applied before the gate of the plan
        gates = gates * torch.sigmoid(block.attention.gating(x)).T
    assert_close(torch.tensor(trace.norms["self"][0]), outputs.norm(dim=-1) * gates)


def test_outputs_and_losses_are_torchs(lab: StackLab, plan: HeadPlan):
    prompt = lab.task.read(TEXT)
    trace = run_prompt(lab, prompt, plan)
    logits = lab.model.logits(lab.model(torch.tensor([prompt.ids]), lab.interventions(plan, N))[0])
    for out, position in zip(trace.outputs, prompt.predict_at, strict=True):
        assert_close(torch.tensor(out.distribution), logits[position].softmax(-1))
        assert out.target == prompt.targets[position]
        sorted_, order = logits[position].softmax(-1).sort(descending=True)
        assert_close(torch.tensor(out.probabilities), sorted_)
        assert out.labels[0] == lab.task.labels[order[0]] and sorted(out.labels) == sorted(lab.task.labels)
        assert_close(float(out.probabilities.sum()), 1.0, rtol=1e-5, atol=0)
    losses = functional.cross_entropy(logits, torch.tensor(prompt.targets), ignore_index=-1, reduction="none")
    known = torch.tensor(prompt.targets) >= 0
    assert_close(torch.tensor(trace.losses)[known], losses[known])
    assert numpy.isnan(trace.losses).tolist() == (~known).tolist()
    assert_close(trace.loss, float(functional.cross_entropy(logits[known], torch.tensor(prompt.targets)[known])),
                 rtol=1e-5, atol=1e-6)


def test_without_a_question_there_is_no_output(lab: StackLab):
    trace = models.run(lab, "y=7")
    assert trace.outputs == () and trace.output is None and math.isnan(trace.loss)


def test_nbytes_counts_shared_arrays_once(lab: StackLab):
    one = LAYERS * lab.shape["self"][1] * N * N * 4  # size of one array in float32
    live, constant = models.run(lab, TEXT), models.run(lab, TEXT, PLANS["constant"](lab))
    others = [*live.norms.values(), *live.gates.values(), *live.head_outputs.values(), live.losses,
              *(output.distribution for output in live.outputs)]
    others += [] if live.mask is None else [live.mask]
    # computed weights and weights after the plan share memory
    assert live.nbytes == 2 * one + sum(array.nbytes for array in others)
    assert constant.nbytes == live.nbytes + one


def test_generation_is_repeated_running(lab: StackLab, plan: HeadPlan):
    prompt = lab.task.read(TEXT)
    ids, expected = list(prompt.ids), []
    while len(expected) < 6:
        trace = trace_of(lab, torch.tensor(ids), plan)
        ids.append(int(trace.output.distribution.argmax()))
        if ids[-1] == 0:
            break
        expected.append(lab.task.labels[ids[-1]])
    assert list(lab.generate(prompt, plan, count=6)) == expected


def test_generation_stops_at_the_limit_and_at_bos(lab: StackLab):
    always = copy.deepcopy(lab.model)
    prompt = Prompt((0,) * 125, ("start",) * 125, (), (-1,) * 125)
    for token, expected in ((54, ["1"] * 3), (0, [])):  # 128 - 125 = 3 tokens are free
        always.logits = lambda hidden, token=token: functional.one_hot(torch.tensor(token), V).float()
        assert list(replace(lab, model=always).generate(prompt)) == expected


distributions = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda p: [x / sum(p) for x in p])


@given(distributions, distributions)
def test_divergence(p: list[float], q: list[float]):
    assert_close(divergence(output(*p), output(*q)), math.fsum(x * math.log(x / y) for x, y in zip(p, q, strict=True)),
                 rtol=1e-3, atol=1e-6)
    assert divergence(output(*p), output(*q)) >= 0 and divergence(output(*p), output(*p)) == 0


def test_divergence_and_entropy_of_what_is_certain():
    """Tokens of probability 0 count only in `after`, with a finite value; entropy is 0 and not -0.0."""
    assert divergence(output(0.5, 0.5, 0), output(0.25, 0.25, 0.5)) == pytest.approx(math.log(2))
    assert 10 < divergence(output(0.5, 0.5), output(1, 0)) < math.inf
    assert str(float(entropy(numpy.eye(3)[0]))) == "0.0"


@given(distributions)
def test_entropy(p: list[float]):
    rows = numpy.array([[p, p[::-1]]], dtype=numpy.float32)
    expected = -math.fsum(x * math.log(x) for x in p)
    for found in (entropy(rows), row_entropy(3 * rows)):  # rows of relu² do not sum to 1
        assert_close(torch.tensor(found), torch.full((1, 2), expected), rtol=1e-4, atol=1e-5)


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3]), min_size=1, max_size=12), st.integers(1, 14))
def test_the_first_ids_are_those_of_the_whole_order(probabilities: list[float], count: int):
    """Equal probabilities keep the order of their ids."""
    assert output(*probabilities).top(count).tolist() == output(*probabilities).order[:count].tolist()


TEXTS = ["The cat sat on the mat.", "Η γάτα κάθισε.", " two  spaces", "木 é 🙂 end"]


@pytest.mark.parametrize("name", ["stories-softmax", "gpt2", "llama", "xglm"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_model_that_gives_each_byte_the_same_probability_has_that_loss_in_every_tokenizer(name: str, text: str):
    """The bytes of a token are the part of the text between the two ends of its characters."""
    lab = models.load(name) if "-" in name else lab_of(name)
    prompt = lab.read(text)
    unknown = any("[UNK]" in token for token in prompt.tokens)
    if unknown:
        pytest.skip("an unknown word is one token of another size")
    parts = lab.task.bytes_of(prompt.ids)
    sizes = [len(parts[i].split()) if i in parts else len(token.encode()) for i, token in enumerate(prompt.tokens)]
    losses = numpy.array([*sizes[1:], math.nan], dtype=numpy.float32) * math.log(256)
    assert loss_per_byte(lab.task, text, prompt, losses) == pytest.approx(math.log(256), rel=0.1)


@pytest.mark.parametrize(("name", "text", "counted"), [
    ("stories-softmax", "Tom had a café. Η γάτα", "Tom had a café. Η γάτα"),
    ("gpt2", "The cat sat.", None),  # the first token has no prediction
    ("masked-softmax", "The [cat] sat.", " cat")])  # only hidden words have losses
def test_the_loss_per_byte_is_the_sum_over_the_bytes_that_are_predicted(name: str, text: str, counted: str | None):
    lab = models.load(name) if "-" in name else lab_of(name)
    trace = models.run(lab, text)
    counted = counted or text[len(trace.tokens[0]):]
    assert loss_per_byte(lab.task, text, lab.read(text), trace.losses) == pytest.approx(
        float(numpy.nansum(trace.losses)) / len(counted.encode()), rel=1e-5)


def test_a_text_without_losses_has_none():
    lab = models.load("translation-softmax")
    trace = models.run(lab, "The house is old.")
    assert math.isnan(loss_per_byte(lab.task, "The house is old.", lab.read("The house is old."), trace.losses))


class Plain(Lab):
    """Passes the abstract members of Lab, and nothing else, on to a model."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.name, self.task, self.constant, self.card = lab, lab.name, lab.task, lab.constant, lab.card


for member in Lab.__abstractmethods__:
    setattr(Plain, member, property(lambda self, member=member: getattr(self.lab, member)))
Plain.__abstractmethods__ = frozenset()


def test_a_lab_needs_no_more_than_its_abstract_members():
    lab = Plain(make_lab("softmax"))
    prompt = prompt_of(random_ids(1, 8)[0])
    trace = lab.run(prompt, [HeadPlan()])[0]
    assert (lab.layer(prompt, HeadPlan(), "self", 1).weights == trace.weights["self"][1]).all()
    assert lab.sketch(prompt, [HeadPlan()])[0].thumbnails and not list(lab.generate(prompt))
    assert lab.anchored(prompt) is prompt and lab.rewrite(prompt, HeadPlan()) == "" and lab.in_chat is lab


@pytest.mark.parametrize("capability", capabilities.Capability.__subclasses__())
def test_a_missing_capability_is_an_error_with_a_message_for_visitors(capability):
    lab = make_lab("softmax")
    if issubclass(type(lab), capability):
        assert capability.of(lab) is lab
    with pytest.raises(ValueError) as caught:
        capability.of(Plain(lab))
    assert isinstance(caught.value.args[0], Message) and str(caught.value) == capability.missing


def test_the_lens_of_a_plain_lab_says_what_it_lacks():
    stories = models.load("stories-softmax")
    lab = Plain(stories)
    assert run(lab, "The cat").outputs
    with pytest.raises(ValueError, match="predicts no tokens"):
        models.logit_lens(lab, "The cat")

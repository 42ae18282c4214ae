"""Plans on our models: gates (arXiv 1905.09418), constant heads (arXiv 2211.03495), and two plans in one run."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import tiny
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy import ndarray
from tiny import BIDIRECTIONAL, HEADS, LAYERS, TEXT
from torch.testing import assert_close

from models.catalogue import names
from models.lab import run_prompt
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention import TYPES
from models.nets.attention.base import Intervention, Record
from models.nets.mean_patterns import mean_patterns
from models.plan import HeadPlan, HeadState, Scale
from models.trace import Trace

N = 11
EXACTLY = {"rtol": 0, "atol": 0}


def logits(lab: StackLab, ids: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    return lab.model.logits(lab.model(ids[None], lab.interventions(plan, len(ids)))[0])


def with_scaled_slices(lab: StackLab, factors: dict[tuple[int, int], float], ids: torch.Tensor,
                       plan: HeadPlan) -> torch.Tensor:
    """Returns the logits of a copy of the model whose hooks multiply head h of layer l by factors[l, h] before W_O."""
    model = copy.deepcopy(lab.model)
    heads = lab.shape["self"][1]

    def hook(layer: int):
        def scale(module, inputs):
            (x,) = inputs
            x = x.clone().unflatten(-1, (heads, -1))
            for head in range(heads):
                x[..., head, :] *= factors.get((layer, head), 1.0)
            return (x.flatten(-2),)
        return scale

    for layer, block in enumerate(model.blocks):
        block.attention.output.register_forward_pre_hook(hook(layer))
    return model.logits(model(ids[None], lab.interventions(plan, len(ids)))[0])


def test_gate_1_changes_nothing(lab: StackLab):
    ids = tiny.random_ids(1, N)[0]
    untouched = logits(lab, ids, HeadPlan())
    assert_close(logits(lab, ids, tiny.all_heads(lab, gate=1.0)), untouched, **EXACTLY)
    ones = [Intervention(gate=torch.ones(lab.shape["self"][1], 1, 1))] * LAYERS
    assert_close(lab.model.logits(lab.model(ids[None], ones)[0]), untouched, **EXACTLY)


@pytest.mark.parametrize("gate", [0.0, 0.3])
@pytest.mark.parametrize("layer, head", [(0, 0), (0, 3), (1, 2)])
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_gate_is_a_factor_on_a_slice_of_w_o(lab: StackLab, is_constant: bool, layer: int, head: int, gate: float):
    """Constant weights of the same head or of another head apply before the gate."""
    ids, (_, layer, head) = tiny.random_ids(1, N)[0], tiny.address(lab, layer, head)
    plan = HeadPlan().constant(*tiny.address(lab, 0, 0)) if is_constant else HeadPlan()
    gated = logits(lab, ids, plan.gate("self", layer, head, gate))
    assert_close(gated, with_scaled_slices(lab, {(layer, head): gate}, ids, plan), rtol=1e-4, atol=1e-4)
    assert (gated - logits(lab, ids, plan)).abs().max() > 0.01


def test_norms_are_those_of_gated_outputs(lab: StackLab):
    ids = tiny.random_ids(1, N)[0]
    gated = tiny.address(lab, 0, 2)
    before, after = (tiny.trace_of(lab, ids, HeadPlan().gate(*gated, gate)).norms["self"] for gate in (1.0, 0.25))
    assert_close(torch.tensor(after[0, gated[2]]), torch.tensor(before[0, gated[2]] / 4))
    others = [head for head in range(lab.shape["self"][1]) if head != gated[2]]
    assert_close(torch.tensor(after[0, others]), torch.tensor(before[0, others]), **EXACTLY)


@pytest.mark.parametrize("attention", sorted(name for name, kind in TYPES.items() if len(kind.policies) > 1))
def test_the_scale_does_not_reach_constant_heads(lab: StackLab):
    ids = tiny.random_ids(1, N)[0]
    every, (_, layer, head) = tiny.all_heads(lab, constant=True), tiny.address(lab, 0, 1)
    assert_close(logits(lab, ids, tiny.another_scale(lab, every)), logits(lab, ids, every), **EXACTLY)
    scaled = tiny.another_scale(lab, HeadPlan().constant("self", layer, head))
    trace, plain = tiny.trace_of(lab, ids, scaled), tiny.trace_of(lab, ids)
    assert_close(torch.tensor(trace.weights["self"][layer, head]), lab.constant["self"][layer, head, :N, :N], **EXACTLY)
    assert abs(trace.weights["self"][1] - plain.weights["self"][1]).max() > 0.01


@pytest.mark.parametrize("absent", [("self", LAYERS, 0), ("self", 0, HEADS), ("cross", 0, 0), ("encoder", 1, 1)])
def test_a_head_that_is_not_there(lab: StackLab, absent: tuple):
    for plan in (HeadPlan().constant(*absent), HeadPlan().gate(*absent, 0.5)):
        with pytest.raises(ValueError, match=lab.name):
            tiny.trace_of(lab, tiny.random_ids(1, N)[0], plan)


def test_a_plan_leaves_no_trace_on_the_model(lab: StackLab):
    """Also if threads with different plans run at once."""
    before = copy.deepcopy(lab.model.state_dict())
    attributes = [dict(vars(block.attention)) for block in lab.model.blocks]
    ids = tiny.random_ids(1, N)[0]
    plans = [HeadPlan(), HeadPlan().gate(*tiny.address(lab, 0, 1), 0), tiny.all_heads(lab, constant=True),
             tiny.another_scale(lab)]
    alone = [logits(lab, ids, plan) for plan in plans]
    with ThreadPoolExecutor(len(plans)) as pool:
        together = list(pool.map(lambda plan: logits(lab, ids, plan), plans * 25))
    for index, result in enumerate(together):
        assert_close(result, alone[index % len(plans)], **EXACTLY)
    for name, tensor in lab.model.state_dict().items():
        assert_close(tensor, before[name], **EXACTLY)
    assert [dict(vars(block.attention)) for block in lab.model.blocks] == attributes


BLIND = {"random", "fixed-random", "factorized-random"}  # types whose attention weights are the same for every text


def sees_texts(lab: StackLab) -> bool:
    return lab.model.config.attention not in BLIND


def test_the_mean_of_one_text_is_that_text(lab: StackLab):
    ids = tiny.random_ids(1, N)
    only = tiny.with_constant(lab, mean_patterns(lab.model, ids))
    before, after = tiny.trace_of(only, ids[0]), tiny.trace_of(only, ids[0], tiny.all_heads(lab, constant=True))
    assert_close(torch.tensor(after.weights["self"]), torch.tensor(before.live["self"]), **EXACTLY)
    assert_close(torch.tensor(after.losses), torch.tensor(before.losses), equal_nan=True, **EXACTLY)
    assert_close(torch.tensor(after.output.distribution), torch.tensor(before.output.distribution), **EXACTLY)


def test_the_mean_is_a_mean(lab: StackLab):
    """The mean over 70 texts, which are more than one batch, equals a loop over single texts in float64."""
    texts = tiny.random_ids(70, N)
    total = torch.zeros(*lab.shape["self"], N, N, dtype=torch.float64)
    for text in texts:
        records: list[Record] = []
        lab.model(text[None], records=records)
        for layer, record in enumerate(records):
            total[layer] += record.live[0].double()
    mean = mean_patterns(lab.model, texts)
    assert_close(mean.double(), total / 70, rtol=1e-5, atol=1e-7)
    assert mean.dtype == torch.float32
    if lab.attention.is_distribution:
        assert_close(mean.sum(-1), torch.ones(*lab.shape["self"], N))
    few = mean_patterns(lab.model, texts[:32])
    if sees_texts(lab):
        assert (mean - few).abs().max() > 0.01
    else:  # types with tables have the same weights for every text, so the mean equals them
        assert_close(few, mean)


def test_a_constant_head_is_blind(lab: StackLab):
    """Two texts have the stored weights in it; other heads differ, unless their type ignores the text."""
    plan = HeadPlan().constant(*tiny.address(lab, 0, 1)).constant(*tiny.address(lab, 1, 2))
    one, other = (tiny.trace_of(lab, ids, plan) for ids in tiny.random_ids(2, N))
    for layer in range(LAYERS):
        for head in range(lab.shape["self"][1]):
            weights = [torch.tensor(trace.weights["self"][layer, head]) for trace in (one, other)]
            if plan.state("self", layer, head).constant:
                assert_close(weights[0], weights[1], **EXACTLY)
                assert_close(weights[0], lab.constant["self"][layer, head, :N, :N], **EXACTLY)
            else:
                assert ((weights[0] - weights[1]).abs().max() > 0.01) == sees_texts(lab)
                assert_close(weights[0], torch.tensor(one.live["self"][layer, head]), **EXACTLY)


def test_other_heads_of_a_constant_head_s_layer_are_unchanged(lab: StackLab):
    """Other heads of the same layer are unchanged. Heads of later layers change, because their input changes."""
    ids = tiny.random_ids(1, N)[0]
    constant = tiny.address(lab, 0, 1)
    before, after = tiny.trace_of(lab, ids), tiny.trace_of(lab, ids, HeadPlan().constant(*constant))
    for name in ("scores", "live"):
        assert_close(torch.tensor(getattr(after, name)["self"][0]), torch.tensor(getattr(before, name)["self"][0]),
                     **EXACTLY)
    for head in {*range(lab.shape["self"][1])} - {constant[2]}:
        used, live = after.weights["self"][0, head], before.live["self"][0, head]
        assert_close(torch.tensor(used), torch.tensor(live), **EXACTLY)
    assert (abs(after.live["self"][1] - before.live["self"][1]).max() > 0.01) == sees_texts(lab)


@pytest.fixture(params=BIDIRECTIONAL)
def bidirectional(request: pytest.FixtureRequest) -> StackLab:
    return tiny.make_lab(request.param, causal=False)


@pytest.mark.parametrize("n", [1, 2, 11, 127, 128])
def test_slices_of_bidirectional_matrices_sum_to_1_again(bidirectional: StackLab, n: int):
    """As in PAPA (mask_and_normalize); rows of relu² attention, which have other sums, are cut only."""
    for layer in range(LAYERS):
        expected = bidirectional.constant["self"][layer, :, :n, :n].double()
        if bidirectional.attention.is_distribution:
            for row in expected.flatten(0, 1):
                row /= sum(row.tolist())
        found = torch.from_numpy(bidirectional.constant_of("self", layer, n, n))
        assert_close(found.double(), expected, rtol=1e-5, atol=1e-9)
        used = bidirectional.interventions(HeadPlan().constant("self", layer, 0), n)[layer].constant
        assert_close(used, found, **EXACTLY)


def test_a_row_whose_weight_lies_beyond_the_text_weighs_all_keys_alike():
    lab = tiny.make_lab("softmax", causal=False)
    constant = torch.zeros_like(lab.constant["self"])
    constant[..., torch.arange(128), (torch.arange(128) + 4).clamp(max=127)] = 1  # heads attend 4 tokens ahead
    ahead = tiny.with_constant(lab, constant)
    matrices = torch.from_numpy(ahead.constant_of("self", 0, 6, 6))
    assert_close(matrices[0, 1], torch.eye(6)[5])
    assert_close(matrices[:, 2:], torch.full_like(matrices[:, 2:], 1 / 6))
    trace = tiny.trace_of(ahead, tiny.random_ids(1, 6)[0], tiny.all_heads(ahead, constant=True))
    assert all(numpy.isfinite(output.distribution).all() for output in trace.outputs)
    assert numpy.isfinite(trace.weights["self"]).all()


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("masked")])
def test_shipped_masked_models_have_constant_heads_at_every_length(name: str):
    shipped = own(name)
    for layer in range(shipped.shape["self"][0]):
        for n in (1, 2, 3, 4, 5, 8, 64, 128):
            matrices = torch.from_numpy(shipped.constant_of("self", layer, n, n))
            assert matrices.isfinite().all()
            if shipped.attention.is_distribution:
                assert_close(matrices.sum(-1), torch.ones(matrices.shape[:-1]), rtol=1e-4, atol=1e-4)


# one pass for two plans adds numbers in another order than two passes
NEARLY = {"rtol": 1e-4, "atol": 2e-5}


def arrays(trace: Trace) -> dict[str, ndarray]:
    found = {name: getattr(trace, name)["self"] for name in ("scores", "live", "weights", "norms")}
    found |= {f"output {output.position}": output.distribution for output in trace.outputs}
    return found | {"losses": trace.losses} | ({} if trace.mask is None else {"mask": trace.mask})


def check(lab: StackLab, prompt, plan: HeadPlan) -> None:
    both, alone = lab.run(prompt, [HeadPlan(), plan]), [run_prompt(lab, prompt, each) for each in (HeadPlan(), plan)]
    for found, expected in zip(both, alone, strict=True):
        assert found.tokens == expected.tokens and found.prompt == expected.prompt
        assert arrays(found).keys() == arrays(expected).keys()
        for name, array in arrays(expected).items():
            assert array.shape == arrays(found)[name].shape
            assert_close(torch.tensor(arrays(found)[name]), torch.tensor(array), equal_nan=True, **NEARLY,
                         msg=lambda text, name=name: f"{name}: {text}")
        # traces share the array of computed weights if the plan leaves the weights unmodified
        assert found.nbytes == expected.nbytes


def scales_of(attention: str) -> st.SearchStrategy[Scale]:
    policies = TYPES[attention].policies
    plain = st.sampled_from([Scale(policy) for policy in policies if policy != "logn"])
    return plain | st.integers(2, 600).map(lambda base: Scale("logn", base)) if "logn" in policies else plain


def plans_of(lab: StackLab) -> st.SearchStrategy[HeadPlan]:
    layers, heads = lab.shape["self"]
    addresses = st.tuples(st.just("self"), st.integers(0, layers - 1), st.integers(0, heads - 1))
    states = st.builds(HeadState, st.booleans(), st.sampled_from([0.0, 0.3, 1.0]))
    return st.builds(HeadPlan, st.dictionaries(addresses, states), scales_of(lab.model.config.attention))


LABS = [(name, causal) for name in TYPES for causal in (True, False) if causal or name != "selective"]


@pytest.mark.parametrize("attention, causal", LABS)
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_running_two_plans_at_once_equals_two_runs(attention: str, causal: bool, data: st.DataObject):
    lab = tiny.make_lab(attention, causal)
    ids = tiny.random_ids(1, data.draw(st.integers(1, 14)), data.draw(st.integers(0, 9)))[0]
    check(lab, tiny.prompt_of(ids), data.draw(plans_of(lab)))


@pytest.mark.parametrize("attention, causal", LABS)
def test_both_under_every_policy(attention: str, causal: bool):
    """Every scale policy is correct alone and together with constant or gated heads, on a text with questions."""
    lab = tiny.make_lab(attention, causal)
    prompt = lab.read(TEXT)
    for policy in TYPES[attention].policies:
        scale = Scale(policy, 9 if policy == "logn" else None)
        for plan in (HeadPlan(), tiny.all_heads(lab, gate=0.5), HeadPlan().constant("self", 1, 0),
                     tiny.all_heads(lab, constant=True, gate=0.5)):
            check(lab, prompt, HeadPlan(plan.heads, scale))

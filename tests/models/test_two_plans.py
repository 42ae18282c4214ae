"""A run with two plans equals two runs, for every attention type, plan and scale."""


import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy import ndarray
from tiny import TEXT, all_heads, make_lab, prompt_of, random_ids
from torch.testing import assert_close

from models.lab import run_prompt
from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.plan import HeadPlan, HeadState, Scale
from models.trace import Trace

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
    lab = make_lab(attention, causal)
    ids = random_ids(1, data.draw(st.integers(1, 14)), data.draw(st.integers(0, 9)))[0]
    check(lab, prompt_of(ids), data.draw(plans_of(lab)))


@pytest.mark.parametrize("attention, causal", LABS)
def test_both_under_every_policy(attention: str, causal: bool):
    """Every scale policy is correct alone and together with constant or gated heads, on a text with questions."""
    lab = make_lab(attention, causal)
    prompt = lab.read(TEXT)
    for policy in TYPES[attention].policies:
        scale = Scale(policy, 9 if policy == "logn" else None)
        for plan in (HeadPlan(), all_heads(lab, gate=0.5), HeadPlan().constant("self", 1, 0),
                     all_heads(lab, constant=True, gate=0.5)):
            check(lab, prompt, HeadPlan(plan.heads, scale))

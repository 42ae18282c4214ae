"""Each parameter belongs to exactly one optimiser; matrices have weight decay, tables have their own learning rate."""

import pytest
import torch
from tiny import make_config, make_model

from models.generate.decoding import generator
from models.nets.transformer import Transformer
from models.training.muon import Muon
from models.training.recipes import Recipe
from models.training.trainer import PRECISIONS, optimisers_of


def recipe_of(attention: str, muon: bool) -> Recipe:
    return Recipe(make_config(attention), steps=100, learning_rate=0.01, muon=muon, beta2=0.9, weight_decay=0.3,
                  table_rate=7.0)


@pytest.mark.parametrize("muon", [False, True])
def test_every_parameter_is_in_one_group_with_its_settings(attention: str, muon: bool):
    """Muon has only matrices of layers; AdamW embeddings and vectors, as Muon's authors recommend."""
    model = make_model(attention).requires_grad_(True)
    optimisers = optimisers_of(model, recipe_of(attention, muon))
    groups = [group for optimiser in optimisers for group in optimiser.param_groups]
    found = [id(parameter) for group in groups for parameter in group["params"]]
    assert len(found) == len(set(found)) and set(found) == {id(parameter) for parameter in model.parameters()}
    assert all(group["params"] and "factor" in group for group in groups)
    assert [type(optimiser).__name__ for optimiser in optimisers] == (["Muon", "AdamW"] if muon else ["AdamW"])
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                name = names[id(parameter)]
                is_table = name.endswith("table")
                assert group["factor"] == (7.0 if is_table else 1.0), name
                if parameter.ndim < 2 or is_table:
                    assert group["weight_decay"] == 0, name
                if name.endswith(("value.weight", "output.weight", "up.weight", "query.weight", "shared.weight")):
                    assert group["weight_decay"] == 0.3, name
                    assert isinstance(optimiser, torch.optim.Muon) == muon, name
                if parameter.ndim != 2 or name == "embedding.weight" or is_table:
                    assert isinstance(optimiser, torch.optim.AdamW), name
                if isinstance(optimiser, torch.optim.AdamW):
                    assert group["betas"] == (0.9, 0.9)


def test_tables_are_those_with_a_number_a_position(attention: str):
    model = Transformer(make_config(attention, length=23))
    for name, parameter in model.named_parameters():
        if 23 in parameter.shape and not name.endswith(".weight"):  # the matrix W2 of dense Synthesizers is not a table
            assert name.endswith("table"), name
        if name.endswith("table") and not name.endswith(("mixing_table", "bias_table")):
            assert 23 in parameter.shape, name


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(32, 32), (96, 32), (32, 128)])
def test_a_step_of_muon_is_as_large_as_one_of_adamw(shape: tuple[int, int], precision: str):
    """Orthogonal, of 0.2 times the rate as root mean square (Liu et al. 2025, section 2.2), for any gradient."""
    for size in (1e-3, 10.0):
        model = torch.nn.Module()
        model.embedding = torch.nn.Embedding(4, 4)
        model.linear = torch.nn.Linear(*reversed(shape), bias=False)
        recipe = Recipe(make_config("softmax"), steps=10, learning_rate=0.01, muon=True, weight_decay=0.0)
        muon = optimisers_of(model, recipe, precision)[0]
        assert type(muon) is {"float32": Muon, "bfloat16": torch.optim.Muon}[precision]
        before = model.linear.weight.detach().clone()
        model.linear.weight.grad = size * torch.randn(shape, generator=generator(1))
        muon.step()
        step = (model.linear.weight.detach() - before) / 0.01
        assert float(step.square().mean().sqrt()) == pytest.approx(0.2, rel=0.25)
        values = torch.linalg.svdvals(step)
        assert values.max() / values.min() < 2.5  # after five Newton-Schulz steps the singular values are about equal


@pytest.mark.parametrize("shape", [(24, 24), (16, 48), (48, 16)])
def test_muon_is_torchs_in_another_precision(shape: tuple[int, int]):
    """To about three digits: torch orthogonalises in bfloat16."""
    start = torch.randn(shape, generator=generator(1))
    weights = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    options = {"weight_decay": 0.3}
    ours = Muon([{"params": [weights[0]], **options}], lr=0.01)
    theirs = torch.optim.Muon([{"params": [weights[1]], **options}], lr=0.01, adjust_lr_fn="match_rms_adamw")
    for step in range(5):
        for weight, optimiser in zip(weights, (ours, theirs), strict=True):
            weight.grad = torch.randn(shape, generator=generator(2, step))
            optimiser.step()
    moved = [(weight - start).detach() for weight in weights]
    assert 0 < (moved[0] - moved[1]).norm() < 0.02 * moved[1].norm()
    assert torch.equal(ours.state[weights[0]]["momentum_buffer"], theirs.state[weights[1]]["momentum_buffer"])

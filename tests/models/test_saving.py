"""Saved models: `from_pretrained` of plain transformers returns a model with the same results as under the plan."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from foreign_tiny import folder_of, lab_of
from safetensors.torch import load_file
from torch.testing import assert_close

import models
from models import HeadPlan
from models.errors import StructureError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.comparison import probe
from models.labs.foreign.opening.folder import open_folder
from models.prompt import Prompt
from tests.models.foreign_architectures import ARCHITECTURES

GATES = {0: 0.0, 1: 0.5, 3: 0.25}  # head -> gate, the same in every layer of a block
# SqueezeBERT's W_O is a grouped convolution
UNSAVED = {"squeezebert"}


def plan_of(lab: ForeignLab, gates: dict[int, float]) -> HeadPlan:
    """Returns a plan with these gates in every layer of every block."""
    return HeadPlan.parse("_".join(
        "-".join([kind, *(f"{layer}.{head}g{gate}" for layer in range(layers) for head, gate in gates.items()
                          if head < heads)]) for kind, (layers, heads) in lab.shape.items()))


def inputs_of(lab: ForeignLab) -> dict[str, Any]:
    return probe(lab.task, 11, 5).inputs


def reloaded(folder: Path, lab: ForeignLab) -> Any:
    """Returns the saved model, loaded by plain transformers."""
    auto = getattr(transformers, lab.task.auto)
    return auto.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


def numbers(result: Any) -> torch.Tensor:
    return result["logits"] if "logits" in result else result["last_hidden_state"]


def under(lab: ForeignLab, plan: HeadPlan) -> torch.Tensor:
    """Returns the results of the model under the plan, computed by this project."""
    return numbers(lab.forward(inputs_of(lab), Prompt((), (), (), ()), plan))


@pytest.mark.parametrize("name", sorted(ARCHITECTURES.keys() - UNSAVED))
def test_a_saved_model_has_the_results_of_the_plan(name, tmp_path):
    lab = lab_of(name)
    plan = plan_of(lab, GATES)
    saved = models.save_pretrained(lab, tmp_path, plan)
    assert saved.folded == tuple(plan.heads)
    with torch.inference_mode():
        assert_close(numbers(reloaded(tmp_path, lab)(**inputs_of(lab))), under(lab, plan), rtol=1e-4, atol=1e-5)
        # the plan changes the results, so the comparison can fail
        assert not torch.allclose(under(lab, plan), under(lab, HeadPlan()), rtol=1e-3, atol=1e-3)
    again = open_folder("tiny:saved", tmp_path)  # the tokenizer and the image processor are saved too
    assert type(again.task) is type(lab.task)


def test_only_the_weights_that_read_the_heads_differ(tmp_path):
    models.save_pretrained(lab_of("gpt2"), tmp_path, HeadPlan().gate("self", 1, 2, 0.5))
    old, new = load_file(folder_of("gpt2") / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert old.keys() == new.keys()
    changed = [name for name, weight in old.items() if not torch.equal(weight, new[name])]
    assert changed == ["transformer.h.1.attn.c_proj.weight"]
    rows = (old[changed[0]] != new[changed[0]]).any(1).nonzero().flatten()
    assert rows.tolist() == [*range(16, 24)]  # head 2 of four heads of 8
    torch.testing.assert_close(new[changed[0]][16:24], 0.5 * old[changed[0]][16:24], rtol=0, atol=0)


# architecture, gates -> the numbers of query heads, and of key and value heads, that are left
@pytest.mark.parametrize(("name", "gates", "left"), [
    ("llama", {0: 0.0, 1: 0.0}, (2, 1)),  # both query heads of one key head
    ("llama", {0: 0.0, 3: 0.0}, (2, 2)),  # one query head of each key head
    ("llama", {0: 0.0}, (4, 2)),  # every key head needs equally many query heads, so nothing is removed
    ("llama", {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}, (1, 1)),  # a model keeps at least one head
    ("gpt_oss", {0: 0.0, 1: 0.0, 2: 0.5}, (2, 1)),  # a sink is one number per head, so it is removed with the head
    ("t5", {1: 0.0, 2: 0.5}, (3, None)),  # all layers of a stack share the bias, so a head is removed in all layers
    ("gpt2", {0: 0.0}, (4, None)), ("bert", {0: 0.0}, (4, None)),  # nothing: head width = hidden_size / heads
])
def test_pruned_heads_are_cut_where_the_architecture_allows_it(name, gates, left, tmp_path):
    lab = lab_of(name)
    plan = plan_of(lab, gates)
    saved = models.save_pretrained(lab, tmp_path, plan)
    model = reloaded(tmp_path, lab)
    assert (model.config.num_attention_heads, getattr(model.config, "num_key_value_heads", None)) == left
    assert saved.cut == sum(layers * (heads - left[0]) for layers, heads in lab.shape.values())
    assert (saved.cut > 0) == (sum(weight.numel() for weight in model.parameters()) < lab.parameters)
    with torch.inference_mode():
        assert_close(numbers(model(**inputs_of(lab))), under(lab, plan), rtol=1e-4, atol=1e-5)
    assert open_folder("tiny:cut", tmp_path).kinds[0].heads == left[0]


def test_layers_with_other_pruned_heads_are_cut_together(tmp_path):
    lab = lab_of("llama")
    plan = HeadPlan.parse("self-0.0~1g0-1.2~3g0")
    assert models.save_pretrained(lab, tmp_path, plan).cut == 4
    with torch.inference_mode():
        assert_close(numbers(reloaded(tmp_path, lab)(**inputs_of(lab))), under(lab, plan), rtol=1e-4, atol=1e-5)


def test_an_unmodified_model_is_saved_bit_for_bit(tmp_path):
    saved = models.save_pretrained(lab_of("llama"), tmp_path)
    old, new = load_file(folder_of("llama") / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert (saved.cut, saved.folded) == (0, ())
    assert old.keys() == new.keys() and all(torch.equal(weight, new[name]) for name, weight in old.items())


@pytest.mark.parametrize(("name", "plan", "reason"), [
    ("gpt2", "self-0.0c", "constant heads"), ("gpt2", "self-0.0p", "patched heads"), ("gpt2", "scale-logn9", "log n"),
    ("albert", "self-0.0g0", "share weights"), ("squeezebert", "self-0.0g0", "no linear map"),
])
def test_what_transformers_cannot_hold_is_refused_with_a_sentence(name, plan, reason, tmp_path):
    with pytest.raises(StructureError, match=reason):
        models.save_pretrained(lab_of(name), tmp_path / "new", HeadPlan.parse(plan))
    assert not (tmp_path / "new").exists()


def test_saving_leaves_nothing_on_the_model(tmp_path):
    lab = lab_of("t5")
    before = under(lab, HeadPlan())
    models.save_pretrained(lab, tmp_path, plan_of(lab, {0: 0.0}))
    assert torch.equal(under(lab, HeadPlan()), before)
    with pytest.raises(ValueError, match="layer|head"):
        models.save_pretrained(lab, tmp_path, HeadPlan().gate("encoder", 9, 0, 0.0))


STORY = "Tom had a big red ball…  He went to the park with his mom. He wanted to play with his"


@pytest.mark.parametrize(("name", "plan"), [
    ("stories-softmax", ""), ("stories-softmax-wide", "self-0.3g0-1.2g0.4"), ("stories-softmax-512", "self-3.0g0.5")])
def test_a_model_of_ours_goes_to_transformers_and_comes_back(name, plan, tmp_path):
    """Its maps equal those of our own code, which tests both adapters."""
    lab, plan = models.load(name), HeadPlan.parse(plan)
    saved = models.save_pretrained(lab, tmp_path, plan)
    assert saved.folded == tuple(plan.heads)
    back = models.load_folder(tmp_path)
    expected, found = models.run(lab, STORY, plan), models.run(back, STORY)
    assert found.prompt.ids == expected.prompt.ids
    for one, other in ((found.live, expected.live), (found.scores, expected.scores)):
        assert_close(torch.tensor(one["self"]), torch.tensor(other["self"]), rtol=1e-4, atol=2e-5)
    # gates are now part of W_O, so the norms before W_O are those of the unmodified heads
    gates = torch.tensor([[plan.state("self", layer, head).gate for head in range(lab.shape["self"][1])]
                          for layer in range(lab.shape["self"][0])])
    assert_close(torch.tensor(found.norms["self"]) * gates[..., None], torch.tensor(expected.norms["self"]), rtol=1e-3,
                 atol=1e-4)
    assert_close(torch.tensor(found.losses), torch.tensor(expected.losses), rtol=1e-4, atol=1e-4, equal_nan=True)
    assert_close(torch.tensor(found.output.distribution), torch.tensor(expected.output.distribution), rtol=1e-3,
                 atol=1e-6)


@pytest.mark.parametrize(("name", "reason"), [
    ("stories-selective", "only softmax"), ("masked-softmax", "bidirectional"),
    ("translation-softmax", "encoder-decoder"), ("assignment-softmax", "tokenizer")])
def test_models_of_ours_without_an_equal_architecture_are_refused(name, reason, tmp_path):
    with pytest.raises(StructureError, match=reason):
        models.save_pretrained(models.load(name), tmp_path / "new")
    assert not (tmp_path / "new").exists()

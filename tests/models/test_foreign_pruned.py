"""Checkpoints that transformers 4 pruned: their weights lack the heads listed in config.json as pruned."""

import re
import shutil
from pathlib import Path

import numpy
import pytest
import torch
from foreign_tiny import TEXT, edit, folder_of, lab_of, picture
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import models
from models import HeadPlan
from models.lab import run_prompt
from models.labs.foreign.errors import ForeignError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading.vision import PictureReader
from models.trace import Trace

PRUNED = {0: [1], 1: [0, 3]}
HEADS, SIZE = 4, 32  # heads per layer and width of the tiny models


def kept(layer: int, groups: int = 1) -> torch.Tensor:
    """Returns the rows or columns of the heads that remain. GPT-2 has fused weights with three groups: queries, keys
    and values."""
    return torch.cat([torch.arange(group * SIZE + head * 8, group * SIZE + head * 8 + 8) for group in range(groups)
                      for head in range(HEADS) if head not in PRUNED[layer]])


def prune(name: str, folder: Path) -> Path:
    """Writes a checkpoint as `prune_heads` and `save_pretrained` of transformers 4 did."""
    folder = Path(shutil.copytree(folder_of(name), folder / name))
    weights = load_file(folder / "model.safetensors")
    for key, tensor in weights.items():
        part = re.search(r"\.(\d+)\.att.*?\.(\w+(?:\.dense)?)\.(weight|bias)$", key)
        if part is None or "norm" in key.lower():
            continue
        layer, module, fused = int(part[1]), part[2], part[2] == "c_attn"
        if module in ("output.dense", "out_lin", "c_proj"):
            if tensor.ndim == 2:
                weights[key] = tensor.index_select(0 if name == "gpt2" else 1, kept(layer)).contiguous()
        else:
            weights[key] = tensor.index_select(tensor.ndim - 1 if fused else 0,
                                               kept(layer, 3 if fused else 1)).contiguous()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return edit(folder, "config.json", pruned_heads=PRUNED)


def answer(lab: ForeignLab, plan: HeadPlan = HeadPlan()) -> Trace:
    """Runs the model on a text or a picture."""
    prompt = lab.read_picture(picture()) if isinstance(lab.task, PictureReader) else lab.read(TEXT)
    return run_prompt(lab, prompt, plan)


@pytest.mark.parametrize("name", ["bert-class", "gpt2", "distilbert", "vit"])
def test_a_pruned_checkpoint_is_the_whole_one_under_gates_of_zero(name: str, tmp_path: Path):
    folder = prune(name, tmp_path)
    assert (folder / "model.safetensors").stat().st_size < (folder_of(name) / "model.safetensors").stat().st_size
    lab, closed = open_folder("folder:pruned", folder), [("self", layer, head) for layer, cut in PRUNED.items()
                                                         for head in cut]
    assert lab.closed == set(closed) and not lab_of(name).closed
    trace, expected = answer(lab), answer(lab_of(name), HeadPlan().with_heads(closed, gate=0.0))
    if expected.outputs:
        assert_close(trace.outputs[0].distribution, expected.outputs[0].distribution, rtol=1e-4, atol=1e-6)
    assert_close(trace.losses, expected.losses, rtol=1e-4, atol=1e-5, equal_nan=True)
    for layer, cut in PRUNED.items():
        left = [head for head in range(HEADS) if head not in cut]
        assert_close(trace.weights["self"][layer, left], expected.weights["self"][layer, left], rtol=1e-4, atol=1e-6)
        assert not trace.norms["self"][layer, cut].any() and trace.norms["self"][layer, left].all()
    whole = answer(lab_of(name))
    assert not numpy.allclose(whole.norms["self"][1], expected.norms["self"][1])  # the pruning has an effect


@pytest.mark.parametrize("given", [{"0": [9]}, {"7": [0]}, {"x": [0]}, [1], {"0": 3}])
def test_heads_that_do_not_exist_are_refused(given: object, folder: Path):
    with pytest.raises(ForeignError, match="config.json"):
        models.load_folder(edit(folder, "config.json", pruned_heads=given))

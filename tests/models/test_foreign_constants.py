"""Heads of foreign models without computed weights: PAPA's constant matrices, and pruned checkpoints."""

import re
import shutil
from pathlib import Path

import numpy
import pytest
import torch
from foreign_tiny import TEXT, TEXTS, edit, folder_of, lab_of, picture
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import models
from models import HeadPlan
from models.errors import CancelledError, InputError
from models.lab import run_prompt
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.refusals import ForeignError
from models.labs.foreign.running.constants import mean_weights, passages
from models.labs.foreign.running.passes import grid_positions
from models.trace import Trace


def test_places_of_a_text():
    """Equal to PAPA's code: CLS at 0, the last SEP at the end, the first SEP of a pair in the middle."""
    assert grid_positions(4, 8) == [0, 1, 2, 7]
    assert grid_positions(8, 8) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert grid_positions(1, 8) == [7]
    assert grid_positions(7, 12, first_break=3) == [0, 1, 2, 6, 7, 8, 11]  # tokens [CLS] a b [SEP] c d [SEP]
    # the first text of this pair is longer than half of the grid
    assert grid_positions(9, 12, first_break=7) == [0, 1, 2, 3, 4, 5, 6, 7, 11]
    with pytest.raises(ValueError, match="at most 8"):
        grid_positions(9, 8)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_every_entry_has_a_denominator_of_its_own(name: str):
    """An entry (query, key) is divided by the number of texts that have both positions."""
    lab, size = lab_of(name), 48
    found = mean_weights(lab, TEXTS, size)["self"]
    total, count = numpy.zeros(found.shape), numpy.zeros(found.shape)
    for text in TEXTS:
        live = models.run(lab, text).live["self"]
        n = live.shape[-1]
        for i in range(n):
            for j in range(n):
                at = (..., i if i < n - 1 else size - 1, j if j < n - 1 else size - 1)
                total[at] += live[..., i, j]
                count[at] += 1
    assert len({models.run(lab, text).live["self"].shape[-1] for text in TEXTS}) > 1 and count.max() == len(TEXTS)
    assert_close(found.numpy(), (total / numpy.maximum(count, 1)).astype(numpy.float32), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_causal_model_is_cut(name: str):
    """Matrices of a causal model are aligned left and zero above the diagonal; rows that a text reached sum to 1."""
    lab = lab_of(name)
    made = lab.with_constant(mean_weights(lab, TEXTS, 60))
    lives = [models.run(lab, text).live["self"] for text in TEXTS]
    first = numpy.mean([live[..., :5, :5] for live in lives], axis=0)
    for layer in range(2):
        assert_close(made.constant_of("self", layer, 5, 5), first[layer], rtol=1e-4, atol=1e-6)
        assert not numpy.triu(made.constant_of("self", layer, 9, 9), 1).any()
    longest = max(live.shape[-1] for live in lives)
    assert longest < 60
    beyond = made.constant_of("self", 0, 60, 60)
    # rows that no text reached are uniform
    assert_close(beyond[:, 59], numpy.full((4, 60), 1 / 60, dtype=numpy.float32))


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "bart", "marian", "vit"])
def test_constant_heads_of_a_made_lab(name: str):
    """Rows sum to 1 for every size and block, and the original Lab is unchanged."""
    lab = lab_of(name)
    prompts = [lab.read_picture(picture(seed)) for seed in range(3)] if name == "vit" else TEXTS
    made = lab.with_constant(mean_weights(lab, prompts, 48))
    assert lab.constant is None and made.constant is not None and made.identity != lab.identity
    assert made.limit <= 48 and made.nbytes > lab.nbytes
    every = HeadPlan().with_heads([a for kind in made.kinds for a in kind.addresses], constant=True)
    prompt = lab.read_picture(picture(9)) if name == "vit" else made.read("The dog sat on the mat.")
    trace = run_prompt(made, prompt, every)
    for kind, weights in trace.weights.items():
        assert_close(weights.sum(-1), numpy.ones(weights.shape[:-1], dtype=numpy.float32), rtol=1e-4, atol=1e-5)
        for layer in range(len(weights)):
            assert_close(weights[layer], made.constant_of(kind, layer, *weights.shape[-2:]))
        assert not numpy.array_equal(trace.live[kind], weights)
    with pytest.raises(ValueError, match="no constant matrices"):
        run_prompt(lab, prompt, every)


def test_a_pair_of_texts_has_two_segments():
    lab = lab_of("bert")
    random = torch.Generator().manual_seed(0)
    made = lab.with_constant({"self": torch.rand(2, 4, 32, 32, generator=random)})
    prompt = made.read("The cat sat. [SEP] The dog sat.")
    assert prompt.tokens.count("[SEP]") == 2
    ids = made.task.inputs(prompt)["token_type_ids"][0].tolist()
    first = prompt.tokens.index("[SEP]")
    assert ids == [0] * (first + 1) + [1] * (len(ids) - first - 1)
    at = [*range(first), *range(16, 16 + len(ids) - 1 - first), 31]
    expected = made.constant["self"][:, :, at][..., at]
    weights = run_prompt(made, prompt, HeadPlan().constant("self", 1, 2)).weights["self"][1, 2]
    assert_close(torch.tensor(weights), expected[1, 2] / expected[1, 2].sum(-1, keepdim=True))


def test_progress_and_cancel():
    lab, calls = lab_of("bert"), []
    mean_weights(lab, TEXTS, 32, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(i, len(TEXTS)) for i in range(len(TEXTS) + 1)]
    with pytest.raises(CancelledError):
        mean_weights(lab, TEXTS, 32, cancelled=lambda: True)


def test_texts_that_cannot_be_read_or_are_too_long():
    lab = lab_of("bert")
    assert_close(mean_weights(lab, ["", *TEXTS, "  "], 32)["self"], mean_weights(lab, TEXTS, 32)["self"])
    with pytest.raises(InputError):
        mean_weights(lab, ["", " "], 32)
    made = lab.with_constant(mean_weights(lab, TEXTS, 8))
    assert made.limit == 8 and len(made.read(TEXTS[0]).ids) == 8
    with pytest.raises(ValueError, match="at most 8 tokens"):
        run_prompt(made, lab.read(TEXTS[0]), HeadPlan().constant("self", 0, 0))
    with pytest.raises(ValueError, match="not for 2 x 4 heads"):
        lab.with_constant({"self": torch.zeros(2, 3, 8, 8)})


def test_passages():
    assert passages("One.\n\nTwo,\nand more.\n\n\n") == ["One.", "Two,\nand more."]
    assert passages("One.\r\nTwo.\n") == ["One.", "Two."]
    assert passages("a\nb\nc", most=2) == ["a", "b"] and passages(" \n ") == []


PRUNED = {0: [1], 1: [0, 3]}
HEADS, SIZE = 4, 32  # heads per layer and width of the tiny models


def kept(layer: int, groups: int = 1) -> torch.Tensor:
    """Returns the rows or columns of the heads that remain; GPT-2 fuses queries, keys and values."""
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

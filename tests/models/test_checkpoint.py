"""Model folders: 8-bit weights are as near as they can be, written models are read, and damage is reported."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tiny import HEADS, LAYERS, either_way, make_lab, make_model, random_ids, trace_of, written
from torch import Tensor
from torch.testing import assert_close

import models
from models import loading
from models.storage import checkpoint
from models.tasks import TASKS, assignment
from models.training import cards
from models.training.cards import finish

NAME = "assignment-selective"  # load() accepts this name of a released model; the folder contains a tiny model


@pytest.fixture
def folder(checkpoints: Path) -> Path:
    """Returns the folder of a tiny model, which load() reads instead of the folder of the released model."""
    tiny = make_lab("selective")
    return written(checkpoints / NAME, "assignment", tiny.model, tiny.constant)


def test_what_is_written_is_read(folder: Path):
    """Weights in 8 bits, vectors exactly, matrices in half precision, whose rows sum to 1 again."""
    tiny, read = make_lab("selective"), models.load(NAME)
    assert sorted(path.name for path in folder.iterdir()) == sorted(checkpoint.FILES)
    assert read.model.config == tiny.model.config and read.name == NAME
    assert read.card == json.loads((folder / "card.json").read_text())
    assert_close(read.constant["self"], tiny.constant["self"], rtol=2**-10, atol=2**-24)
    assert_close(read.constant["self"].sum(-1), torch.ones(*read.constant["self"].shape[:-1]))
    assert not read.model.training and not any(p.requires_grad for p in read.model.parameters())
    ids = random_ids(1, 12)[0]
    before, after = (torch.tensor(trace_of(which, ids).output.distribution) for which in (tiny, read))
    assert_close(after, before, rtol=0, atol=0.05)  # rounding changes no probability by more than 0.05


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(b"\xff\xfe{" * 1000)


def edit(**changes: object):
    def change(path: Path) -> None:
        config = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    return change


def replace_tensor(name: str, tensor: torch.Tensor | None):
    def change(path: Path) -> None:
        tensors = load_file(path) | {name: tensor}
        save_file({key: value for key, value in tensors.items() if value is not None}, path)
    return change


DAMAGE = [
    *((file, Path.unlink) for file in checkpoint.FILES), *((file, cut) for file in checkpoint.FILES),
    *((file, empty) for file in checkpoint.FILES), *((file, garbage) for file in checkpoint.FILES),
    ("config.json", edit(attention="sparse")), ("config.json", edit(width=None)), ("config.json", edit(colour="red")),
    ("config.json", lambda path: path.write_text("[1, 2]")),
    ("model.safetensors", replace_tensor("norm.weight", torch.ones(7))),
    ("model.safetensors", replace_tensor("norm.weight", None)),
    ("model.safetensors", replace_tensor("norm.bias", torch.ones(32))),
    ("model.safetensors", replace_tensor("embedding.weight.scale", torch.ones(7, 1))),
    ("constant.safetensors", replace_tensor("self", torch.ones(LAYERS, HEADS, 127 * 128 // 2))),
    ("constant.safetensors", replace_tensor("self", torch.ones(LAYERS, HEADS + 1, 128 * 129 // 2))),
    ("constant.safetensors", replace_tensor("self", None)),
]


@pytest.mark.parametrize("file, damage", DAMAGE)
def test_damage_is_reported_with_a_command(folder: Path, file: str, damage):
    damage(folder / file)
    with pytest.raises(checkpoint.CheckpointError) as error:
        models.load(NAME)
    message = str(error.value)
    assert file in message and NAME in message and str(folder.parent) not in message
    assert f"git checkout -- {'/'.join(folder.parts[-3:])}/{file}" in message
    assert f"python -m models.training {NAME}" in message


def test_a_checkpoint_is_read_from_its_folder_and_its_damage_is_reported(folder: Path):
    shutil.copytree(folder, folder / "steps" / "5")
    assert models.load(NAME, step=5).name == f"{NAME}@5" and models.names() == [NAME]
    for step in (4, -1, "5/../5", "05"):
        with pytest.raises(ValueError, match="has no checkpoint of step .*, only of 5$"):
            models.load(NAME, step=step)
    (folder / "steps" / "5" / "model.safetensors").unlink()
    loading._held.clear()
    with pytest.raises(checkpoint.CheckpointError) as error:
        models.load(NAME, step=5)
    assert f"/{NAME}/steps/5/model.safetensors is missing" in str(error.value)
    assert f"python -m models.training {NAME} --keep 5" in str(error.value)


def test_a_missing_file_is_called_missing(folder: Path):
    for file, word in (("model.safetensors", "is damaged"), ("config.json", "is missing")):
        (folder / file).unlink() if word == "is missing" else empty(folder / file)
        with pytest.raises(checkpoint.CheckpointError, match=word):
            models.load(NAME)


def test_weights_that_do_not_fit_the_config(folder: Path):
    """If weights do not fit the config, the error names both files, because either file can be the wrong one."""
    edit(layers=3)(folder / "config.json")
    with pytest.raises(checkpoint.CheckpointError, match=r"model\.safetensors.*config\.json"):
        models.load(NAME)


def test_a_repaired_folder_can_be_loaded(folder: Path):
    """A failed load is not cached, so a repaired folder can be loaded."""
    card = (folder / "card.json").read_bytes()
    (folder / "card.json").unlink()
    with pytest.raises(checkpoint.CheckpointError):
        models.load(NAME)
    (folder / "card.json").write_bytes(card)
    assert models.load(NAME).card == checkpoint.read_card(folder)


@pytest.mark.parametrize(("name", "told"), [("", NAME), ("selective", NAME), ("stories-sparse", NAME),
                                            (f"../{NAME}", "there is no such folder")])
def test_an_unknown_name(folder: Path, name: str, told: str):
    with pytest.raises(ValueError, match=told):  # the message lists the existing models
        models.load(name)
    assert models.names() == [NAME]


def test_eight_threads_share_one_load(folder: Path, monkeypatch: pytest.MonkeyPatch):
    reads, read_model = [], checkpoint.read_model
    monkeypatch.setattr(checkpoint, "read_model", lambda path: reads.append(path) or sleep(0.1) or read_model(path))
    with ThreadPoolExecutor(8) as pool:
        labs = list(pool.map(models.load, [NAME] * 8))
    assert len({id(loaded) for loaded in labs}) == 1 and models.load(NAME) is labs[0]
    assert len(reads) == 1


def test_a_finished_models_card_has_the_digests_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The card has the digests of the model's files, so that other weights are not mistaken for the measured ones."""
    monkeypatch.setattr(assignment, "TEST_TEXTS", 10)
    monkeypatch.setattr(cards, "CONSTANT_TEXTS", 4)
    (tmp_path / "log.txt").write_text("step 50 loss 1.0 rate 1e-3 seconds 60 left 0\n")
    target = tmp_path / "target"
    finish("assignment-softmax", make_model("softmax", length=49), TASKS["assignment"].build(), tmp_path, 0, target)
    stored = checkpoint.read_card(target)["weights"]
    assert stored == checkpoint.digests(target) and set(stored) == {"model.safetensors", "constant.safetensors"}
    for name in stored:
        content = (target / name).read_bytes()
        (target / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert checkpoint.digests(target)[name] != stored[name]


EXACTLY = {"rtol": 0, "atol": 0}
numbers = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Generates tensors with rows of very different magnitude, and with zeros."""
    shape = draw(shapes)
    count = torch.Size(shape).numel()
    values = torch.tensor(draw(st.lists(numbers, min_size=count, max_size=count))).view(shape)
    return values * 10.0 ** torch.tensor(draw(st.integers(-6, 2)))


@given(tensors())
def test_a_round_trip_is_off_by_half_a_step_at_most(tensor: Tensor):
    """The error is at most half a step; the step of a row is its largest absolute value / 127. Vectors are exact."""
    packed = checkpoint.quantise({"w": tensor})
    read = checkpoint.dequantise(packed)["w"]
    assert read.shape == tensor.shape and read.dtype == torch.float32
    if tensor.ndim == 1:
        assert_close(read, tensor, **EXACTLY)
        return
    assert packed["w"].dtype == torch.int8 and packed["w.scale"].shape == (*tensor.shape[:-1], 1)
    for row, found in zip(tensor.flatten(0, -2).tolist(), read.flatten(0, -2).tolist(), strict=True):
        step = max(map(abs, row)) / 127
        for value, near in zip(row, found, strict=True):
            # the step is at least 1e-12 / 127, also for a row that is almost zero
            assert abs(near - value) <= 0.5001 * max(step, 1e-12 / 127)
            if abs(value) == max(map(abs, row)) > 1e-12:
                assert near == pytest.approx(value, rel=1e-5)  # the largest absolute value is exact, with its sign


@given(tensors())
def test_what_was_rounded_once_is_not_rounded_again(tensor: Tensor):
    once = checkpoint.quantise({"w": tensor})
    twice = checkpoint.quantise(checkpoint.dequantise(once))
    assert once.keys() == twice.keys() and once["w"].dtype == twice["w"].dtype
    assert_close(twice["w"], once["w"], **EXACTLY)
    assert_close(twice, once, rtol=1e-6, atol=0)


def test_a_weight_may_be_called_scale():
    """The parameter `source.scale` of a gated attention unit gets the scale `source.scale.scale`."""
    weights = {"source.scale": torch.randn(2, 8), "shared.weight": torch.randn(8, 4), "norm.weight": torch.ones(5)}
    packed = checkpoint.quantise(weights)
    assert packed["source.scale"].dtype == torch.int8 and packed["source.scale.scale"].shape == (2, 1)
    read = checkpoint.dequantise(packed)
    assert read.keys() == weights.keys()
    for name, tensor in weights.items():
        assert_close(read[name], tensor, rtol=0, atol=float(tensor.abs().max()) / 250)


@either_way
def test_a_model_is_written_and_read(attention: str, causal: bool, tmp_path: Path):
    """Config, rounded weights, buffers and constant matrices; predictions after loading are the same."""
    lab = make_lab(attention, causal)
    checkpoint.write(tmp_path, lab.model, lab.constant)
    model = checkpoint.read_model(tmp_path)
    constant = checkpoint.read_constant(tmp_path, model.config, lab.limit)["self"]
    assert model.config == lab.model.config and not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert_close(model.state_dict(), checkpoint.dequantise(checkpoint.quantise(lab.model.state_dict())), **EXACTLY)
    assert_close(constant, lab.constant["self"], rtol=2**-10, atol=2**-24)
    ids = random_ids(4, 12)
    before, after = (which.logits(which(ids)).softmax(-1) for which in (lab.model, model))
    assert (before - after).abs().mean() < 0.1 * (before - before.mean(0)).abs().mean()


def test_no_file_holds_more_than_numbers(attention: str, tmp_path: Path):
    lab = make_lab(attention)
    checkpoint.write(tmp_path, lab.model, lab.constant)
    types = {file: {tensor.dtype for tensor in load_file(tmp_path / f"{file}.safetensors").values()}
             for file in ("model", "constant")}
    assert types == {"model": {torch.int8, torch.float32}, "constant": {torch.float16}}


@given(st.integers(1, 6), st.booleans(), st.booleans())
def test_packing_loses_nothing(n: int, causal: bool, is_distribution: bool):
    """Causal constant matrices are stored without the part above the diagonal, other matrices completely."""
    matrices = torch.rand(2, 3, n, n, generator=torch.Generator().manual_seed(n)) + 0.01
    matrices = matrices.tril() if causal else matrices
    if is_distribution:
        matrices /= matrices.sum(-1, keepdim=True)
    packed = checkpoint.pack(matrices, causal)
    assert packed.numel() == 6 * (n * (n + 1) // 2 if causal else n * n)
    assert_close(checkpoint.unpack(packed, n, causal, is_distribution), matrices)

"""Tests of encoders that are trained only for studies: their stored files and interrupted trainings."""

from pathlib import Path

import pytest
import torch

from models.nets.transformer import Transformer
from models.plan import HeadPlan
from models.storage.datasets import DATA
from models.tasks.masked import LENGTH, MaskedCorpus, MaskedReader
from models.training.recipes import RECIPES
from studies import encoders


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch, tokens: Path) -> None:
    """Shortens trainings to three steps of two texts."""
    monkeypatch.setattr(encoders, "MaskedCorpus",
                        lambda reader, data=DATA, _runs=None, *more: MaskedCorpus(reader, data, tokens, *more))
    monkeypatch.setattr(encoders, "STEPS", 3)
    monkeypatch.setattr(encoders, "COMPILED", False)
    monkeypatch.setattr(encoders, "TOKENS", 4 * LENGTH)
    monkeypatch.setattr(encoders, "SIZES", {"small": (32, 1), "middle": (32, 2)})
    monkeypatch.setattr(encoders, "MOMENTS", {"small": (1, 3)})
    monkeypatch.setattr(MaskedCorpus, "validation_tokens", 2 * LENGTH)


def test_only_what_is_compared_differs():
    """The recipes differ only in size or attention type. The middle size is that of the released model."""
    middle = encoders.recipe_of("middle")
    assert middle.config == RECIPES["masked-softmax"].config and middle.steps == encoders.STEPS
    for name in encoders.NAMES:
        recipe = encoders.recipe_of(name)
        same = {key: value for key, value in vars(recipe).items() if key != "config"}
        assert same == {key: value for key, value in vars(middle).items() if key != "config"}
        changed = {key for key, value in vars(recipe.config).items() if value != getattr(middle.config, key)}
        assert changed <= ({"attention"} if name in encoders.TYPES else {"width", "layers"})
        assert Transformer(recipe.config).longest in (None, LENGTH)
    assert len({encoders.recipe_of(name).config for name in encoders.NAMES}) == len(encoders.NAMES)


def test_a_step_has_the_tokens_that_are_asked_for():
    assert MaskedCorpus(MaskedReader()).batch(0, 1, 0).tokens.shape == (64, LENGTH)
    assert MaskedCorpus(MaskedReader(), tokens=512).batch(0, 1, 0).tokens.shape == (8, LENGTH)


def test_moments_are_kept_and_not_made_again(brief: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Checkpoints load like any model, and a finished training is not repeated."""
    encoders.train_one("small", Path("assets/data"), tmp_path)
    early, late = (encoders.lab_of(moment, tmp_path) for moment in encoders.moments_of("small"))
    assert early.name == "masked-small-1" and early.fingerprint != late.fingerprint
    with pytest.raises(ValueError, match="no constant matrices yet"):
        early.check(HeadPlan.parse("self-0.0c"))
    ids = torch.tensor([[0, 7, 9]])
    assert float((early.states(ids)[-1] - late.states(ids)[-1]).abs().max()) > 1e-3
    numbers = encoders.numbers_of("masked-small-3", tmp_path)
    assert numbers["steps"] == 3 and numbers["width"] == 32 and 7 < numbers["validation_loss"] < 10
    monkeypatch.setattr(encoders, "train", None)  # the second call must not train
    encoders.train_one("small", Path("assets/data"), tmp_path)
    with pytest.raises(FileNotFoundError, match="python -m studies.encoders middle"):
        encoders.lab_of("masked-middle-3", tmp_path)


def test_a_training_that_stopped_goes_on(brief: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A training that was interrupted ends with the same weights and keeps its stored checkpoints."""
    encoders.train_one("small", Path("assets/data"), tmp_path / "whole")
    real = encoders.validation_loss

    def stopped(*_given: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(encoders, "validation_loss", stopped)
    with pytest.raises(KeyboardInterrupt):
        encoders.train_one("small", Path("assets/data"), tmp_path / "parts")
    monkeypatch.setattr(encoders, "validation_loss", real)
    encoders.train_one("small", Path("assets/data"), tmp_path / "parts")
    for moment in encoders.moments_of("small"):
        assert encoders.numbers_of(moment, tmp_path / "parts") == encoders.numbers_of(moment, tmp_path / "whole")
        one, other = (encoders.lab_of(moment, tmp_path / name).fingerprint for name in ("parts", "whole"))
        assert one == other

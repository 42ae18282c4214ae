"""Fixtures of the models' tests: each attention type in turn, and a tiny Lab of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny import make_lab

from models.labs.stack import StackLab
from models.nets.attention import TYPES
from tests.models.made_claims import Made

# one thread, because tiny products gain nothing from more and other tests may run at the same time
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder for --runs whose texts are tokenized once per process, for all tests."""
    return tmp_path_factory.getbasetemp() / "runs"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Returns a folder for invented cards, seeds and measurements, from which verdicts are computed."""
    return Made(tmp_path)


@pytest.fixture(params=sorted(TYPES))
def attention(request: pytest.FixtureRequest) -> str:
    """Returns the name of an attention type."""
    return request.param


@pytest.fixture
def lab(attention: str) -> StackLab:
    """Returns a tiny Lab of each attention type."""
    return make_lab(attention)

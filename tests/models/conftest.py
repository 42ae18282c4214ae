"""Fixtures of the models' tests: each attention type in turn, and a tiny Lab of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny import make_lab

from models.labs.stack import StackLab
from models.nets.attention import TYPES
from tests.models.made_claims import Made

torch.set_num_threads(1)  # tiny products gain nothing from threads, and other tests may run beside these


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for --runs whose texts are tokenized once, for all tests of a process."""
    return tmp_path_factory.getbasetemp() / "runs"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Cards, seeds and measurements that a test makes up, and the verdicts of them."""
    return Made(tmp_path)


@pytest.fixture(params=sorted(TYPES))
def attention(request: pytest.FixtureRequest) -> str:
    """Name of an attention type."""
    return request.param


@pytest.fixture
def lab(attention: str) -> StackLab:
    """A tiny Lab of each attention type."""
    return make_lab(attention)

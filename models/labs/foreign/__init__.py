"""Any `transformers` model behind the Lab protocol: `hf:ORG/NAME` from the Hub, `folder:NAME` from a folder.

    opening/         finds, checks and loads a model: hub.py, files.py, facts.py (config), folder.py
    reading/         inputs and answers: readers.py by model head, texts.py tokens, vision.py pictures
    running/         one forward pass: attention.py, adapters.py, records.py, writing.py, constants.py
    lab.py           the Lab; model_cache.py the models that are in memory

transformers is imported when such a model is opened, and not before.
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
    """True if the name is an address of a model that is none of ours."""
    return name.startswith((HUB, FOLDER))


def load(name: str, progress: Callable[[int, int], None] = lambda done, of: None,
         cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """The model of this address, downloaded if it has to be; the same object while it is held.

    Args:
        progress: told how many of how many bytes are here.
        cancelled: asked now and then; what has come so far is kept for the next time.

    Raises:
        ForeignError: it cannot be opened; the message says why.
        CancelledError: `cancelled` said so.
    """
    from models.labs.foreign import model_cache

    return model_cache.load(name, progress, cancelled)


def load_folder(folder: str | Path, cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """The model in a folder, as `transformers` saves it. Its name is `folder:` and the folder's own.

    A child process with limits of time and memory reads config and tokenizer first (opening/child.py).

    Args:
        folder: path of the folder.
        cancelled: asked now and then, until the child process has ended.

    Raises:
        ForeignError: it cannot be opened; the message says why.
        CancelledError: `cancelled` returned True.
    """
    from models.labs.foreign import model_cache

    return model_cache.load_folder(Path(folder), cancelled)


def held(name: str) -> ForeignLab | None:
    """The model of this address if it is in memory; nothing is loaded, and nothing waited for."""
    from models.labs.foreign import model_cache

    return model_cache.held(name)


def in_memory() -> list[ForeignLab]:
    """Those that are held."""
    # Nobody has opened one before the cache is imported; while another thread imports it, it has no names yet.
    labs = getattr(sys.modules.get("models.labs.foreign.model_cache"), "labs", None)
    return labs() if labs else []


def family(name: str) -> list[str]:
    """The models in memory that read and answer like this one, itself among them."""
    from models.labs.foreign import model_cache

    return model_cache.family(name)


def entry(name: str) -> ModelInfo:
    """What the catalogue says of a model that is here, from its config; raises ForeignError if it is not here."""
    from models.labs.foreign import model_cache

    return model_cache.entry(name)

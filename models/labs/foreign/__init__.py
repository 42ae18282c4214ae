"""Any `transformers` model behind the Lab protocol: `hf:ORG/NAME` from the Hub, `folder:NAME` from a folder.

    opening/         finds, checks and loads a model: hub.py, files.py, facts.py (config), folder.py
    reading/         converts inputs and outputs: readers.py (one class per model head), texts.py, vision.py
    running/         one forward pass: attention.py, adapters.py, passes.py, writing.py, constants.py
    lab.py           the Lab; model_cache.py: the models that are in memory

transformers is imported only when such a model is opened.
"""

import os

from models.labs.foreign.model_cache import cached, entry, family, in_memory, load, load_folder
from models.labs.foreign.opening import hub
from models.labs.foreign.refusals import FOLDER, HUB, ForeignError

__all__ = ["FOLDER", "HUB", "ForeignError", "cached", "entry", "family", "in_memory", "is_foreign", "is_path", "load",
           "load_folder"]


def is_foreign(name: str) -> bool:
    """Returns True if the name is the address of an imported (foreign) model, not one of our models."""
    return name.startswith((HUB, FOLDER))


def is_path(name: str) -> bool:
    """Returns True if a typed or pasted name means a folder, not a model on the Hub."""
    name = hub.unquoted(name)
    return name.startswith(("/", ".", "~", "file:", FOLDER)) or "\\" in name or os.path.isdir(name)

"""Models that were made in this process, such as those of small trainings, by name."""

from collections import deque
from weakref import WeakValueDictionary

from models.errors import CheckpointError
from models.lab import Lab
from models.messages import message

PREFIX = "learn-"  # begins the names of these models, and of no other
MOST = 24  # number of models that stay in memory without another owner; one takes about 0.5 MB

_labs: WeakValueDictionary[str, Lab] = WeakValueDictionary()
_latest: deque[Lab] = deque(maxlen=MOST)


def is_added(name: str) -> bool:
    """Returns True if the name is that of a model which was made in a process."""
    return name.startswith(PREFIX)


def add(lab: Lab) -> None:
    """Adds a model, so that it can be loaded by its name."""
    _labs[lab.name] = lab
    _latest.append(lab)


def find(name: str) -> Lab:
    """Returns the model of this name; raises CheckpointError if this process does not have it."""
    lab = _labs.get(name)
    if lab is None:
        raise CheckpointError(message("This trained model is no longer in memory: train it again on the page "
                                      "*Training*"))
    return lab


def names() -> list[str]:
    """Returns the names of the models in memory."""
    return list(_labs)

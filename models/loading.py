"""Loads models by name and caches the most recently used ones."""

import contextlib
import threading
from collections import OrderedDict

from models import added, catalogue
from models.lab import Lab
from models.labs import foreign
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.nets.seq2seq import Seq2Seq
from models.storage import checkpoint
from models.tasks.pairs import PairReader

MEMORY = 112 * 2**20  # limit of the cached models in bytes: nine story models; loading a model takes 30 ms


def load(name: str, step: int | None = None) -> Lab:
    """Returns the model of this name, folder, or id on the Hub (`ORG/NAME`, `hf:gpt2`); the same object while cached.

    The most recently used models are cached, as many as fit into MEMORY and at least one.

    Args:
        name: name of a model.
        step: loads the checkpoint after this number of training steps; the error lists those that are stored.

    Raises:
        ValueError: there is no such model or checkpoint.
        CheckpointError: a file of the model is missing or damaged; the message names the file and a command that
            restores it.
    """
    if step is not None:
        name = catalogue.at_step(name, step)
    if foreign.is_foreign(name):
        return foreign.load(name)
    if added.is_added(name):
        return added.find(name)
    if "/" in name or "\\" in name:  # our names have neither
        return foreign.load_folder(name) if foreign.is_path(name) else foreign.load(foreign.HUB + name)
    with _loading:  # two visitors who request a model at once wait for one load
        if name in _held:
            _held.move_to_end(name)
            return _held[name]
        _held[name] = _load(name)
        # Iterates over a copy, because `cached` may reorder the cache meanwhile.
        while len(_held) > 1 and sum(lab.nbytes for lab in _held.copy().values()) > MEMORY:
            _held.popitem(last=False)
        return _held[name]


def cached(name: str) -> Lab | None:
    """Returns the cached model of this name and marks it as most recently used, or None; never waits for a load."""
    if foreign.is_foreign(name):
        return foreign.cached(name)
    if added.is_added(name):
        return added.find(name) if name in added.names() else None
    lab = _held.get(name)
    if lab is not None:
        with contextlib.suppress(KeyError):  # a concurrent load has evicted the model
            _held.move_to_end(name)
    return lab


held = cached  # the public name in version 1.0


def in_memory() -> list[Lab]:
    """Returns all cached models, ours and imported ones."""
    return [*_held.copy().values(), *foreign.in_memory()]


_loading = threading.Lock()
_held: OrderedDict[str, Lab] = OrderedDict()


def _load(name: str) -> Lab:
    reader = catalogue.reader_named(catalogue.find(name).task.name)
    _ = reader.labels  # reads the tokenizer, so that a missing file is reported on loading
    model, constant, card = checkpoint.read(checkpoint.folder_of(name), reader.limit, reader.target_limit)
    if isinstance(model, Seq2Seq) and isinstance(reader, PairReader):
        return Seq2SeqLab(name, reader, model, constant, card)
    return StackLab(name, reader, model, constant, card)


def own(name: str) -> StackLab:
    """Returns a model of ours of one token sequence; raises ValueError for others, and the errors of `load`."""
    lab = load(name)
    if not isinstance(lab, StackLab):
        raise ValueError(f"{name} is none of our models")
    return lab

"""The cache of imported (foreign) models: it has a separate memory limit, and keeps at least two models.

A model in use is not freed, and a second request for the model returns the same object. Two visitors who request the
same model wait for one load. Requests for different models do not wait for each other, nor for loads of our own models.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from weakref import WeakValueDictionary

from models import extras
from models.info import ModelInfo
from models.labs.foreign.opening import child, hub
from models.labs.foreign.opening.files import in_utf8
from models.labs.foreign.refusals import FOLDER, HUB, ForeignError, refuse
from models.messages import cut, message

if TYPE_CHECKING:
    from models.labs.foreign.lab import ForeignLab

MOST_INSPECTED = 256  # number of folders whose inspection is not repeated
LEAST = 2  # number of models that are always cached, regardless of their size


class ModelCache:
    """Thread-safe cache of the most recently used Labs, by key."""

    def __init__(self, limit: Callable[[], int], least: int = LEAST) -> None:
        """Starts with an empty cache."""
        self._limit, self._least = limit, least
        self._held: OrderedDict[str, ForeignLab] = OrderedDict()
        self._alive: WeakValueDictionary[str, ForeignLab] = WeakValueDictionary()
        self._loading: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, key: str) -> ForeignLab | None:
        """Returns the model under `key` if it is cached or in use, else None."""
        with self._lock:
            lab = self._held.get(key) or self._alive.get(key)
            if lab is not None:
                self._keep(key, lab)
            return lab

    def get(self, key: str, make: Callable[[], ForeignLab]) -> ForeignLab:
        """Returns the model under `key`; if it is missing, one of the requesting threads creates it with `make`."""
        with self._lock:
            loading = self._loading.setdefault(key, threading.Lock())
        with loading:
            lab = self.find(key)
            if lab is None:
                lab = make()
                with self._lock:
                    self._keep(key, lab)
            return lab

    def called(self, name: str) -> ForeignLab | None:
        """Returns the cached model of this name and marks it as most recently used; None if there is none."""
        with self._lock:
            for key, lab in reversed(self._held.items()):
                if lab.name == name:
                    self._held.move_to_end(key)
                    return lab
        return None

    @property
    def labs(self) -> list[ForeignLab]:
        """Returns the cached models."""
        with self._lock:
            return list(self._held.values())

    def _keep(self, key: str, lab: ForeignLab) -> None:
        self._held[key] = self._alive[key] = lab
        self._held.move_to_end(key)
        while len(self._held) > self._least and sum(held.nbytes for held in self._held.values()) > self._limit():
            self._held.popitem(last=False)


_cache = ModelCache(lambda: hub.access().held_bytes)
_inspected: OrderedDict[str, None] = OrderedDict()  # folder and stamp of the inspected folders whose files can be read
_folders: dict[str, Path] = {}  # name -> the folder that was opened last under this name


def load(name: str, progress: Callable[[int, int], None] = lambda done, of: None,
         cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """Returns the model with this address, the same object while it is cached; downloads the model if necessary.

    `progress` gets the received and the total number of bytes. If `cancelled` returns True, the download stops with
    CancelledError, and the received part is kept. Raises ForeignError with the reason if the model cannot be opened.
    """
    extras.need("hf")
    if name.startswith(FOLDER):
        return load_folder(_folder(name), cancelled)
    repo = hub.repo_of(name)
    hub.access().check(repo)
    return _cache.get(repo, lambda: _from_hub(HUB + repo, progress, cancelled))


def _from_hub(name: str, progress: Callable[[int, int], None], cancelled: Callable[[], bool]) -> ForeignLab:
    try:
        folder = hub.download(hub.estimate(name), progress, cancelled)
    except hub.UnreachableError:
        known = hub.here(name)
        if known is None:
            raise
        folder = known
    # The Hub's cache stores file contents beside the model folders: links may lead to these contents, nowhere else.
    root = folder.parent.parent
    _inspect(folder, root, cancelled)
    return _opened(name, folder, root)


def _opened(name: str, folder: Path, root: Path) -> ForeignLab:
    from models.labs.foreign.opening.folder import open_folder  # imports transformers

    return open_folder(name, folder, root)


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
    if hub.access().hosted:
        raise refuse("hosted")
    try:
        folder = _meant(str(folder)).expanduser().resolve()
        stamp = _stamp(folder)
    # the path is too long, starts with the home folder of an unknown user, or contains a null character
    except (OSError, RuntimeError, ValueError) as error:
        raise refuse("no folder") from error
    name = FOLDER + folder.name

    def opened() -> ForeignLab:
        with in_utf8(folder) as readable:
            _inspect(readable, readable, cancelled)
            return _opened(name, readable, readable)
    lab = _cache.get(f"{folder} {stamp}", opened)
    _folders[name] = folder
    return lab


def _meant(folder: str) -> Path:
    """Returns the folder of a pasted path: without quotes, `folder:`, `file://`, or the name of a file in it."""
    path = hub.unquoted(folder).removeprefix(FOLDER)
    path = unquote(re.sub(r"^file:(//localhost)?/+", "/", path)) if path.startswith("file:") else path
    return Path(path).parent if Path(path).is_file() or Path(path).name == "config.json" else Path(path)


def _inspect(folder: Path, root: Path, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Inspects a folder in a separate process, unless its files were inspected before."""
    key = f"{folder} {_stamp(folder)}"
    if key not in _inspected:
        child.inspect(folder, root, cancelled)
        _inspected[key] = None
        while len(_inspected) > MOST_INSPECTED:
            _inspected.popitem(last=False)


def cached(name: str) -> ForeignLab | None:
    """Returns the model with this address if it is in memory, otherwise None; never loads a model or waits."""
    return _cache.called(name)  # two folders can have the same name, and a folder can change


def in_memory() -> list[ForeignLab]:
    """Returns the cached models."""
    return _cache.labs


def family(name: str) -> list[str]:
    """Returns the names of the models in memory whose input and output have the same type, `name` included."""
    chosen = cached(name)
    if chosen is None:
        return [name]
    return sorted({lab.name for lab in _cache.labs if type(lab.task) is type(chosen.task)})


def entry(name: str) -> ModelInfo:
    """Returns the entry of a model on this machine, from its config; raises ForeignError if it is not here."""
    lab = cached(name)
    if lab is not None:
        return ModelInfo(name, lab.task, lab.kinds, lab.trained_length, lab.limit)
    if name.startswith(FOLDER):
        folder: Path | None = _folder(name)
    else:
        hub.access().check(hub.repo_of(name))
        folder = hub.here(name)
    if folder is None:
        raise ForeignError(message("{name} is not on this machine yet", name=cut(name.removeprefix(HUB))))
    return _entry(name, folder, _stamp(folder))


@functools.lru_cache(32)
def _entry(name: str, folder: Path, changed: str) -> ModelInfo:
    from models.labs.foreign.opening.facts import kinds_of, make_reader

    with in_utf8(folder) as readable:
        _inspect(readable, readable if name.startswith(FOLDER) else readable.parent.parent)
        reader = make_reader(name, readable)
    return ModelInfo(name, reader, kinds_of(reader.config), reader.trained_length, reader.limit)


def _folder(name: str) -> Path:
    if hub.access().hosted or name not in _folders:
        raise refuse("folder unknown")
    return _folders[name]


def _stamp(folder: Path) -> str:
    """Returns a text that changes with the model's files."""
    files = sorted(folder.glob("*")) if folder.is_dir() else []
    return " ".join(f"{path.name}:{path.stat().st_mtime_ns}" for path in files if path.is_file())

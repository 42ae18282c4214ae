"""The foreign models that are held: a budget of their own, two at least, and none twice.

One that is in use stays: whoever holds a Lab keeps it, and who asks for it meanwhile gets the same one. Two visitors
who ask for one model wait for one load; those who ask for different ones do not wait for each other, nor for ours.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

from models.info import ModelInfo
from models.labs.foreign.errors import FOLDER, HUB, ForeignError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening import child, hub
from models.labs.foreign.opening.facts import kinds_of, make_reader
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.refusals import refuse
from models.messages import cut, message

MOST_INSPECTED = 256  # folders whose inspection is not repeated
LEAST = 2  # models that are held, whatever their size


class ModelCache:
    """Labs by key, those that were asked for last; safe between threads."""

    def __init__(self, limit: Callable[[], int], least: int = LEAST) -> None:
        """
        Args:
            limit: bytes of the models together, asked at every load.
            least: models that are held even beyond it.
        """
        self._limit, self._least = limit, least
        self._held: OrderedDict[str, ForeignLab] = OrderedDict()
        self._alive: WeakValueDictionary[str, ForeignLab] = WeakValueDictionary()
        self._loading: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, key: str) -> ForeignLab | None:
        """The model under `key`, if it is held or in use."""
        with self._lock:
            lab = self._held.get(key) or self._alive.get(key)
            if lab is not None:
                self._keep(key, lab)
            return lab

    def get(self, key: str, make: Callable[[], ForeignLab]) -> ForeignLab:
        """The model under `key`, made by one of those who ask."""
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
        """The held model of this name that was asked for last, which this asks for again."""
        with self._lock:
            for key, lab in reversed(self._held.items()):
                if lab.name == name:
                    self._held.move_to_end(key)
                    return lab
        return None

    @property
    def labs(self) -> list[ForeignLab]:
        """Those that are held."""
        with self._lock:
            return list(self._held.values())

    def _keep(self, key: str, lab: ForeignLab) -> None:
        self._held[key] = self._alive[key] = lab
        self._held.move_to_end(key)
        while len(self._held) > self._least and sum(held.nbytes for held in self._held.values()) > self._limit():
            self._held.popitem(last=False)


_cache = ModelCache(lambda: hub.access().held_bytes)
_inspected: OrderedDict[str, None] = OrderedDict()  # folder and stamp of those whose files can be read
_folders: dict[str, Path] = {}  # name -> the folder that was opened last under it


def load(name: str, progress: Callable[[int, int], None], cancelled: Callable[[], bool]) -> ForeignLab:
    """As models.labs.foreign.load."""
    if name.startswith(FOLDER):
        return load_folder(_folder(name), cancelled)
    repo = hub.repo_of(name)
    hub.access().check(repo)
    return _cache.get(repo, lambda: _from_hub(HUB + repo, progress, cancelled))


def _from_hub(name: str, progress: Callable[[int, int], None], cancelled: Callable[[], bool]) -> ForeignLab:
    try:
        folder = hub.download(hub.estimate(name), None, progress, cancelled)
    except hub.UnreachableError:
        known = hub.here(name)
        if known is None:
            raise
        folder = known
    # The Hub's cache keeps contents beside the folders that name them: a file may lead there and no further.
    root = folder.parent.parent
    _inspect(folder, root, cancelled)
    return open_folder(name, folder, root)


def load_folder(folder: Path, cancelled: Callable[[], bool] = lambda: False) -> ForeignLab:
    """As models.labs.foreign.load_folder."""
    if hub.access().hosted:
        raise refuse("hosted")
    try:
        folder = folder.expanduser().resolve()
        stamp = _stamp(folder)
    except (OSError, RuntimeError, ValueError) as error:  # too long a name, nobody's home, a zero character
        raise refuse("no folder") from error
    name = FOLDER + folder.name


    def opened() -> ForeignLab:
        _inspect(folder, folder, cancelled)
        return open_folder(name, folder)
    lab = _cache.get(f"{folder} {stamp}", opened)
    _folders[name] = folder
    return lab


def _inspect(folder: Path, root: Path, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Inspects a folder in a process of its own, unless its files were inspected before."""
    key = f"{folder} {_stamp(folder)}"
    if key not in _inspected:
        child.inspect(folder, root, cancelled)
        _inspected[key] = None
        while len(_inspected) > MOST_INSPECTED:
            _inspected.popitem(last=False)


def held(name: str) -> ForeignLab | None:
    """As models.labs.foreign.held."""
    return _cache.called(name)  # folders may have the same name, and a folder may change


def labs() -> list[ForeignLab]:
    """As models.labs.foreign.in_memory."""
    return _cache.labs


def family(name: str) -> list[str]:
    """As models.labs.foreign.family."""
    mine = held(name)
    return [name] if mine is None else sorted({lab.name for lab in _cache.labs if type(lab.task) is type(mine.task)})


def entry(name: str) -> ModelInfo:
    """As models.labs.foreign.entry."""
    lab = held(name)
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
    _inspect(folder, folder if name.startswith(FOLDER) else folder.parent.parent)
    reader = make_reader(name, folder)
    return ModelInfo(name, reader, kinds_of(reader.config), reader.trained_length, reader.limit)


def _folder(name: str) -> Path:
    if hub.access().hosted or name not in _folders:
        raise refuse("folder unknown")
    return _folders[name]


def _stamp(folder: Path) -> str:
    """Changes when the model's files do."""
    files = sorted(folder.glob("*")) if folder.is_dir() else []
    return " ".join(f"{path.name}:{path.stat().st_mtime_ns}" for path in files if path.is_file())

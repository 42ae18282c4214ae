"""Caches of computed results, shared by all visitors. Each cache has a maximum number of entries or bytes.

The process also keeps in memory the visitors' sessions (app/state/visit.py), the loaded models (models/lab.py) and the
repository's files, which are read once.
"""

import functools
import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from app import texts
from models import Lab, Trace
from models.nets.residual import Writes
from models.trace import Layer, Sketch

TRACE_BYTES = 48 * 2**20  # bytes of the traces of all visitors; a trace of a stories model at 128 tokens has 4 to 6 MiB
LAYER_BYTES = 48 * 2**20  # bytes of single layers of sketches; 12 heads at 512 tokens have 36 MiB
MEASURED_BYTES = 2**20  # bytes of the measures of heads on input texts
ANSWER_BYTES = 4 * 2**20  # bytes of results of logit lens, attribution and patching
FILE_BYTES = 32 * 2**20  # bytes of exported files
FORMATION_BYTES = 2**21  # bytes per model of the parts of answers; 12 x 12 heads of width 768 have 0.5 MiB
WRITTEN_BYTES = 2**19  # bytes of generated texts
TEXTS = 64  # default number of entries of a cache of small values

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

kept: dict[str, Any] = {}  # qualified name of a function -> its cache; tests and benchmarks count and clear caches


def remembered(entries: int = TEXTS, worded: bool = False) -> Callable[[F], F]:
    """Returns a decorator that caches a function's results by its arguments and evicts the least recently used.

    The arguments must be hashable and must identify everything that the result depends on. For example, the
    modification time identifies the content of a file, and the name identifies a model. With `worded`, results contain
    interface texts and are cached separately for each language.
    """
    def decorate(function: F) -> F:
        def compute(language: str | None, *given: Any, **named: Any) -> Any:
            return function(*given, **named)

        cached = functools.lru_cache(entries)(compute)
        kept[f"{function.__module__}.{function.__qualname__}"] = cached

        @functools.wraps(function)
        def lookup(*given: Any, **named: Any) -> Any:
            return cached(texts.language() if worded else None, *given, **named)

        return lookup  # type: ignore[return-value]  # the wrapper has the function's signature
    return decorate


def _nbytes(value: Any) -> int:
    """Returns the bytes of an array, of another value that knows them, or of all values of a dict."""
    return sum(map(_nbytes, value.values())) if isinstance(value, dict) else value.nbytes


class ByteCache(Generic[T]):
    """A thread-safe cache of `limit` bytes of values and `most` entries that evicts the least recently used."""

    def __init__(self, limit: int, most: float = math.inf, size: Callable[[T], int] = _nbytes) -> None:
        self._limit, self._most, self._size, self._held = limit, most, size, 0
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        """Returns the value cached under `key` and marks it as most recently used; None if there is no value."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: Hashable, value: T) -> None:
        """Caches a value unless its key is cached or it is larger than `limit`, then evicts the least recently used."""
        with self._lock:
            if key in self._values or self._size(value) > self._limit:
                return
            self._values[key] = value
            self._held += self._size(value)
            while self._held > self._limit or len(self._values) > self._most:
                self._held -= self._size(self._values.popitem(last=False)[1])

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns the value cached under `key`, else the result of `make`, which is then cached."""
        value = self.find(key)
        if value is None:
            value = make()
            self.keep(key, value)
        return value

    @property
    def nbytes(self) -> int:
        return self._held


class LabCache(Generic[T]):
    """One ByteCache of up to `limit` bytes per model; it ends with the model, whose parameters its values refer to."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._caches: weakref.WeakKeyDictionary[Lab, ByteCache[T]] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, lab: Lab) -> ByteCache[T]:
        with self._lock:
            if lab not in self._caches:
                self._caches[lab] = ByteCache(self._limit, most=TEXTS)
            return self._caches[lab]


# each key contains a tokenized prompt, so the number of entries is limited too
measured: ByteCache[Any] = ByteCache(MEASURED_BYTES, most=4 * TEXTS)
files: ByteCache[bytes] = ByteCache(FILE_BYTES, most=TEXTS, size=len)
written: ByteCache[str] = ByteCache(WRITTEN_BYTES, size=lambda text: len(text.encode()))
traces: ByteCache[Trace | Sketch] = ByteCache(TRACE_BYTES)
layers: ByteCache[Layer] = ByteCache(LAYER_BYTES)
formations: LabCache[Writes] = LabCache(FORMATION_BYTES)
answers: ByteCache[Any] = ByteCache(ANSWER_BYTES, most=4 * TEXTS)

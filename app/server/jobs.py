"""Long work beside a page: with progress, cancelled by its visitor, or when the visitor has left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from models.errors import CancelledError, InputError
from models.labs.foreign import ForeignError
from models.messages import told

T = TypeVar("T")

LEFT_SECONDS = 15.0  # without a connection after which a visitor counts as gone; a reload takes one or two

Progress = Callable[[int, int], None]  # done, of so many
Cancelled = Callable[[], bool]

# Jobs at a time; the others wait, and can be cancelled meanwhile: each may load a model, and works a core.
_places = threading.BoundedSemaphore(2)


@dataclass
class Job(Generic[T]):
    """One piece of work and where it stands. It works in a thread of its own, and touches no session.

    Attributes:
        what: for people, like `Downloading openai-community/gpt2`.
        work: gets a function to tell progress and one that says whether it is to stop; let go of when it has ended,
            with the model and the trace that it may hold.
        done, of: how much of how much.
        result: once it is there.
        problem: what went wrong, in words; empty if nothing did.
    """

    what: str
    work: Callable[[Progress, Cancelled], T] | None
    done: int = 0
    of: int = 0
    result: T | None = None
    problem: str = ""
    _cancel: threading.Event = field(default_factory=threading.Event)
    _finished: threading.Event = field(default_factory=threading.Event)
    _began: float = field(default_factory=time.monotonic)
    _session: str = ""
    _seen: float = 0.0

    def start(self) -> Job[T]:
        """Starts the work in a thread, for the session whose run this is; returns itself."""
        context = get_script_run_ctx(suppress_warning=True)
        self._session, self._seen = context.session_id if context else "", time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def refuse(self, why: str) -> Job[T]:
        """Ends before it began; returns itself."""
        self.problem, self.work = why, None
        self._finished.set()
        return self

    def cancel(self) -> None:
        """Asks it to stop; it does so at its next step."""
        self._cancel.set()

    @property
    def running(self) -> bool:
        return not self._finished.is_set()

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return min(1.0, self.done / self.of) if self.of else 0.0

    @property
    def left(self) -> float | None:
        """Seconds until the end, at the pace so far; None while that is not known."""
        spent = time.monotonic() - self._began
        return spent / self.share * (1 - self.share) if self.share > 0 and spent > 1 else None

    def _stopped(self) -> bool:
        """True once it is cancelled, or its session has had no connection for LEFT_SECONDS."""
        if self._cancel.is_set():
            return True
        if not self._session or not Runtime.exists() or Runtime.instance().is_active_session(self._session):
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > LEFT_SECONDS:
            self._cancel.set()
        return self._cancel.is_set()

    def _run(self) -> None:
        work = self.work
        assert work is not None  # it is begun once
        try:
            while not _places.acquire(timeout=0.1):
                if self._stopped():
                    raise CancelledError
            try:
                self.result = work(self._tell, self._stopped)
            finally:
                _places.release()
        except CancelledError:
            self.problem = told("Cancelled.")
        except (ForeignError, InputError, ValueError, MemoryError) as error:
            self.problem = told("{error}.", error=str(error))
        except Exception as error:  # a thread's error would reach nobody: the page tells its kind, the log the rest
            self.problem = told("That failed ({kind}). Try again.", kind=type(error).__name__)
            raise
        finally:
            self.work = None
            self._finished.set()

    def _tell(self, done: int, of: int) -> None:
        self.done, self.of = done, of

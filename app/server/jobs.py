"""Background jobs with progress. A job ends early if its visitor cancels it or leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.server import streamlit_internals
from models.errors import CancelledError, InputError
from models.labs.foreign import ForeignError
from models.messages import message

T = TypeVar("T")

LEFT_SECONDS = 15.0  # seconds without a connection after which a job is cancelled; a page reload takes 1 to 2 s

WAIT_SECONDS = 1.0  # seconds after which a job that has not begun is reported as waiting

Progress = Callable[[int, int], None]  # a function of (steps done, total steps)
Cancelled = Callable[[], bool]  # a function that returns True if the work must stop

# At most two jobs run at once, because each may load a model and uses one core. Waiting jobs can be cancelled.
_slots = threading.BoundedSemaphore(2)


@dataclass
class Job(Generic[T]):
    """One background job and its progress. The work runs in a separate thread and does not access the session."""

    what: str  # title for the visitor, like `Downloading openai-community/gpt2`. The work may change it.
    # the function that runs. Its arguments are a function that reports progress and a function that returns True if the
    # work must stop. Set to None at the end, so that the model and the trace of the job can be freed.
    work: Callable[[Progress, Cancelled], T] | None
    done: int = 0  # number of completed steps
    of: int = 0  # total number of steps; 0 while unknown
    result: T | None = None  # the return value of `work`; None until the work has ended
    problem: str = ""  # message for the visitor about a failure; empty without a failure
    _has_begun: bool = False
    _cancel: threading.Event = field(default_factory=threading.Event)
    _finished: threading.Event = field(default_factory=threading.Event)
    _began: float = field(default_factory=time.monotonic)
    _session: str = ""
    _polled: bool = False
    _seen: float = 0.0

    def start(self, polled: bool = False) -> Job[T]:
        """Starts the work in a thread, for the current Streamlit session or, if polled, while `poll` is called."""
        self._session, self._seen = streamlit_internals.session_id(), time.monotonic()
        self._polled = polled
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def refuse(self, why: str) -> Job[T]:
        """Ends the job before it starts."""
        self.problem, self.work = why, None
        self._finished.set()
        return self

    def poll(self) -> None:
        """Records that the visitor's page still shows the job."""
        self._seen = time.monotonic()

    def cancel(self) -> None:
        """Requests the job to stop. The work stops at the next step."""
        self._cancel.set()

    @property
    def running(self) -> bool:
        """True until the work has ended."""
        return not self._finished.is_set()

    @property
    def waiting(self) -> bool:
        """True if the job has waited for WAIT_SECONDS or longer for other jobs to end."""
        return self.running and not self._has_begun and time.monotonic() - self._began >= WAIT_SECONDS

    @property
    def share(self) -> float:
        """Fraction of the steps that are done, 0 to 1; 0 while the total is unknown."""
        return min(1.0, self.done / self.of) if self.of else 0.0

    @property
    def left(self) -> float | None:
        """Estimated seconds until the end, at the average speed so far; None in the first second or before a step."""
        spent = time.monotonic() - self._began
        return spent / self.share * (1 - self.share) if self.share > 0 and spent > 1 else None

    def _stopped(self) -> bool:
        """Returns True if the job was cancelled, or if its page was not polled or connected for LEFT_SECONDS."""
        if self._cancel.is_set():
            return True
        if not self._polled and (not self._session or streamlit_internals.is_connected(self._session)):
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > LEFT_SECONDS:
            self._cancel.set()
        return self._cancel.is_set()

    def _run(self) -> None:
        work = self.work
        assert work is not None  # start() is called once per job
        try:
            while not _slots.acquire(timeout=0.1):
                if self._stopped():
                    raise CancelledError
            self._has_begun, self._began = True, time.monotonic()
            try:
                self.result = work(self._tell, self._stopped)
            finally:
                _slots.release()
        except CancelledError:
            self.problem = message("Cancelled.")
        except (ForeignError, InputError, ValueError, MemoryError) as error:
            self.problem = message("{error}.", error=str(error))
        except Exception as error:  # the page shows the exception's type; the log gets the traceback from the re-raise
            self.problem = message("An error in the program ({kind}). Try again, or change the text or the heads.",
                                   kind=type(error).__name__)
            raise
        finally:
            self.work = None
            self._finished.set()

    def _tell(self, done: int, of: int) -> None:
        self.done, self.of = done, of

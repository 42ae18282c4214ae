"""Tests of background jobs: progress, completion, and error messages."""

import threading
import time

import pytest

from app.panels.page import progress
from app.server import jobs
from app.server.jobs import Job
from models.errors import CancelledError, InputError
from models.labs.foreign import ForeignError


def ended(job: Job) -> Job:
    assert job._finished.wait(10)
    assert not job.running
    return job


def test_progress_and_result():
    seen, go_on = threading.Event(), threading.Event()

    def work(tell, cancelled):
        tell(3, 12)
        seen.set()
        assert go_on.wait(10)
        tell(12, 12)
        return "all of it"

    job = Job("Counting", work)
    assert (job.share, job.left) == (0.0, None)
    assert job.start() is job and seen.wait(10)
    assert job.running and (job.done, job.of, job.share, job.result) == (3, 12, 0.25, None)
    job._began = time.monotonic() - 5
    assert job.left == pytest.approx(15, abs=2)
    go_on.set()
    ended(job)
    assert (job.share, job.result, job.problem) == (1.0, "all of it", "")
    assert job.work is None  # a finished job releases its function, and thereby all objects of this function


def test_a_job_that_waits_for_others_is_not_timed(monkeypatch: pytest.MonkeyPatch):
    slot = threading.Semaphore(0)
    monkeypatch.setattr(jobs, "_slots", slot)
    begun, go_on = threading.Event(), threading.Event()

    def work(tell, cancelled):
        tell(1, 2)
        begun.set()
        assert go_on.wait(10)

    job = Job("Counting", work).start()
    assert not job.waiting  # most jobs begin at once, without a message that flashes
    job._began -= 60
    assert job.waiting and progress.amounts(job) == ["waiting for other computations to finish"]
    slot.release()
    assert begun.wait(10)
    assert not job.waiting and job.left is None  # the minute of waiting does not count
    go_on.set()
    ended(job)


def test_a_share_is_never_more_than_all():
    job = ended(Job("Downloading", lambda tell, cancelled: tell(15, 10)).start())
    assert job.share == 1.0


def test_cancelling():
    started = threading.Event()

    def work(tell, cancelled):
        started.set()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if cancelled():
                raise CancelledError
            time.sleep(0.001)

    job = Job("Waiting", work).start()
    assert started.wait(10)
    job.cancel()
    ended(job)
    assert (job.problem, job.result) == ("Cancelled.", None)


@pytest.mark.parametrize("error", [ForeignError("there is no such folder"), InputError("nothing to read"),
                                   ValueError("too many heads"), MemoryError("too large")])
def test_an_expected_error_of_a_job_is_reported_with_its_message(error: Exception):
    def work(tell, cancelled):
        raise error

    job = ended(Job("Opening", work).start())
    assert (job.problem, job.result) == (f"{error}.", None)


def test_an_unexpected_error_of_a_job_is_reported_by_its_class_only():
    def work(tell, cancelled):
        raise KeyError("/home/somebody/secret")

    job = Job("Opening", work)
    with pytest.raises(KeyError):  # the thread raises the error again, so that it is logged
        job._run()
    assert ended(job).problem == (
        "An error in the program (KeyError). Try again, or change the text or the heads.")

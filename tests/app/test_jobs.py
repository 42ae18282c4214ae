"""Background jobs, the queue of requests, caches: progress, errors, whose turn it is, limits of entries or bytes."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from app.panels import frame
from app.server import caches, jobs, limits
from app.server.caches import ByteCache
from app.server.jobs import Job
from app.server.queueing import OvertakenError, Queue
from models.errors import CancelledError, InputError
from models.labs.foreign import ForeignError
from tests.own_loop import run


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
    assert job.waiting and frame.amounts(job) == ["waiting for other computations to finish"]
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


PATIENCE = 20  # seconds after which the event loop counts as stuck


class Places:
    """Requests of visits to a queue, which keep their places until the test ends them; runs in one event loop."""

    def __init__(self, places: int, per_visit: int) -> None:
        self.queue, self.inside = Queue(places, per_visit), []
        self._ends: dict[str, asyncio.Event] = {}
        self.gone: dict[str, asyncio.Future[None]] = {}

    async def ask(self, name: str, visit: limits.Allowance) -> asyncio.Task[None]:
        self._ends[name], self.gone[name] = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def hold() -> None:
            async with self.queue.place(visit, self.gone[name]):
                self.inside.append(name)
                await self._ends[name].wait()
            self.inside.remove(name)

        task = asyncio.create_task(hold())
        await settled()
        return task

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await settled()


async def settled() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def test_the_visit_that_used_least_work_is_next():
    async def work() -> None:
        places = Places(1, per_visit=1)
        heavy, light, holder = limits.Allowance(), limits.Allowance(), limits.Allowance()
        limits.Payer(heavy).take(limits.WORK, 5)
        for name, visit in (("holder", holder), ("heavy", heavy), ("light", light)):
            await places.ask(name, visit)
        assert places.inside == ["holder"]
        await places.end("holder")
        assert places.inside == ["light"]
        await places.end("light")
        assert places.inside == ["heavy"]
        await places.end("heavy")
        assert places.queue._free == 1 and not places.queue._running and not places.queue._waiting

    run(work(), PATIENCE)


def test_two_requests_of_a_visit_run_and_the_newest_one_waits():
    async def work() -> None:
        places, visit = Places(4, per_visit=2), limits.Allowance()
        asked = [await places.ask(str(n), visit) for n in range(400)]
        assert places.inside == ["0", "1"]
        assert all(isinstance(task.exception(), OvertakenError) for task in asked[2:399])
        await places.ask("other", limits.Allowance())  # another visit has free places
        assert "other" in places.inside
        await places.end("0")
        assert "399" in places.inside
        for name in [*places.inside]:
            await places.end(name)
        assert places.queue._free == 4 and not places.queue._running

    run(work(), PATIENCE)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_who_leaves_the_queue_takes_no_place(is_cancelled: bool):
    async def work() -> None:
        places, visits = Places(1, per_visit=1), [limits.Allowance() for _ in range(3)]
        tasks = [await places.ask(str(n), visit) for n, visit in enumerate(visits)]
        if is_cancelled:
            tasks[1].cancel()
        else:
            places.gone["1"].set_result(None)
        await settled()
        assert tasks[1].cancelled() if is_cancelled else isinstance(tasks[1].exception(), ClientDisconnect)
        await places.end("0")
        assert places.inside == ["2"]
        await places.end("2")
        assert places.queue._free == 1 and not places.queue._waiting

    run(work(), PATIENCE)


@dataclass(frozen=True)
class Thing:
    nbytes: int


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([None, None, 0, 4, 4, 5, 12, 13])), max_size=60),
       st.sampled_from([2, 9]))
def test_values_are_those_of_a_list_in_the_order_of_use(steps: list[tuple[int, int | None]], most: int):
    """A value larger than the cache is not kept and evicts nothing; of a key, the first value stays. None finds."""
    cache: ByteCache[Thing] = ByteCache(12, most)
    used: list[tuple[int, Thing]] = []  # the least recently used value is first
    for key, size in steps:
        known = next((entry for entry in used if entry[0] == key), None)
        if size is None:
            assert cache.find(key) is (known and known[1])
            used = [entry for entry in used if entry is not known] + ([known] if known else [])
            continue
        thing = Thing(size)
        cache.keep(key, thing)
        if known is None and size <= 12:
            used.append((key, thing))
            while sum(each.nbytes for _, each in used) > 12 or len(used) > most:
                del used[0]
        assert cache.nbytes == sum(each.nbytes for _, each in used)


def test_texts_and_files_count_their_bytes():
    assert caches.written._size("é🐉") == 6 and caches.files._size(b"abc") == 3


def test_threads_leave_the_count_right():
    cache: ByteCache[Thing] = ByteCache(50)

    def work(number: int) -> None:
        for i in range(2000):
            cache.keep((number * i) % 17, Thing(i % 9))
            cache.find(i % 17)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))  # raises the error of a thread
    assert cache.nbytes == sum(thing.nbytes for key in range(17) if (thing := cache.find(key))) <= 50


def test_a_functions_results_are_remembered_and_counted_by_name():
    asked = []

    @caches.remembered(2)
    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    name = f"{__name__}.{double.__wrapped__.__qualname__}"
    try:
        assert [double(1), double(1), double(2), double(3), double(1)] == [2, 2, 4, 6, 2]
        assert asked == [1, 2, 3, 1]
        assert caches.kept[name].cache_info().currsize == 2
    finally:
        del caches.kept[name]

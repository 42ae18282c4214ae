"""Tests of the queue of requests: which visit is next, and who gives its place up."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect

from app.server import limits
from app.server.queueing import OvertakenError, Queue
from tests.own_loop import run

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

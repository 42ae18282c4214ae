"""A short version of `python -m tests.endurance`: its visitors work, and exceeded limits are reported."""

import asyncio
import contextlib
import time
from typing import Any

import pytest

from tests import endurance
from tests.endurance import Record, Visitor
from tests.own_loop import run


def test_visitors_work_and_come_back_after_a_cut(monkeypatch: pytest.MonkeyPatch):
    """Visitors change heads through the events route. A cut connection is an error only if `may_be_cut` is False."""
    monkeypatch.setattr(endurance, "EVERY", 0.2)

    async def work(address: str, may_be_cut: bool) -> tuple[Record, int]:
        record = Record()
        visitor = Visitor(address, record, seed=1)
        working = asyncio.create_task(visitor.work(time.perf_counter() + 8, may_be_cut))
        while len(record.times) < 4:
            await asyncio.sleep(0.05)
        visitor.socket.transport.abort()
        cut_at = len(record.times)
        await working
        return record, len(record.times) - cut_at

    with endurance.site(balanced=False) as (address, (process,)):
        record, later = run(work(address, True))
        assert not record.errors and later > 2
        assert endurance.usage(process)["MB"] > 100
        record, _ = run(work(address, False))
        assert record.errors and record.errors[0].startswith(("cut off", "events"))


@pytest.mark.parametrize(("after", "problems"), [
    ({}, []), ({"MB": 440.0}, []), ({"MB": 441.0}, ["MB: 400 before, 441.0 after"]),
    ({"threads": 12}, ["threads: 10 before, 12 after"]), ({"errors": 2}, ["after: 2 errors"]),
    ({"descriptors": 30}, ["descriptors: 20 before, 30 after"])])
def test_leaked_resources_are_reported(after: dict[str, Any], problems: list[str]):
    before = {"part": "before", "errors": 0, "MB": 400, "threads": 10, "descriptors": 20}
    assert endurance.broken([before, {**before, "part": "after", **after}]) == problems


def test_a_slow_class_or_an_error_is_reported():
    row = {"part": "class", "errors": 0, "visitors": 200, "p95 ms": 500}
    assert endurance.broken([row, row]) == []
    assert endurance.broken([row, {**row, "p95 ms": 501}]) == ["p95 501 ms"]
    assert endurance.broken([{**row, "errors": 1}, row]) == ["class: 1 errors"]


def test_a_route_reads_both_kinds_of_answers():
    """The client reads chunked responses and responses with a Content-Length.

    It reconnects after the server closed the connection.
    """
    answers = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"",
               b"HTTP/1.1 410 Gone\r\nContent-Length: 2\r\n\r\nno"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while answers:
                await reader.readuntil(b"\r\n\r\n{}")
                answer = answers.pop(0)
                if not answer:
                    break
                writer.write(answer)
        writer.close()

    async def ask() -> list[tuple[int, bytes]]:
        server = await asyncio.start_server(serve, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        route = endurance.Route(f"http://127.0.0.1:{port}")
        found = [await route.post("/x", b"{}"), await route.post("/x", b"{}")]
        route.close()
        server.close()
        return found

    assert run(ask()) == [(200, b"abcde"), (410, b"no")]

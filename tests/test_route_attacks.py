"""The client that the attacks on the events route use."""

import asyncio
import contextlib

from tests.own_loop import run
from tests.route_attacks import Route


def test_a_route_reads_both_kinds_of_answers():
    """The client reads chunked responses and responses with a Content-Length. It reconnects after the server closed the
    connection."""
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
        route = Route(f"http://127.0.0.1:{port}")
        found = [await route.post("/x", b"{}"), await route.post("/x", b"{}")]
        route.close()
        server.close()
        return found

    assert run(ask()) == [(200, b"abcde"), (410, b"no")]

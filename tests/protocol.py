"""Sends random messages to the app over Streamlit's websocket and the events route, while another visitor uses the app.

    python -m tests.protocol --messages 100000          # about half an hour on two cores
    python -m tests.protocol --messages 2000 --seed 7

hypothesis generates the messages: every field of BackMsg, links, values of the widgets on the page, valid messages with
changed bytes, and bodies of the events route. They are sent to `app/host.py` in hosted mode, on the loopback interface.
Meanwhile another visitor opens links: each page must have the state of its link and no exception. The command prints
one line of JSON. The exit status is 1 if the other visitor had an error, or if our code raised an unexpected exception.
Streamlit's own code raises exceptions at forged values of widgets, in the sender's session only.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import hypothesis
import websockets
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.load.soak import Record, Visitor
from benchmarks.load.visitors import links, open_link
from components.payload import unpack
from tests.adversarial import fields, params, texts, values
from tests.browser import ROOT, serve_hosted
from tests.strangers import visit

MOST = 12  # largest number of messages per case; hypothesis limits the size of a case
TIMES = 6  # number of times that a case is sent, for other widgets each: generating takes longer than sending
CASES_OF_A_VISIT = 40  # number of cases before the next session begins
CASES_IN_ADVANCE = 20  # largest number of sent cases that the server has not read yet
PATIENCE = 60.0  # seconds within which the response to the last message of a case must arrive
# A log record of app/server/logs.py: the exception and the files of its stack frames, the innermost frame last.
LOGGED = re.compile(r"error: (.*)((?:\n  .*)*)")
FRAME = re.compile(r'\n  File "([^"]+)"')

Step = tuple[str, Any]

_VALUES: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_BOOL: st.booleans(), FieldDescriptor.TYPE_STRING: texts.map(lambda text: _encodable(text)),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=60), FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32), FieldDescriptor.TYPE_INT32: st.integers(-2**31, 2**31 - 1),
    FieldDescriptor.TYPE_INT64: st.integers(-2**63, 2**63 - 1),
    FieldDescriptor.TYPE_SINT64: st.integers(-2**63, 2**63 - 1),
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1), FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_ENUM: st.integers(0, 5)}


def _encodable(text: str) -> str:
    """Returns the text without lone surrogates, which protobuf cannot store."""
    return text.encode("utf-8", "ignore").decode()


def trees(descriptor: Descriptor, depth: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """Returns a strategy for random fields of a message type, as field -> value. A nested message is a dictionary."""
    parts: dict[str, st.SearchStrategy[Any]] = {}
    for entry in descriptor.fields:
        if entry.type == FieldDescriptor.TYPE_MESSAGE:
            if not depth or entry.message_type.GetOptions().map_entry:
                continue
            value: st.SearchStrategy[Any] = st.deferred(
                lambda kind=entry.message_type: trees(kind, depth - 1))  # type: ignore[misc]
        elif entry.type in _VALUES:
            value = _VALUES[entry.type]
        else:
            continue
        parts[entry.name] = st.lists(value, max_size=3) if entry.is_repeated else value
    return st.dictionaries(st.sampled_from(sorted(parts)), st.none(), max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({name: parts[name] for name in chosen})) if parts else st.just({})


def fill(message: Any, tree: dict[str, Any]) -> Any:
    """Sets the fields of a message and returns it."""
    for name, value in tree.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                target = getattr(message, name)
                fill(target.add() if isinstance(value, list) else target, each).SetInParent()
            elif isinstance(value, list):
                getattr(message, name).append(each)
            else:
                setattr(message, name, each)
    return message


places = st.integers(0, 60)
events_of_a_component = st.lists(fields | values, max_size=4)
reruns = st.fixed_dictionaries({"link": params, "widgets": st.lists(
    st.tuples(places, st.one_of(
        events_of_a_component.map(lambda found: ("json_value", json.dumps({"event": found}, default=repr))),
        values.map(lambda value: ("json_value", json.dumps(value, default=repr))),
        st.just(("trigger_value", True)), st.booleans().map(lambda on: ("bool_value", on)),
        st.integers(-2**40, 2**40).map(lambda number: ("int_value", number)),
        st.floats().map(lambda number: ("double_value", number)),
        texts.map(lambda text: ("string_value", _encodable(text))))), max_size=3), "fragment": places | st.none()})
steps = st.one_of(
    st.tuples(st.just("bytes"), st.binary(max_size=200)),
    st.tuples(st.just("message"), trees(BackMsg.DESCRIPTOR)),
    st.tuples(st.just("rerun"), reruns), st.tuples(st.just("rerun"), reruns),
    st.tuples(st.just("changed"), st.tuples(reruns, st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)),
                                                             min_size=1, max_size=5))),
    st.tuples(st.just("post"), st.binary(max_size=200) | values.map(
        lambda value: json.dumps(value, default=repr).encode())),
    st.tuples(st.just("events"), st.tuples(st.integers(-2, 10**6), st.lists(st.tuples(places, fields | values),
                                                                           max_size=4))))


@dataclass
class Page:
    """The ids on the page of the sender."""

    visit: str = ""  # id of the session, which is part of the path of the events route
    ids: list[str] = field(default_factory=list)  # of widgets and components in messages of Streamlit
    keys: list[str] = field(default_factory=list)  # of components in requests to the events route
    fragments: list[str] = field(default_factory=list)
    turn: int = 0  # added to the numbers of widgets, keys and fragments in a step

    def look(self, message: ForwardMsg) -> None:
        """Stores the ids in a message from the server."""
        if message.metadata.active_script_hash and message.delta.fragment_id:
            _add(self.fragments, message.delta.fragment_id)
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind and hasattr(getattr(element, kind), "id"):
            _add(self.ids, getattr(element, kind).id)
        if kind == "bidi_component" and element.bidi_component.bytes:
            with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
                about = unpack(element.bidi_component.bytes)[0]
                _add(self.keys, about["key"])
                self.visit = about.get("visit") or self.visit

    def message(self, step: Step) -> bytes:
        """Returns the bytes that a step sends over the websocket."""
        kind, content = step
        if kind == "bytes":
            return content
        if kind == "message":
            return fill(BackMsg(), content).SerializeToString()
        if kind == "changed":
            data = bytearray(self._rerun(content[0]))
            for place, byte in content[1]:
                data[place % len(data)] ^= byte
            return bytes(data)
        return self._rerun(content)

    def _rerun(self, content: dict[str, Any]) -> bytes:
        message = BackMsg()
        run = message.rerun_script
        run.query_string = urlencode({key: _encodable(value) for key, value in content["link"].items()})
        run.is_history_navigation = True
        if content["fragment"] is not None and self.fragments:
            run.fragment_id = self.fragments[(content["fragment"] + self.turn) % len(self.fragments)]
        for place, (name, value) in content["widgets"]:
            if self.ids:
                widget = self.ids[(place + self.turn) % len(self.ids)]
                setattr(run.widget_states.widgets.add(id=widget), name, value)
        return message.SerializeToString()

    def body(self, step: Step) -> bytes:
        """Returns the request body that a step sends to the events route."""
        kind, content = step
        if kind == "post":
            return content
        seen, sent = content
        keys = self.keys or ["heads"]
        return json.dumps({"seen": seen, "events": [
            {**event, "key": keys[(place + self.turn) % len(keys)]} if isinstance(event, dict) else event
            for place, event in sent]}, default=repr).encode("utf-8", "ignore")


def _add(names: list[str], name: str) -> None:
    if name and name not in names and len(names) < 500:
        names.append(name)


class Walk:
    """The connection to the app that sends the messages; it is opened again if the server closes it."""

    def __init__(self, address: str) -> None:
        self.address, self.page = address, Page()
        self.statuses: Counter[int] = Counter()
        self.sent = self.closed = self._cases = 0
        self._stack = contextlib.AsyncExitStack()
        self._socket: Any = None
        self._problem: Exception | None = None
        self._ready = asyncio.Event()
        self._http = httpx2.AsyncClient(base_url=address, timeout=PATIENCE)

    async def case(self, case: list[Step]) -> None:
        """Sends the messages of one case, and returns soon after the server has read them."""
        if self._socket is None or self._cases % CASES_OF_A_VISIT == 0:
            await self._begin()
        self._cases += 1
        self.page.turn += 1
        for step in case:
            self.sent += 1
            if step[0] in ("post", "events"):
                answer = await self._http.post(f"/lab/visits/{self.page.visit or 'x'}/events",
                                               content=self.page.body(step))
                self.statuses[answer.status_code] += 1
                continue
            try:
                await self._socket.send(self.page.message(step))
            except websockets.ConnectionClosed:
                self.closed += 1
                await self._begin()
        if self._cases % CASES_IN_ADVANCE == 0:
            with contextlib.suppress(websockets.ConnectionClosed):
                await self._answered()

    async def _answered(self) -> None:
        """Sends a final message and waits for the response to it. Then all earlier messages were read."""
        self._ready.clear()
        last = BackMsg()
        last.file_urls_request.file_names.append("last.png")
        async with asyncio.timeout(PATIENCE):
            while not self._ready.is_set():
                await self._socket.send(last.SerializeToString())
                with contextlib.suppress(TimeoutError):  # a new run can delete the response before it is sent
                    await asyncio.wait_for(self._ready.wait(), 0.2)
        if self._problem:
            raise self._problem

    async def _begin(self) -> None:
        await self.end()
        self.page = Page()
        self._socket = await self._stack.enter_async_context(visit(self.address))
        reader = asyncio.create_task(self._read(self._socket))
        self._stack.callback(reader.cancel)
        first = BackMsg()
        first.rerun_script.query_string = ""
        await self._socket.send(first.SerializeToString())
        await self._answered()
        await asyncio.sleep(0.5)  # time for the first page, which contains the ids

    async def end(self) -> None:
        """Closes the connection."""
        await self._stack.aclose()
        self._socket = None

    async def _read(self, socket: Any) -> None:
        try:
            async for data in socket:
                message = ForwardMsg.FromString(data)
                if message.WhichOneof("type") == "file_urls_response":
                    self._ready.set()
                elif message.WhichOneof("type") == "delta":
                    self.page.look(message)
        except websockets.ConnectionClosed:
            pass
        except Exception as error:  # the error is raised again by the next `case`
            self._problem = error
        finally:
            self._ready.set()


async def neighbour(address: str, record: Record, stop: asyncio.Event) -> None:
    """Opens links until `stop`, and checks that each page has the state of its link and no exception."""
    states = links(300, seed=3)
    visitor = Visitor(address, record)
    async with visitor.connected() as socket:
        while not stop.is_set():
            for asked, wanted in states.items():
                visitor.address = asked, wanted
                began = time.perf_counter()
                visitor.check(await open_link(socket, asked), "beside the walk")
                record.times.append((time.perf_counter() - began) * 1e3)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), 0.3)
                    return


def run(messages: int, seed: int) -> dict[str, Any]:
    """Sends the messages and returns the results."""
    record, stop = Record(), asyncio.Event()
    with serve_hosted() as server, asyncio.Runner() as runner:
        walk = Walk(server.address)
        beside = runner.get_loop().create_task(neighbour(server.address, record, stop))

        @settings(max_examples=200, database=None, deadline=None, phases=(Phase.generate,),
                  suppress_health_check=[*HealthCheck])
        @given(st.lists(steps, min_size=1, max_size=MOST))
        def walks(case: list[Step]) -> None:
            for _ in range(TIMES if walk.sent < messages else 0):
                runner.get_loop().run_until_complete(walk.case(case))
            if beside.done():
                beside.result()

        began = time.monotonic()
        while walk.sent < messages:
            hypothesis.seed(seed)(walks)()
            seed += 1
            passed = time.monotonic() - began
            print(f"{walk.sent} messages, {passed:.0f} s, {len(record.errors)} errors", file=sys.stderr, flush=True)

        async def ended() -> None:
            stop.set()
            await beside
            await walk.end()
        runner.get_loop().run_until_complete(ended())
        log = server.log.read_text(errors="replace")
    times = sorted(record.times)
    ours: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for error, frames in LOGGED.findall(log):
        innermost = Path((FRAME.findall(frames) or [""])[-1])
        own = any(innermost.is_relative_to(ROOT / folder) for folder in ("app", "components", "models"))
        (ours if own else others)[error] += 1
    return {"sent": walk.sent, "seconds": round(time.monotonic() - began), "statuses": dict(walk.statuses),
            "closed": walk.closed, "links of the neighbour": record.checked, "errors": len(record.errors),
            "first errors": record.errors[:3], "p50 ms": round(times[len(times) // 2]),
            "p95 ms": round(times[int(len(times) * 0.95)]), "exceptions": dict(ours),
            "in Streamlit": dict(others)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    found = run(asked.messages, asked.seed)
    print(json.dumps(found))
    sys.exit(1 if found["errors"] or found["exceptions"] else 0)


if __name__ == "__main__":
    main()

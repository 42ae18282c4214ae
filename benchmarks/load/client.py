"""A session of the app over Streamlit's websocket, as a browser opens it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.typing import Origin, Subprotocol

from components.payload import unpack

# Statuses of a complete run. A run that was interrupted by the next run has no complete response.
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
PATIENCE = 60.0  # seconds within which the next message of a response must arrive


def connected(address: str, **settings: Any) -> websockets.connect:
    """Returns a context manager that opens a websocket; `settings` are those of websockets.connect."""
    return websockets.connect(address.replace("http", "ws", 1) + "/_stcore/stream", max_size=None,
                              subprotocols=[Subprotocol("streamlit")], origin=Origin(address), **settings)


def cookie(socket: Any) -> dict[str, str]:
    """Returns the header with the cookie by which a balancer finds the replica of a session."""
    return {"Cookie": socket.response.headers.get("Set-Cookie", "").split(";")[0]}


async def open_link(socket: Any, query: str, patience: float = PATIENCE) -> list[ForwardMsg]:
    """Opens a link in a session, and returns the messages of the run, which is complete."""
    message = BackMsg()
    message.rerun_script.query_string = query
    message.rerun_script.is_history_navigation = True
    await socket.send(message.SerializeToString())
    messages: list[ForwardMsg] = []
    while not messages or not messages[-1].HasField("script_finished") or messages[-1].script_finished not in FINISHED:
        messages.append(ForwardMsg.FromString(await asyncio.wait_for(socket.recv(), patience)))
    return messages


def exceptions(messages: Sequence[ForwardMsg]) -> list[str]:
    """Returns the exceptions on a page."""
    elements = [message.delta.new_element for message in messages]
    return [element.exception.message[:120] for element in elements if element.HasField("exception")]


def header(messages: Sequence[ForwardMsg], component: str) -> dict[str, Any]:
    """Returns the header of the last payload of a component; empty without one."""
    sent = [message.delta.new_element.bidi_component for message in messages]
    packed = [each.bytes for each in sent if each.component_name.endswith(f"attention_lab_{component}") and each.bytes]
    return unpack(packed[-1])[0] if packed else {}

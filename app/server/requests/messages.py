"""Filter of websocket messages from the browser: allowed types, sizes and rates.

Streamlit's protocol has messages for developers (`load_git_info`, `clear_cache`) that any visitor could send, and
Streamlit accepts messages of up to 200 MB. This filter passes only the message types that the app's pages send.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from app.server.streamlit_internals import BackMsg

KB = 1024
LARGEST = 1024 * KB  # bytes of the largest websocket message; the server closes a websocket that sends a larger message

# BackMsg field -> maximum bytes of a message of this type. 100,000 Chinese characters in the text box are 300 kB.
_BYTES = {"rerun_script": 768 * KB, "file_urls_request": 4 * KB, "backend_operation_request": 4 * KB,
          "stop_script": 64, "app_heartbeat": 64}
_NUMBERS = {BackMsg.DESCRIPTOR.fields_by_name[name].number: size for name, size in _BYTES.items()}
MOST_FIELDS = 4  # largest number of top-level fields of a message: its type and debugging information from the browser
MOST_WIDGETS = 200  # largest number of widget values in one message; the largest page has 40
MOST_FILES = 8  # largest number of upload addresses in one request
LONGEST_NAME = 1000  # characters of the longest id of a widget, a fragment or a script

# limits of the message rate; a drag sends one message per animation frame
MESSAGES_PER_SECOND, MESSAGES_AT_ONCE = 60.0, 240.0
BYTES_PER_SECOND, BYTES_AT_ONCE = 512.0 * KB, 2.0 * 1024 * KB


def is_allowed(data: bytes) -> bool:
    """Returns True if the bytes are a BackMsg of an allowed type within the limits of its type."""
    fields = fields_of(data)
    if fields is None or not fields or any(number not in _NUMBERS or len(data) > _NUMBERS[number]
                                           for number in fields):
        return False
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except (DecodeError, RecursionError):
        return False
    if message.WhichOneof("type") not in _BYTES:  # an allowed number with another wire type is an unknown field
        return False
    if message.WhichOneof("type") == "rerun_script":
        run = message.rerun_script
        return (len(run.widget_states.widgets) <= MOST_WIDGETS and len(run.fragment_id) <= LONGEST_NAME
                and len(run.page_script_hash) <= LONGEST_NAME
                and all(len(widget.id) <= LONGEST_NAME for widget in run.widget_states.widgets))
    if message.WhichOneof("type") == "file_urls_request":
        return len(message.file_urls_request.file_names) <= MOST_FILES
    return True


def fields_of(data: bytes) -> set[int] | None:
    """Returns the numbers of a protobuf message's top-level fields; None if it has too many or the data is no message.

    Reads the wire format without protobuf's parser, which takes seconds for a message of 500,000 fields.
    """
    numbers: set[int] = set()
    place = 0
    for _ in range(MOST_FIELDS):
        if place == len(data):
            return numbers
        tag, place = _varint(data, place)
        if tag is None:
            return None
        numbers.add(tag >> 3)
        kind = tag & 7
        if kind == 0:
            size, place = 0, _varint(data, place)[1]
        elif kind == 2:
            length, place = _varint(data, place)
            size = -1 if length is None else length
        else:
            size = {1: 8, 5: 4}.get(kind, -1)
        if size < 0 or place + size > len(data):
            return None
        place += size
    return numbers if place == len(data) else None


def _varint(data: bytes, place: int) -> tuple[int | None, int]:
    """Returns the varint at index `place` and the index after it; None if the varint is truncated or too long."""
    value = 0
    for count, byte in enumerate(data[place:place + 10]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, place + count + 1
    return None, len(data) + 1


@dataclass
class Bucket:
    """A token bucket of `most` tokens, full at first, that gains `rate` tokens per second."""

    rate: float
    most: float
    _left: float = field(init=False)
    _since: float = field(default_factory=lambda: time.monotonic())

    def __post_init__(self) -> None:
        self._left = self.most

    def take(self, amount: float) -> float:
        """Takes tokens, also more than are left; returns the seconds until the number of tokens is zero again."""
        now = time.monotonic()
        self._left = min(self.most, self._left + (now - self._since) * self.rate) - amount
        self._since = now
        return max(0.0, -self._left / self.rate)


class Pace:
    """Rate limit of one websocket, in messages and bytes per second; messages over the limit are delayed."""

    def __init__(self) -> None:
        self._messages = Bucket(MESSAGES_PER_SECOND, MESSAGES_AT_ONCE)
        self._bytes = Bucket(BYTES_PER_SECOND, BYTES_AT_ONCE)

    def delay(self, size: int) -> float:
        """Counts one message and returns the seconds to wait before it is passed on."""
        return max(self._messages.take(1), self._bytes.take(size))

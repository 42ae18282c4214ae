"""Filter of websocket messages from the browser: allowed types and sizes.

Streamlit's protocol has messages for developers (`load_git_info`, `clear_cache`) that any visitor could send, and
Streamlit accepts messages of up to 200 MB. This filter passes only the message types that the app's pages send.
"""

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

"""The log: one record per error, with traceback but without message, so that no text of a visitor is logged.

Streamlit and uvicorn log exception messages, which can contain a visitor's text, and request paths, which a visitor
chooses. This module omits exception messages, escapes control characters and cuts long lines. It replaces session ids,
because with an id a reader of the log could take over the session.
"""

import logging
import re
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 500  # largest number of characters of a logged message
MOST, MINUTE = 3, 60.0  # number of tracebacks of one place per minute; further errors there get one line
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b")
_errors = 0
_written: dict[str, list[float]] = {}  # place of an error -> times of its tracebacks of the last minute
_lock = threading.Lock()


def errors() -> int:
    """Returns the number of exceptions logged since the start of the process."""
    return _errors


def begin() -> None:
    """Applies the rules of this module to all later log records of the process. Call it once."""
    make = logging.getLogRecordFactory()
    logging.setLogRecordFactory(lambda *given, **named: _shortened(make(*given, **named)))
    threading.excepthook = _of_a_thread
    ours = logging.getLogger("attention_lab")
    if not ours.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s attention-lab %(message)s"))
        ours.addHandler(handler)
        ours.setLevel(logging.INFO)
        ours.propagate = False


def in_one_line(error: BaseException) -> str:
    """Returns an exception's type and innermost frame in our code: `KeyError in app/views/compare.py, line 71
    (_columns)`.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)
           and ".venv" not in Path(frame.filename).parts]
    if not (own or frames):
        return type(error).__name__
    frame = (own or frames)[-1]
    file = Path(frame.filename).relative_to(ROOT) if own else Path(frame.filename).name
    return f"{type(error).__name__} in {file}, line {frame.lineno} ({frame.name})"


def _shortened(record: logging.LogRecord) -> logging.LogRecord:
    """Returns the record with its message in one safe line; an exception is replaced by type, place and traceback."""
    if record.exc_info and record.exc_info[1] is not None:
        _count()
        record.msg, record.args = with_traceback(record.exc_info[1]), ()
        record.exc_info = record.exc_text = None
        return record
    try:
        message = record.getMessage()
    except (TypeError, ValueError, KeyError):  # the arguments do not fit the format string
        message = str(record.msg)
    record.msg, record.args = safe(message), ()
    return record


def safe(message: str) -> str:
    """Returns a message as one line for the log: control characters escaped, ids replaced, cut after LONGEST."""
    cut = message[:LONGEST] + ("…" if len(message) > LONGEST else "")
    return _ID.sub("(id)", "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut))


def with_traceback(error: BaseException) -> str:
    """Returns type, place and, up to MOST times a minute, frames of an exception; no message or values."""
    place, now = in_one_line(error), time.monotonic()
    with _lock:
        for each in [each for each, times in _written.items() if now - times[-1] > MINUTE]:
            del _written[each]
        times = _written.setdefault(place, [])
        times[:] = [then for then in times if now - then <= MINUTE]
        is_shown = len(times) < MOST
        if is_shown:
            times.append(now)
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip() if is_shown else ""
    return f"error: {place}" + (f"\n{frames}" if frames else "")


def _of_a_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
        logging.getLogger("attention_lab").error("", exc_info=arguments.exc_value)


def _count() -> None:
    global _errors
    with _lock:
        _errors += 1

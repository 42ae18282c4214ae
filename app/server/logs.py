"""The host's log: one record per problem with its traceback, and nothing that a visitor typed.

Streamlit and uvicorn log errors with their messages, which may hold a visitor's text, and requests with ids that a
visitor chose. Messages of exceptions are left out, control characters are escaped, long lines are cut, and session ids,
with which a visit could be taken over, are replaced.
"""

from __future__ import annotations

import logging
import re
import threading
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 500  # characters of a message
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b")
_errors = 0
_lock = threading.Lock()


def errors() -> int:
    """How many problems nobody expected."""
    return _errors


def begin() -> None:
    """From now on. Call it once."""
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
    """`KeyError in app/views/compare.py, line 71 (_columns)`: the innermost place that is ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)
           and ".venv" not in Path(frame.filename).parts]
    if not (own or frames):
        return type(error).__name__
    frame = (own or frames)[-1]
    file = Path(frame.filename).relative_to(ROOT) if own else Path(frame.filename).name
    return f"{type(error).__name__} in {file}, line {frame.lineno} ({frame.name})"


def _shortened(record: logging.LogRecord) -> logging.LogRecord:
    """A record in one safe line; of an error its kind, its place and its traceback in place of its message."""
    if record.exc_info and record.exc_info[1] is not None:
        _count()
        record.msg, record.args = with_traceback(record.exc_info[1]), ()
        record.exc_info = record.exc_text = None
        return record
    try:
        message = record.getMessage()
    except (TypeError, ValueError, KeyError):  # arguments that do not fit: a mistake of whoever logs
        message = str(record.msg)
    record.msg, record.args = safe(message), ()
    return record


def safe(message: str) -> str:
    """A message as one line: control characters escaped, ids replaced, cut after LONGEST characters."""
    cut = message[:LONGEST] + ("…" if len(message) > LONGEST else "")
    return _ID.sub("(id)", "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut))


def with_traceback(error: BaseException) -> str:
    """An error's kind and place, and the frames that led there without their values; never its message."""
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return f"error: {in_one_line(error)}" + (f"\n{frames}" if frames else "")


def _of_a_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None and not isinstance(found.exc_value, SystemExit):
        logging.getLogger("attention_lab").error("", exc_info=found.exc_value)


def _count() -> None:
    global _errors
    with _lock:
        _errors += 1

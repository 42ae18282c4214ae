"""What a host writes down: one line a problem, with its kind and its place, and never what a visitor typed.

Streamlit and uvicorn log an error with its message and its traceback, and a message may hold a text.
"""

from __future__ import annotations

import logging
import threading
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    """A record without the message and the traceback of the error that it is about; others as they are."""
    if record.exc_info and record.exc_info[1] is not None:
        _count()
        record.msg, record.args = f"error: {in_one_line(record.exc_info[1])}", ()
        record.exc_info = record.exc_text = None
    return record


def _of_a_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None and not isinstance(found.exc_value, SystemExit):
        _count()
        logging.getLogger("attention_lab").error("error: %s", in_one_line(found.exc_value))


def _count() -> None:
    global _errors
    with _lock:
        _errors += 1

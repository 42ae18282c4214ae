"""Renders chat templates in a child process, because a template is a program that can run forever or fill the memory.

    python -m models.labs.foreign.reading.rendering MEMORY_MB

The child reads a line of JSON per template, `{"template", "special", "messages"}`, and prints one with the `text`, or
null if the template fails. The process is kept, because importing transformers takes a second; it ends with its parent,
or when a template takes more than SECONDS or its share of the memory.
"""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

TODAY = datetime(2024, 7, 26)  # the date of every template that writes today's date, so that an answer never changes
MOST = 65_536  # largest number of characters of a rendered template: four times the longest text
SECONDS = 5.0
MEMORY = 256  # MB that a template may use

_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


def in_child(template: str, special: dict[str, Any], messages: list[dict[str, Any]]) -> str | None:
    """Returns the text of a template; None if the template fails or needs too much time or memory."""
    global _process
    line = json.dumps({"template": template, "special": special, "messages": messages}, default=str)
    with _lock:
        if _process is None or _process.poll() is not None:
            _process = _started()
        process = _process
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:  # the child has ended
            answer = b""
        finally:
            timer.cancel()
        if not answer.endswith(b"\n"):
            process.kill()
            process.wait()
            return None
    return json.loads(answer)


def _started() -> subprocess.Popen[bytes]:
    """Returns a new child, which has imported what it needs: that takes longer than a template may."""
    from models.labs.foreign.opening.child import QUIET, ROOT

    process = subprocess.Popen([sys.executable, "-m", __name__, str(MEMORY)], cwd=ROOT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **QUIET})
    assert process.stdout is not None
    process.stdout.readline()
    return process


def render(template: str, special: dict[str, Any], messages: list[dict[str, Any]]) -> str | None:
    """Renders a template in this process; returns None if it fails."""
    # transformers caches the compiled template and accepts no other clock
    from transformers.utils.chat_template_utils import _compile_jinja_template, render_jinja_template

    try:
        _compile_jinja_template(template).globals["strftime_now"] = TODAY.strftime
        rendered: Any = render_jinja_template([messages], chat_template=template, add_generation_prompt=True,
                                              **special)
        ((text,), _) = rendered
    except Exception:  # a template can raise every error of Python and of Jinja
        return None
    return text if isinstance(text, str) and len(text) <= MOST else None


def _limit(memory: int) -> None:
    """Limits the address space to the present one and some MB."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows and macOS
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    sys.modules["torch"] = None  # type: ignore[assignment]  # importing it fails, and transformers works without it
    render("", {}, [])
    _limit(int(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(render(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

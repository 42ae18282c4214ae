"""Chat templates: the text that a chat model reads for one message of a user.

A template is a Jinja program in the tokenizer's files, which can run forever or fill the memory. A child process runs
it in Jinja's sandbox, without access to files, modules or attributes of Python; code of a model's folder is never run.

    python -m models.labs.foreign.reading.templates MEMORY_MB

The child reads a line of JSON per template, `{"template", "special", "messages"}`, and prints one with the `text`, or
null if the template fails. The process is kept, because importing transformers takes a second; it ends with its parent,
or when a template takes more than SECONDS or its share of the memory.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from models.errors import InputError
from models.messages import message

TODAY = datetime(2024, 7, 26)  # the date of every template that writes today's date, so that an answer never changes
MOST = 65_536  # largest number of characters of a rendered template: four times the longest text
SECONDS = 5.0
MEMORY = 256  # MB that a template may use

_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None
SENTINEL = "\ue000the message\ue001"  # a text that occurs in no template, which marks the place of the message
Form = Callable[[str], list[dict[str, Any]]]
Render = Callable[[str, dict[str, Any], list[dict[str, Any]]], str | None]
FORMS: tuple[Form, ...] = (  # a user's message as a text, as a list of parts, and after a system message
    lambda text: [{"role": "user", "content": text}],
    lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
    lambda text: [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": text}])


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
        rendered: Any = render_jinja_template([messages], chat_template=template, add_generation_prompt=True, **special)
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


@dataclass(frozen=True)
class Framed:
    """A message inside its template."""

    before: str  # the text that the template adds in front of the message
    content: str  # the message as the template writes it; many templates remove outer blanks
    after: str  # the text that the template adds after the message
    start: int  # index of the content's first character in the message

    @property
    def text(self) -> str:
        """The whole text that the model reads."""
        return self.before + self.content + self.after


def has_template(tokenizer: Any, render: Render = in_child) -> bool:
    """Returns True if the tokenizer has a chat template that contains the message of a user."""
    return bool(getattr(tokenizer, "chat_template", None)) and _form(tokenizer, render) is not None


def writes_date(tokenizer: Any) -> bool:
    """Returns True if the tokenizer's chat template asks for today's date."""
    return "strftime_now" in str(tokenizer.chat_template)


def framed(tokenizer: Any, text: str) -> Framed:
    """Returns a user's message inside the template, up to the point where the assistant's answer begins."""
    form = _form(tokenizer) or FORMS[0]
    before, _, after = _rendered(tokenizer, form, SENTINEL).partition(SENTINEL)
    whole = _rendered(tokenizer, form, text)
    content = whole[len(before):len(whole) - len(after)]
    start = text.find(content)
    if not (whole.startswith(before) and whole.endswith(after)) or start < 0:
        raise InputError(message("The chat template changes this text"), 0, len(text))
    return Framed(before, content, after, start)


def _form(tokenizer: Any, render: Render = in_child) -> Form | None:
    """Returns the first form of a chat in which the template writes the message exactly once; None if there is none."""
    for form in FORMS:
        with suppress(InputError):
            if _rendered(tokenizer, form, SENTINEL, render).count(SENTINEL) == 1:
                return form
    return None


def _rendered(tokenizer: Any, form: Form, text: str, render: Render = in_child) -> str:
    try:
        rendered = render(tokenizer.get_chat_template(), tokenizer.special_tokens_map, form(text))
    except Exception as error:  # the tokenizer's file can have anything in place of a template
        raise InputError(message("The chat template fails on this text"), 0, len(text)) from error
    if rendered is None:
        raise InputError(message("The chat template fails on this text"), 0, len(text))
    return rendered


if __name__ == "__main__":
    main()

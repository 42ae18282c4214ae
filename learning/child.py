"""The process of one training; writes its messages to the standard output.

    python -m learning.child RECIPE SECONDS NICE      SECONDS the time limit, NICE the priority

A message is its length (4 bytes), one byte for its kind, and its content: MOMENT a packed moment, MODEL the trained
weights, PROBLEM a text for the visitor. The process ends when its standard input is closed, so it never outlives the
process that started it.
"""

import contextlib
import os
import signal
import sys
import threading
from typing import BinaryIO

MOMENT, MODEL, PROBLEM = b"m", b"w", b"p"


def main(text: str, seconds: int, nice: int) -> None:
    """Trains the recipe and writes its messages."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(AttributeError, OSError):  # Windows has neither
        os.nice(nice)
        signal.alarm(seconds)
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not write between messages
    from models.errors import InputError

    try:
        _train(text, stdout)
    except InputError as error:
        _send(stdout, PROBLEM, str(error).encode())


def _train(text: str, stdout: BinaryIO) -> None:
    import torch
    from safetensors.torch import save

    from learning import loop
    from learning.recipe import Recipe

    loop.keep_freed_memory()
    torch.set_num_threads(1)
    learning = loop.Learning(Recipe.parse(text))
    for moment in learning:
        _send(stdout, MOMENT, moment.packed())
    _send(stdout, MODEL, save(loop.state_of(learning.lab)))


def _send(stdout: BinaryIO, kind: bytes, content: bytes) -> None:
    stdout.write((1 + len(content)).to_bytes(4, "big") + kind + content)
    stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

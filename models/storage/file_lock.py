"""One process at a time: what is read, changed and written back loses nothing to another that does the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits until no other process or thread is in here with the same folder, which is made if there is none."""
    import fcntl  # which Windows lacks; who only opens the app needs none

    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

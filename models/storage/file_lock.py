"""A lock on a folder, so that concurrent processes do not overwrite each other's changes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds an exclusive lock on a folder; waits while another process or thread holds it."""
    import fcntl  # imported here, because Windows has no fcntl; the app runs there without this module

    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

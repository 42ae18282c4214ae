"""Runs the inspection of a model's folder (inspection.py) in a child process with limits of time and memory."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.errors import CancelledError
from models.labs.foreign.refusals import ForeignError, refuse

ROOT = Path(__file__).resolve().parents[len(__name__.split(".")) - 1]  # the folder that contains the top-level package
MODULE = f"{__package__}.inspection"
SECONDS = 60  # seconds after which the child process is killed
PROCESSOR_SECONDS = 30
MEMORY = 2_000  # limit of address space in MB: an inspection takes 410 MB, with a tokenizer of 260,000 tokens 1,100 MB
OUTPUT = 2**20  # largest number of bytes that the child process may write
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1",
         "PYTHONPATH": str(ROOT)}


def inspect(folder: Path, root: Path, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Inspects a folder in a child process; returns if its files can be read within the limits."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, str(folder), str(root), *map(str, (PROCESSOR_SECONDS, MEMORY, OUTPUT))],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env={**os.environ, **QUIET})
        try:
            late = not _wait(process, cancelled)
        finally:
            process.kill()
            process.wait()
        out.seek(0)
        errors.seek(0)
        problem = _problem(process.returncode, late, out.read(OUTPUT), errors.read(OUTPUT).decode(errors="replace"))
    if problem:
        raise problem


def _wait(process: subprocess.Popen[bytes], cancelled: Callable[[], bool]) -> bool:
    """Returns True when the process has ended, False after SECONDS."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            process.wait(0.05)
            return True
        except subprocess.TimeoutExpired:
            if cancelled():
                raise CancelledError from None
    return False


def _problem(code: int, late: bool, out: bytes, errors: str) -> ForeignError | None:
    """Returns the refusal that the child's output and exit status indicate; None if the folder can be read."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines() if line.endswith(b"}")]
    file = next((line["reading"] for line in reversed(lines) if "reading" in line), "")
    refusal = next((line for line in lines if "refusal" in line), None)
    if refusal and refusal["refusal"] != "memory":
        return refuse(refusal["refusal"], **refusal["values"])
    if refusal or "memory allocation" in errors:
        return refuse("memory", file=file, memory=MEMORY)
    if late or code == -getattr(signal, "SIGXCPU", 0):
        return refuse("slow", file=file, seconds=SECONDS if late else PROCESSOR_SECONDS)
    if code and not file:  # the process failed before it read a file, so the folder is not the cause
        raise RuntimeError(f"the inspection of a folder failed: {errors[-1000:]}")
    return refuse("crash", file=file) if code else None

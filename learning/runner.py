"""Runner: trains in child processes, a few at once; the others wait in a queue.

    run = runner.start(visitor, Recipe.parse("lookup.softmax.2x4.0.1500"), is_wanted=lambda: visitor_is_connected)
    run.place                   # 0 while it trains, else its place in the queue
    run.wait(known=0)           # returns when there are more moments than the caller knows, or at the end
    run.moments                 # packed moments, see learning/moment.py
    run.lab                     # the trained model, at the end

A child has one thread and a low priority. It is killed when its run is stopped, when its visitor has left, and
after `seconds`; it ends by itself when this process ends.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from safetensors.torch import load

from learning.child import MODEL, MOMENT, PROBLEM
from learning.loop import lab_of_state
from learning.recipe import Recipe
from models.errors import InputError
from models.labs.stack import StackLab
from models.messages import message

SECONDS = 60  # longest time of one training
START = 60  # longest time until its first moment; the child imports torch, which takes 3 s on an idle core
NICE = 10  # priority of a child: the pages of visitors go first
MAX_WAITING = 16  # longest queue
TICK = 0.1  # seconds between two checks whether a run is still wanted
LARGEST = 8 * 2**20  # largest message of a child in bytes; the largest model takes about 1 MB
WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"


class Run:
    """One training of a visitor.

    Attributes:
        recipe: the settings.
        state: WAITING, RUNNING, DONE, STOPPED or FAILED.
        moments: the packed moments so far.
        problem: a sentence for the visitor if the run was stopped or failed; else empty.
    """

    def __init__(self, runner: Runner, recipe: Recipe, is_wanted: Callable[[], bool]) -> None:
        self.recipe, self.state, self.problem = recipe, WAITING, ""
        self.moments: list[bytes] = []
        self._runner, self._is_wanted = runner, is_wanted
        self._weights = b""
        self._stop = threading.Event()
        self._news = threading.Condition()

    @property
    def place(self) -> int:
        """The place in the queue, from 1; 0 if the run does not wait."""
        return self._runner.place(self)

    @property
    def is_over(self) -> bool:
        """True if the run has ended and its process is gone."""
        return self.state in (DONE, STOPPED, FAILED)

    def stop(self) -> None:
        """Ends the run; its process is killed within TICK seconds."""
        self._stop.set()

    def wait(self, known: int, timeout: float = 1.0) -> bool:
        """Waits until there are more than `known` moments or the run has ended; returns False after `timeout`."""
        with self._news:
            return self._news.wait_for(lambda: len(self.moments) > known or self.is_over, timeout)

    @functools.cached_property
    def lab(self) -> StackLab:
        """The trained model; raises ValueError if the run is not DONE."""
        if self.state != DONE:
            raise ValueError(f"this training is {self.state}")
        return lab_of_state(self.recipe, load(self._weights))

    def _work(self) -> None:
        """Waits for a turn, runs the child and ends the run; the body of the run's thread."""
        try:
            self._end(*(self._train() if self._runner.admit(self) else (STOPPED, message("The training was stopped."))))
        except BaseException:
            self._end(FAILED, message("The training ended by an error. Train again."))
            raise
        finally:
            self._runner.leave(self)

    def _train(self) -> tuple[str, str]:
        seconds = self._runner.seconds
        child = subprocess.Popen(
            [sys.executable, "-m", "learning.child", str(self.recipe), str(int(START + seconds) + 1),
             str(self._runner.nice)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
        assert child.stdin is not None and child.stdout is not None
        self.state = RUNNING
        reader = threading.Thread(target=self._read, args=(child.stdout,), daemon=True)
        reader.start()
        ends, has_begun = time.monotonic() + START + seconds, False
        try:
            while reader.is_alive():
                reader.join(TICK)
                if self.moments and not has_begun:
                    ends, has_begun = time.monotonic() + seconds, True
                if not self.wanted:
                    return STOPPED, message("The training was stopped.")
                if time.monotonic() > ends:
                    return STOPPED, message("Stopped after {seconds} seconds. Choose fewer steps.",
                                            seconds=int(seconds))
        finally:
            child.kill()
            child.wait()
            reader.join()
            child.stdin.close()
            child.stdout.close()
        if self._weights:
            return DONE, ""
        return FAILED, self.problem or message("The training ended early. Train again.")

    @property
    def wanted(self) -> bool:
        """False if the run was stopped or its visitor has left."""
        return not self._stop.is_set() and self._is_wanted()

    def _read(self, stdout: BinaryIO) -> None:
        """Reads the messages of the child until its output ends; a message that is cut off is ignored."""
        while len(head := stdout.read(4)) == 4:
            length = int.from_bytes(head, "big")
            content = stdout.read(min(length, LARGEST))
            if len(content) < length:
                return
            with self._news:
                if content[:1] == MOMENT:
                    self.moments.append(content[1:])
                elif content[:1] == MODEL:
                    self._weights = content[1:]
                elif content[:1] == PROBLEM:
                    self.problem = content[1:].decode()
                self._news.notify_all()

    def _end(self, state: str, problem: str) -> None:
        with self._news:
            self.state, self.problem = state, problem
            self._news.notify_all()


class Runner:
    """Admits runs to the cores, in the order in which they were started: `at_once`, by default one per core.

    `seconds` is the longest time of one training, from its first moment on.
    """

    def __init__(self, at_once: int | None = None, seconds: float = SECONDS, nice: int = NICE) -> None:
        self.seconds, self.nice = seconds, nice
        self._at_once = at_once or os.cpu_count() or 1
        self._runs: dict[str, Run] = {}  # owner -> the latest run
        self._waiting: list[Run] = []
        self._running: list[Run] = []
        self._changed = threading.Condition()

    def start(self, owner: str, recipe: Recipe, is_wanted: Callable[[], bool] = lambda: True) -> Run:
        """Starts a run, or puts it into the queue; stops the owner's earlier run. A full queue raises InputError.

        `is_wanted` is called several times per second; the run is stopped when it returns False.
        """
        run = Run(self, recipe, is_wanted)
        with self._changed:
            if (earlier := self._runs.get(owner)) is not None:
                earlier.stop()
            if len(self._waiting) - (earlier in self._waiting) >= MAX_WAITING:
                raise InputError(message("{count} trainings are waiting. Try again in a minute.",
                                         count=len(self._waiting)))
            self._runs[owner] = run
            self._waiting.append(run)
        threading.Thread(target=run._work, name=f"training {recipe}", daemon=True).start()
        return run

    def place(self, run: Run) -> int:
        """Returns the place of a run in the queue, from 1; 0 if the run does not wait."""
        with self._changed:
            return self._waiting.index(run) + 1 if run in self._waiting else 0

    def admit(self, run: Run) -> bool:
        """Waits until a core is free for this run; returns False if the run is no longer wanted."""
        with self._changed:
            while run.wanted:
                if run is self._waiting[0] and len(self._running) < self._at_once:
                    self._waiting.remove(run)
                    self._running.append(run)
                    self._changed.notify_all()
                    return True
                self._changed.wait(TICK)
            return False

    def leave(self, run: Run) -> None:
        """Frees the place of a run."""
        with self._changed:
            for runs in (self._waiting, self._running):
                if run in runs:
                    runs.remove(run)
            self._runs = {owner: other for owner, other in self._runs.items() if other is not run}
            self._changed.notify_all()

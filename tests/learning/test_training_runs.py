"""Trainings in child processes: stop, leave, kill, second press, time limit, queue, hostile arguments."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import models
from learning import runner as runner_module
from learning.child import MODEL, MOMENT, PROBLEM
from learning.loop import Learning
from learning.recipe import Recipe
from learning.runner import DONE, FAILED, NICE, RUNNING, STOPPED, WAITING, Run, Runner
from models.errors import InputError
from tests.browser import ROOT
from tests.learning.pictures import unpacked
from tests.own_loop import until

LONG, SHORT = Recipe("count", steps=3000), Recipe("count", layers=1, heads=2, steps=3)
PATIENCE = 240.0  # seconds; a child imports torch first


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner(at_once=1, seconds=PATIENCE, nice=0)
    yield runner
    stop_all(runner)


def stop_all(runner: Runner) -> None:
    for run in [*runner._waiting, *runner._running]:
        run.stop()
        ended(run)
    assert children() == []


def children() -> list[int]:
    """Returns the process ids of the children of this process that train."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"learning.child" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def ended(run: Run) -> Run:
    until(lambda: run.is_over)
    return run


def begun(run: Run) -> Run:
    """Waits until the run has two moments."""
    until(lambda: len(run.moments) > 1 or run.is_over)
    assert run.state == RUNNING, run.problem
    return run


def test_a_run_streams_the_moments_of_the_same_training_and_ends_with_its_model(runner: Runner):
    run = ended(runner.start("ada", SHORT))
    assert run.state == DONE and not run.problem and run.place == 0
    learning = Learning(SHORT)
    assert run.moments == [moment.packed() for moment in learning]
    assert unpacked(run.moments[-1]).step == SHORT.steps
    assert run.lab.fingerprint == learning.lab.fingerprint
    assert models.run(run.lab, "a b a").output is not None
    assert run.wait(known=99, timeout=0)  # nothing more comes


def test_stop_kills_the_child(runner: Runner):
    run = begun(runner.start("ada", LONG))
    assert len(children()) == 1
    run.stop()
    assert ended(run).state == STOPPED and run.problem == "The training was stopped."
    assert children() == []
    with pytest.raises(ValueError):
        _ = run.lab


def test_a_visitor_who_leaves_stops_the_run(runner: Runner):
    gone = threading.Event()
    run = begun(runner.start("ada", LONG, lambda: not gone.is_set()))
    gone.set()
    assert ended(run).state == STOPPED and children() == []


def test_a_killed_child_is_reported_and_those_who_wait_follow_in_order_unless_they_leave(runner: Runner):
    first = begun(runner.start("ada", LONG))
    waiting = [runner.start(name, SHORT) for name in ("bob", "eve", "kim")]
    assert [run.place for run in waiting] == [1, 2, 3] and waiting[2].state == WAITING
    waiting[0].stop()
    assert ended(waiting[0]).state == STOPPED and [run.place for run in waiting[1:]] == [1, 2]
    (child,) = children()
    os.kill(child, signal.SIGKILL)
    assert ended(first).state == FAILED and "ended early" in first.problem
    assert ended(waiting[1]).state == DONE and ended(waiting[2]).state == DONE


def test_a_full_queue_refuses_and_a_second_press_replaces_the_own_run(runner: Runner,
                                                                      monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner_module, "MAX_WAITING", 1)
    first, waiting = begun(runner.start("ada", LONG)), runner.start("bob", SHORT)
    with pytest.raises(InputError, match="trainings are waiting"):
        runner.start("eve", SHORT)
    replaced = runner.start("bob", LONG)
    assert ended(waiting).state == STOPPED
    replaced.stop()
    monkeypatch.undo()
    second = runner.start("ada", SHORT)
    assert ended(first).state == STOPPED and ended(second).state == DONE


def test_a_run_has_a_low_priority_and_ends_at_the_time_limit():
    runner = Runner(at_once=1, seconds=1)
    run = runner.start("ada", LONG)
    until(lambda: any(os.getpriority(os.PRIO_PROCESS, pid) >= NICE for pid in children()))
    assert ended(run).state == STOPPED and "after 1 seconds" in run.problem and children() == []


def child(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "learning.child", *arguments], cwd=ROOT, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]


def test_the_child_refuses_a_hostile_recipe():
    with child("lookup.softmax.999x4.0.1500", "60", "0") as process:
        assert process.stdout is not None
        message = process.stdout.read()
    assert message[4:5] == PROBLEM and b"1 to 3 layers" in message and MODEL != MOMENT


def test_the_child_ends_with_its_parent_and_at_its_own_time_limit():
    orphan, slow = child(str(LONG), "600", "0"), child(str(LONG), "1", "0")
    assert orphan.stdin is not None
    orphan.stdin.close()  # the system closes it when the parent is killed
    assert orphan.wait(PATIENCE) == 1 and slow.wait(PATIENCE) == -signal.SIGALRM
    for process in (orphan, slow):
        assert process.stdout is not None
        process.stdout.close()

"""Runs independent jobs: in this process, or in several processes of this machine.

    python -m studies.corpus.lengths stories-softmax stories-gated --processes 2

A job is a module-level function with one argument that can be pickled. Every job uses one thread, so that its results
are the same on all machines with equal processors.
"""

import argparse
import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Runs torch on one thread while the context is open."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def on_one_thread(function: Callable[[Job], Result], job: Job) -> Result:
    """Returns function(job), computed with one thread."""
    with one_thread():
        return function(job)


def run_jobs(function: Callable[[Job], Result], jobs: Sequence[Job],
             processes: int = 1) -> Iterator[tuple[int, Result]]:
    """Yields (index of the job, its result) as soon as each job ends, in any order.

    With one process, the jobs run in the current process, in order. If a job fails, jobs that have not begun are
    cancelled.
    """
    if processes == 1 or len(jobs) == 1:
        for i, job in enumerate(jobs):
            yield i, on_one_thread(function, job)
        return
    # A forked process would inherit torch's locked thread pools, so new processes are spawned.
    with ProcessPoolExecutor(min(processes, len(jobs)), multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(on_one_thread, function, job): i for i, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def progress(results: Iterator[tuple[int, Result]], names: Sequence[str],
             clock: Callable[[], float] = time.monotonic) -> Iterator[tuple[int, Result]]:
    """Yields the results unchanged, and prints the number of finished jobs and the estimated remaining time."""
    began = clock()
    for done, (i, result) in enumerate(results, 1):
        yield i, result  # the result is yielded first, so that it is stored before the job is reported as done
        elapsed = clock() - began
        left = elapsed / done * (len(names) - done)
        print(f"{done} of {len(names)}, {elapsed / 60:.1f} min, about {left / 60:.0f} min left: {names[i]}", flush=True)


def add_processes_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--processes` to a command that runs jobs."""
    parser.add_argument("--processes", type=_positive, default=1, metavar="N",
                        help=f"jobs at the same time, one thread each; this machine has {os.cpu_count()} cores")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value

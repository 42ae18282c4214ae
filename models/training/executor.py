"""Runs independent jobs: in this process, in several local processes, or on a Ray cluster.

    python -m studies.corpus.lengths stories-softmax stories-gated --processes 2
    python -m studies.corpus.lengths stories-softmax stories-gated --ray             # a cluster on this machine
    python -m studies.corpus.lengths stories-softmax stories-gated --ray HOST:6379   # a running cluster

A job is a module-level function with one argument that can be pickled. Every job uses one thread, so that its results
are the same on all machines with equal processors. concurrent.futures and Ray do the scheduling, the repetition of lost
jobs and the transport of data. docs/studies.md describes clusters.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

ROOT = Path(__file__).parents[2]
SECONDS = 5  # timeout of the connection to a cluster, in seconds
LOST_NODES = 3  # number of times that Ray repeats a job whose node was lost

Job = TypeVar("Job")
Result = TypeVar("Result")


class ExecutorError(Exception):
    """The executor cannot start; the message gives the reason."""


class Executor(Protocol):
    """Runs independent jobs."""

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        """Yields (index of the job, its result) as soon as each job ends, in any order."""
        ...


def on_one_thread(function: Callable[[Job], Result], job: Job) -> Result:
    """Returns function(job), computed with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return function(job)
    finally:
        torch.set_num_threads(threads)


class LocalExecutor:
    """Runs jobs on this machine.

    Args:
        processes: number of processes; with 1, the jobs run in the current process, in order.
    """

    def __init__(self, processes: int = 1):
        self.processes = processes

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        """See Executor.map. If a job fails, jobs that have not begun are cancelled."""
        if self.processes == 1 or len(jobs) == 1:
            for i, job in enumerate(jobs):
                yield i, on_one_thread(function, job)
            return
        # A forked process would inherit torch's locked thread pools, so new processes are spawned.
        with ProcessPoolExecutor(min(self.processes, len(jobs)), multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(on_one_thread, function, job): i for i, job in enumerate(jobs)}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


class RayExecutor:
    """Runs jobs on a Ray cluster, with one CPU per job. All nodes need this repository under the same path.

    Args:
        address: HOST:PORT of a running cluster; None starts one on this machine.

    Raises:
        ExecutorError: Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, address: str | None = None):
        try:
            import ray  # Ray is optional: `pip install ray`
        except ImportError as error:
            raise ExecutorError("Ray is not installed; install it with: pip install ray") from error
        self._ray = ray
        if address is not None:
            _reach(address)
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        ray.init(address, include_dashboard=False if address is None else None, logging_level=logging.WARNING,
                 runtime_env={"env_vars": {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}})

    def map(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        """See Executor.map. Ray repeats a job whose node was lost on another node."""
        remote: Any = self._ray.remote(num_cpus=1, max_retries=LOST_NODES)(on_one_thread)
        waiting = {remote.remote(function, job): i for i, job in enumerate(jobs)}
        try:
            while waiting:
                (done, *_), _ = self._ray.wait(list(waiting), num_returns=1)
                yield waiting.pop(done), self._ray.get(done)
        finally:
            for left in waiting:
                self._ray.cancel(left, force=True)

    def close(self) -> None:
        """Disconnects from the cluster; stops the cluster if this executor started it."""
        self._ray.shutdown()


def _reach(address: str) -> None:
    """Raises ExecutorError unless a connection to HOST:PORT succeeds. Ray would try for four minutes and then exit."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ExecutorError(f"there is no Ray cluster at {address}; expected HOST:PORT") from error


def progress(results: Iterator[tuple[int, Result]], names: Sequence[str],
             clock: Callable[[], float] = time.monotonic) -> Iterator[tuple[int, Result]]:
    """Yields the results unchanged, and prints the number of finished jobs and the estimated remaining time."""
    began = clock()
    for done, (i, result) in enumerate(results, 1):
        yield i, result  # the result is yielded first, so that it is stored before the job is reported as done
        elapsed = clock() - began
        left = elapsed / done * (len(names) - done)
        print(f"{done} of {len(names)}, {elapsed / 60:.1f} min, about {left / 60:.0f} min left: {names[i]}", flush=True)


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--processes` and `--ray` to a command that runs jobs."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--processes", type=_positive, default=1, metavar="N",
                       help=f"that run jobs at the same time, one thread each; this machine has {os.cpu_count()} cores")
    group.add_argument("--ray", nargs="?", const="", metavar="HOST:PORT",
                       help="run jobs on this Ray cluster; without an address on one that is started here")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


@contextmanager
def executor_of(arguments: argparse.Namespace) -> Iterator[Any]:
    """Yields the executor that the command line selects, and closes it at the end."""
    if arguments.ray is None:
        yield LocalExecutor(arguments.processes)
        return
    executor = RayExecutor(arguments.ray or None)
    try:
        yield executor
    finally:
        executor.close()

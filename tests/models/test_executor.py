"""Jobs give the same results in this process, in several processes, and on a Ray cluster that loses a node.

    pytest tests/models/test_executor.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from models.training.executor import (
    ExecutorError,
    LocalExecutor,
    RayExecutor,
    add_executor_options,
    executor_of,
    on_one_thread,
    progress,
)


def product(seed: int) -> list[float]:
    """Returns numbers that depend on the order of summation, and so on the number of threads."""
    random = torch.Generator().manual_seed(seed)
    matrix = torch.randn(300, 300, generator=random)
    return [*(matrix @ matrix).sum(1).tolist(), float(torch.get_num_threads())]


def fails_at_2(job: int) -> int:
    if job == 2:
        raise ValueError("job 2 has no keys")
    return job


def on_a_node(folder_and_job: tuple[str, int]) -> list[float]:
    """Returns product(job) after a pause, which does not end while the file hold-NODE exists.

    Writes the file JOB-NODE at the beginning of the job, and held-JOB if the job waits.
    """
    import ray

    folder, job = folder_and_job
    node = ray.get_runtime_context().get_node_id()
    Path(folder, f"{job}-{node}").touch()
    time.sleep(0.5)
    while Path(folder, f"hold-{node}").exists():
        Path(folder, f"held-{job}").touch()
        time.sleep(0.05)
    return product(job)


def hold(folder: Path, node: str) -> None:
    """Returns once a job on the node has started and waits."""
    (folder / f"hold-{node}").touch()
    for _ in range(600):
        if any(folder.glob("held-*")):
            return
        time.sleep(0.05)
    raise AssertionError("the node did nothing in 30 seconds")


@pytest.mark.parametrize("processes", [1, 2])
def test_every_job_gives_its_own_result_with_one_thread(processes: int):
    expected = {job: on_one_thread(product, job) for job in range(5)}
    results = dict(LocalExecutor(processes).map(product, range(5)))
    assert results == expected
    assert all(numbers[-1] == 1 for numbers in results.values())


def test_a_job_leaves_the_threads_of_its_process_as_they_were():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert on_one_thread(product, 0)[-1] == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="job 2"):
            on_one_thread(fails_at_2, 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_job_that_fails_raises_its_own_error_and_keeps_the_results_before_it(processes: int):
    results = []
    with pytest.raises(ValueError, match="job 2 has no keys"):
        for _, result in LocalExecutor(processes).map(fails_at_2, [0, 1, 2]):
            results.append(result)
    assert set(results) <= {0, 1} and (processes > 1 or results == [0, 1])


def test_progress_says_how_many_jobs_are_done_and_how_long_the_rest_takes(capsys: pytest.CaptureFixture[str]):
    times = iter((0.0, 60.0, 180.0))
    results = progress(iter([(1, "x"), (0, "y")]), ["first", "second"], lambda: next(times))
    assert list(results) == [(1, "x"), (0, "y")]
    assert capsys.readouterr().out.splitlines() == [
        "1 of 2, 1.0 min, about 1 min left: second", "2 of 2, 3.0 min, about 0 min left: first"]


@pytest.mark.parametrize(("given", "processes"), [((), 1), (("--processes", "3"), 3)])
def test_the_command_line_names_the_executor(given: tuple[str, ...], processes: int):
    parser = argparse.ArgumentParser()
    add_executor_options(parser)
    with executor_of(parser.parse_args(given)) as executor:
        assert isinstance(executor, LocalExecutor) and executor.processes == processes


@pytest.mark.parametrize("given", [("--processes", "0"), ("--processes", "2", "--ray"), ("--processes", "x")])
def test_a_wrong_option_is_refused(given: tuple[str, ...]):
    parser = argparse.ArgumentParser()
    add_executor_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(given)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999", ":x"])
def test_a_cluster_that_is_not_there_is_named(address: str):
    pytest.importorskip("ray")
    with pytest.raises(ExecutorError, match=f"no Ray cluster at {address}"):
        RayExecutor(address)


@pytest.fixture
def cluster() -> Iterator[object]:
    """Yields a Ray cluster on this machine: a head node without a CPU for jobs, and two nodes with one CPU each."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    its = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield its
    import ray

    ray.shutdown()
    its.shutdown()


def test_a_cluster_that_loses_a_node_gives_the_same_numbers_bit_by_bit(
        cluster: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # the nodes import this module from this folder
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]  # type: ignore[attr-defined]
    jobs = [(str(tmp_path), job) for job in range(8)]
    parser = argparse.ArgumentParser()
    add_executor_options(parser)
    results = {}
    with executor_of(parser.parse_args(["--ray", cluster.address])) as executor:  # type: ignore[attr-defined]
        for i, numbers in executor.map(on_a_node, jobs):
            results[i] = numbers
            if len(results) == 2:
                hold(tmp_path, nodes[0].node_id)
                cluster.remove_node(nodes[0], allow_graceful=False)  # type: ignore[attr-defined]
    assert results == dict(LocalExecutor().map(product, range(len(jobs))))
    begun = [*tmp_path.glob("[0-9]*-*")]
    assert len(begun) > len(jobs)  # a job of the lost node was started again on the other node

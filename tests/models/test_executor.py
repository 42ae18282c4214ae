"""Jobs give the same results in this process and in several processes."""

import argparse

import pytest
import torch

from models.training.executor import add_processes_option, on_one_thread, progress, run_jobs


def product(seed: int) -> list[float]:
    """Returns numbers that depend on the order of summation, and so on the number of threads."""
    random = torch.Generator().manual_seed(seed)
    matrix = torch.randn(300, 300, generator=random)
    return [*(matrix @ matrix).sum(1).tolist(), float(torch.get_num_threads())]


def fails_at_2(job: int) -> int:
    if job == 2:
        raise ValueError("job 2 has no keys")
    return job


@pytest.mark.parametrize("processes", [1, 2])
def test_every_job_gives_its_own_result_with_one_thread(processes: int):
    expected = {job: on_one_thread(product, job) for job in range(5)}
    results = dict(run_jobs(product, range(5), processes))
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
        for _, result in run_jobs(fails_at_2, [0, 1, 2], processes):
            results.append(result)
    assert set(results) <= {0, 1} and (processes > 1 or results == [0, 1])


def test_progress_says_how_many_jobs_are_done_and_how_long_the_rest_takes(capsys: pytest.CaptureFixture[str]):
    times = iter((0.0, 60.0, 180.0))
    results = progress(iter([(1, "x"), (0, "y")]), ["first", "second"], lambda: next(times))
    assert list(results) == [(1, "x"), (0, "y")]
    assert capsys.readouterr().out.splitlines() == [
        "1 of 2, 1.0 min, about 1 min left: second", "2 of 2, 3.0 min, about 0 min left: first"]


def test_the_command_line_names_the_processes():
    parser = argparse.ArgumentParser()
    add_processes_option(parser)
    assert [parser.parse_args(given).processes for given in ([], ["--processes", "3"])] == [1, 3]
    for wrong in ("0", "x"):
        with pytest.raises(SystemExit):
            parser.parse_args(["--processes", wrong])

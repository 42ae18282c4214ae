"""Reports the tests that passed only when they were repeated, and fails the test run if they are more than MOST.

A browser, the server and the tests share the processors, so a failed browser test is repeated once. Each such case is
printed, and written to `runs/reruns.txt` with the reason for the first failure.
"""

from pathlib import Path

import pytest

MOST = 2
FILE = Path("runs") / "reruns.txt"  # relative to the root of the repository
_RERUNS: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_sessionstart() -> None:
    _RERUNS.clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome == "rerun":
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message.splitlines()[0] if crash else "no reason was recorded"
        _RERUNS.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    # workers of pytest-xdist do nothing here, because the controller has the reports of all workers
    if hasattr(session.config, "workerinput"):
        return
    file = session.config.rootpath / FILE
    if _RERUNS:
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(_RERUNS) + "\n", "utf-8")
    else:
        file.unlink(missing_ok=True)
    if len(_RERUNS) > MOST and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if len(_RERUNS) > MOST:
        terminalreporter.write_line(f"FAILED: {len(_RERUNS)} tests were run again, at most {MOST} may be; see {FILE}",
                                    red=True)

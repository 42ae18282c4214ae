"""The server's process: its number, processor time and memory."""

import os
import subprocess
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")  # ticks of the processor's clock per second


def server_of(address: str) -> int:
    """Returns the id of the process that serves an address of `tests.browser.serve`."""
    port = address.rsplit(":", 1)[1]
    process = subprocess.run(["pgrep", "-f", f"server.port {port}"], capture_output=True, text=True, check=True)
    return int(process.stdout.split()[0])


def cpu_seconds(process: int) -> float:
    """Returns the CPU seconds of a process over all threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(process: int, what: str = "VmRSS") -> int:
    """Returns a value of /proc/PID/status in bytes."""
    return int(Path(f"/proc/{process}/status").read_text().split(f"{what}:")[1].split()[0]) * 1024

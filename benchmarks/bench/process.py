"""What a process and its children use, read from /proc (Linux)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_IDLE, _WAIT, _STEAL = 3, 4, 7


def tree(pid: int) -> list[int]:
    """Give the process and everything it has started."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in (_PROC / str(parent) / "task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def cpu_seconds(pids: list[int]) -> float:
    """Add up user and system time of these processes; one that has ended counts nothing."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def peak_mb(pids: list[int]) -> float:
    """Add up the largest resident sizes these processes ever had, in MB."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = (_PROC / str(pid) / "status").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return total / 1024


def machine_seconds() -> float:
    """Give the CPU time that the whole machine has used since it began."""
    fields = [int(word) for word in (_PROC / "stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[_IDLE] - fields[_WAIT] - fields[_STEAL]) / _TICKS

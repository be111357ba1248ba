"""Where the time of a running process goes, by py-spy: a flame graph, and the functions by their own time."""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bench.outcome import Cell, Table

_FRAME = re.compile(r"(?P<name>.+) \((?P<file>.+?)(?::\d+)?\)")
_WAITING = re.compile(r"(\w+Selector\.)?select \(.*")
"""py-spy takes a thread that waits for events, and then for its turn, for one that works."""
_PACKAGES = re.compile(r".*?(?:site-packages/|/lib/python[^/]+/)")


async def profile(pid: int, seconds: float, picture: Path) -> Table:
    """Watch a process in two halves: draw a flame graph, then add up what each function took by itself.

    Raises RuntimeError where py-spy may not look into the process.
    """
    stacks = picture.with_suffix(".txt")
    await _record(pid, seconds / 2, "flamegraph", picture)
    await _record(pid, seconds / 2, "raw", stacks)
    return hottest(stacks.read_text().splitlines())


async def _record(pid: int, seconds: float, form: str, into: Path) -> None:
    duration = str(max(1, round(seconds)))
    command = [str(Path(sys.executable).with_name("py-spy")), "record", "--pid", str(pid), "--duration", duration]
    process = await asyncio.create_subprocess_exec(
        *(*command, "--format", form, "--function", "--output", str(into)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"py-spy cannot look into the worker: {told.decode(errors='replace').strip()}")


def hottest(stacks: Iterable[str], most: int = 25) -> Table:
    """Functions by the share of samples in which they were the innermost, without what only waits.

    A stack is `frame;frame;frame count`.
    """
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in stacks:
        names, _, count = line.rpartition(" ")
        frames = names.split(";")
        if _WAITING.fullmatch(frames[-1]):
            continue
        own[frames[-1]] += int(count)
        total.update(dict.fromkeys(set(frames), int(count)))
    rows = [_row(frame, own, total) for frame, _ in own.most_common(most)]
    return Table("Where the time goes", ["self %", "with callees %", "function", "file"], rows)


def _row(frame: str, own: Counter[str], total: Counter[str]) -> list[Cell]:
    samples = own.total()
    found = _FRAME.fullmatch(frame)
    name, file = (found["name"], _PACKAGES.sub("", found["file"])) if found else (frame, "")
    return [_share(own[frame], samples), _share(total[frame], samples), name, file]


def _share(part: int, whole: int) -> float:
    return round(100 * part / whole, 1)

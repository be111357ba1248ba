"""Numbered lines of a file, plain or gzip, or of standard input."""

from __future__ import annotations

import asyncio
import gzip
import os
import stat
import sys
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from moodstream.schemas.errors import BadFile

_GZIP = b"\x1f\x8b"
_LONGEST = 1_048_576
"""Bytes of the longest line of a pipe: twice the ceiling of an event."""


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Give the lines of a file, unpacked where it is gzip, numbered from 1.

    Raises `BadFile` with the line at which the file cannot be read any further.
    """
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                yield number, line
    except (EOFError, OSError, zlib.error) as error:
        raise BadFile(number + 1, f"cannot be read: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[Iterable[bytes]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP
        raw.seek(0)
        if not packed:
            yield raw
            return
        with gzip.open(raw) as unpacked:
            yield unpacked


async def lines_of(path: Path | None) -> AsyncIterator[tuple[int, bytes]]:
    """Give the lines of a file, or of standard input for None, as they come and without blocking the loop on a pipe."""
    if path is not None:
        for numbered in numbered_lines(path):
            yield numbered
    elif _may_wait():
        async for numbered in _piped():
            yield numbered
    else:
        for numbered in enumerate(sys.stdin.buffer, 1):
            yield numbered


def _may_wait() -> bool:
    """Tell whether standard input is something that the loop can wait on: a file always has what it has."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()


async def _piped() -> AsyncIterator[tuple[int, bytes]]:
    reader = asyncio.StreamReader(limit=_LONGEST)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    number = 0
    try:
        while True:
            number += 1
            line = await reader.readline()
            if not line:
                return
            yield number, line
    except ValueError as error:
        raise BadFile(number, f"longer than {_LONGEST} bytes") from error
    finally:
        transport.close()

"""`moodstream worker` with a fault in its protocol, planted on purpose: a drill that does not find it is worth nothing.

Run it as `python -m drill.planted PLANT worker`. The fault survives the restart in place.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from moodstream.schemas.changelog import Position
from moodstream.state.ownership import Ownership
from moodstream.state.partition import RedisPartition, Wanted

Rows = Mapping[bytes, bytes | None]


def skip_append() -> None:
    """Chunks go to Redis alone."""

    async def append(self: Ownership, rows: Rows, position: Position) -> None:
        self._require_ready()

    Ownership.append = append  # type: ignore[method-assign]


def flush_before_append() -> None:
    """Readers see a chunk before the log has it: what `append` is given waits until `flush` has been made."""
    append, flush = Ownership.append, Ownership.flush

    async def nothing_yet(self: Ownership, rows: Rows, position: Position) -> None:
        self._require_ready()

    async def flush_and_append(self: Ownership, rows: Rows, position: Position) -> None:
        await flush(self, rows, position)
        await append(self, rows, position)

    Ownership.append = nothing_yet  # type: ignore[method-assign]
    Ownership.flush = flush_and_append  # type: ignore[method-assign]


def load_unfenced() -> None:
    """Rows are read from whatever Redis has, even nothing."""

    async def load(self: RedisPartition, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        del token, at
        async with self._redis.pipeline(transaction=False) as pipe:
            for one in wanted:
                pipe.hmget(one.key, list(one.fields))
            return await pipe.execute()

    RedisPartition.load = load  # type: ignore[method-assign]


PLANTS: dict[str, Callable[[], None]] = {
    "append-skipped": skip_append,
    "flush-before-append": flush_before_append,
    "load-unfenced": load_unfenced,
}


def main() -> None:
    """Plant, and be the command."""
    plant = sys.argv[1]
    PLANTS[plant]()
    replace = os.execv

    def again(path: str, arguments: Sequence[str]) -> NoReturn:
        at = list(arguments).index("moodstream")
        replace(path, [path, "-m", "drill.planted", plant, *arguments[at + 1 :]])

    os.execv = again  # type: ignore[assignment]
    sys.argv = ["moodstream", *sys.argv[2:]]
    from moodstream.cli.main import main as run

    run()


if __name__ == "__main__":
    main()

"""What can be made of the rows of an older fold where the log no longer has the events behind them.

Each has a name, by which an operator allows it (`worker.migrate`): it makes rows that no fold of a log would make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from moodstream.affect.params import Fold
from moodstream.state.rows import NO_MAKER, maker_of, pack_row, unpack_row

Rows = dict[bytes, bytes]


class Migration(NamedTuple):
    """One way from rows of older folds to rows of this one."""

    name: str
    versions: frozenset[int]
    """Fold versions whose rows it reads."""
    convert: Callable[[Mapping[bytes, bytes], Fold], Rows]
    """All rows of an agent by row key to all rows that it shall have."""

    def fits(self, agent_row: bytes) -> bool:
        """Whether it reads what wrote this row."""
        return int.from_bytes(maker_of(agent_row)[:2]) in self.versions


def restamp(rows: Mapping[bytes, bytes], fold: Fold) -> Rows:
    """Keep the numbers as they are, and go on from them with the new parameters. For folds that read the same bytes."""
    return {key: row if maker_of(row) == NO_MAKER else _restamped(row, fold) for key, row in rows.items()}


def _restamped(data: bytes, fold: Fold) -> bytes:
    row = unpack_row(data)
    return pack_row(row.kind, row.offset, row.body, fold.stamp)


MIGRATIONS: Final = {"restamp": Migration("restamp", frozenset({1}), restamp)}

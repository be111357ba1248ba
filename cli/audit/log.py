"""The records of one partition, grouped by key and kept packed until their agent is compared."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from moodstream.cli.audit.sources import Log, Record

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Record)


class GroupedLog:
    """Reads a partition's log on demand. A record is one bytes object until it is folded."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._groups: dict[bytes, list[bytes]] = {}
        self.position = log.start
        """Everything before it has been read."""

    @property
    def start(self) -> int:
        """Offset of the oldest record that there is."""
        return self._log.start

    def reaches(self, position: int) -> bool:
        """Whether the log has come this far: if not, the position is one of another log."""
        return position <= self._log.end

    async def read_to(self, position: int) -> None:
        """Read on, so that every record before `position` is here that there is at all."""
        if position <= self.position:
            return
        async for batch in self._log.read(position):
            for record in batch:
                self._groups.setdefault(record.key or b"", []).append(_ENCODER.encode(record))
                self.position = record.offset + 1
        self.position = max(self.position, min(position, self._log.end))

    def take(self, key: bytes) -> list[bytes]:
        """The packed records with this key, in offset order; they are forgotten here."""
        return self._groups.pop(key, [])

    def keys(self) -> list[bytes]:
        """The keys that have not been taken."""
        return list(self._groups)


def unpacked(records: list[bytes]) -> Iterator[Record]:
    """The records again, one at a time."""
    return map(_DECODER.decode, records)

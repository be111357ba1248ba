"""What a reader gets: partitions, agents, buckets of memories, each with its place in the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from struct import Struct as Packing
from typing import NamedTuple

from moodstream.schemas.errors import FoldMismatch
from moodstream.schemas.profile import ProfileValues
from moodstream.state.profile_row import Profile
from moodstream.state.rows import AGENT, FOLD_VERSION, PROFILE, Kind, MemoryContent, Row, unpack_row

RESTORING = "restoring"
"""Value of the meta field `state` while rows come back from the changelog."""
AHEAD = "ahead"
"""Its value when Redis holds more than the changelog: an operator has to decide."""

_AGENT_BODY = Packing(">qQq")
_COUNTS = ("accepted", "duplicate", "erased", "dead", "conflict", "ignored")


@dataclass(frozen=True, slots=True)
class StateFormat:
    """What the first worker wrote down of the deployment."""

    partitions: int
    format: int
    cluster: str
    """The broker's id of the Kafka cluster whose state this is; empty: not told."""
    log: str = ""
    """Name of the changelog topic."""

    @classmethod
    def of(cls, raw: Mapping[bytes, bytes]) -> StateFormat:
        """Read the hash. A field that is missing counts as zero or empty."""
        numbers = int(raw.get(b"partitions", 0)), int(raw.get(b"format", 0))
        return cls(*numbers, raw.get(b"cluster", b"").decode(), raw.get(b"log", b"").decode())


PROFILE_FIELD = b"profile:"
"""In the hash of the deployment: stands before the stamp (hex) of a fold whose default profile the field holds."""
FOLD_FIELD = b"fold"
"""In the same hash: fold version, revision and stamp (hex) of the newest fold that a worker has declared."""


@dataclass(frozen=True, slots=True)
class KnownFolds:
    """The folds that workers of a deployment have declared: what readers need to know of them."""

    newest: bytes | None
    """Stamp of the newest one; None before any worker."""
    profiles: Mapping[bytes, ProfileValues]
    """Stamp to the profile of agents that never set one."""

    @classmethod
    def of(cls, raw: Mapping[bytes, bytes]) -> KnownFolds:
        """Read the hash of the deployment."""
        said = raw.get(FOLD_FIELD)
        profiles: dict[bytes, ProfileValues] = {}
        for name, value in raw.items():
            if name.startswith(PROFILE_FIELD):
                with suppress(ValueError):  # of a newer release, with fields that this one does not know
                    stamp = bytes.fromhex(name.removeprefix(PROFILE_FIELD).decode())
                    profiles[stamp] = ProfileValues.from_canonical(value)
        return cls(None if said is None else bytes.fromhex(said.split()[2].decode()), profiles)


@dataclass(frozen=True, slots=True)
class PartitionMeta:
    """Positions and counts of one partition, at one moment."""

    partition: int
    state: str
    source: int
    """Next position of the log: all records below it are in the rows."""
    changelog: int
    epoch: str
    incarnation: str
    counts: Mapping[str, int] = field(default_factory=dict)
    source_end: int | None = None
    """End of the log when the worker last looked; None: not told."""

    @classmethod
    def of(cls, partition: int, raw: Mapping[bytes, bytes]) -> PartitionMeta | None:
        """Read the meta hash; None when the partition was never acquired."""
        if not raw:
            return None
        text = {name.decode(): value.decode() for name, value in raw.items()}
        end = text.get("source_end")
        return cls(
            partition,
            text.get("state", ""),
            int(text.get("source", 0)),
            int(text.get("changelog", "").partition("+")[0] or 0),
            text.get("epoch", ""),
            text.get("incarnation", ""),
            {name: int(text.get(name, 0)) for name in _COUNTS},
            None if end is None else int(end),
        )

    @property
    def lag(self) -> int | None:
        """Records between the rows and the end of the log, where that is known."""
        return None if self.source_end is None else max(self.source_end - self.source, 0)


class AgentFacts(NamedTuple):
    """Body of an agent row."""

    first_offset: int
    """Offset of the first accepted event; -1: it lies before this log."""
    accepted: int
    newest: int
    """Greatest time of an accepted event, ms."""

    @classmethod
    def unpack(cls, body: bytes) -> AgentFacts:
        """Read the body of the row `agent`."""
        return cls(*_AGENT_BODY.unpack(body))


class AgentEntry(NamedTuple):
    """One line of the list of agents."""

    agent: str
    version: int
    facts: AgentFacts
    partition: int
    source: int
    """Next position of the partition's log when the line was read."""


@dataclass(frozen=True, slots=True)
class AgentView:
    """Rows of one agent, all read at one position of the log."""

    tenant: str
    agent: str
    key: bytes
    meta: PartitionMeta
    rows: Mapping[bytes, Row]
    default_profile: ProfileValues
    """Holds if the agent has never set one: that of the fold which wrote the rows."""
    buckets: Sequence[int] = ()
    """Numbers of the buckets that hold memories, ascending; empty unless asked for."""
    marker: bytes | None = None
    """The marker row of what was erased of the agent, as it is stored."""

    @property
    def version(self) -> int:
        """Log offset of the last event that counted for this agent."""
        return self.rows[AGENT].offset

    @property
    def facts(self) -> AgentFacts:
        """First offset, number of events, newest time."""
        return AgentFacts.unpack(self.rows[AGENT].body)

    def body(self, suffix: bytes) -> bytes | None:
        """Body of a row, None when the agent has no such row."""
        row = self.rows.get(suffix)
        return None if row is None else row.body

    @property
    def profile(self) -> Profile:
        """The profile in force and its revisions; the view must have been read with the row `profile`."""
        return Profile.unpack(self.body(PROFILE), self.default_profile)


class StoredMemory(NamedTuple):
    """A memory row with its header offset."""

    ident: bytes
    """H(event_id)."""
    offset: int
    content: MemoryContent
    shift: tuple[float, ...] | None


@dataclass(slots=True)
class BucketRows:
    """Memories and shift rows of one time bucket, as far as the reader's version reaches."""

    bucket: int
    memories: list[StoredMemory] = field(default_factory=list)
    shifts: dict[bytes, bytes] = field(default_factory=dict)
    """H(event_id) to the body of the shift row."""
    broken: int = 0
    """Rows that could not be read."""


class ScannedAgent(NamedTuple):
    """All rows of an agent by their key in the changelog, header and all."""

    key: bytes
    rows: dict[bytes, bytes]
    source: int
    """Next position of the log at the moment of reading."""


def checked_row(data: bytes) -> Row:
    """Take a row apart and refuse one that another version of the folds wrote."""
    row = unpack_row(data)
    if row.fold != FOLD_VERSION and row.kind is not Kind.ERASED:
        raise FoldMismatch(f"a row was written by fold version {row.fold}, this program reads {FOLD_VERSION}")
    return row

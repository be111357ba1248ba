"""The life of a chunk: decode, load, fold, bury, append, flush, announce, commit. In that order, for one partition.

    decode      records to events, by agent; what breaks a rule becomes a dead letter
                first of all, the rows of agents for which a `rebuild` event asks are made anew (agents/repair.py)
    load        the rows that the events change, under the fence; those of busy agents are at hand
    fold        events into rows, agent by agent, in log order
    bury        dead letters: acknowledged by the broker, for what follows moves the position past their records
    append      changed rows and the new position to the changelog: acknowledged by the broker
    flush       the same rows and positions to Redis, in one step, if nobody else has the partition
    announce    newest moods, profiles and turned trends: acknowledged by the broker
    commit      the position of the source, by whoever calls `process`

A crash between any two steps is harmless: the changelog's rule makes a chunk whole or nothing, and what Redis already
contains is not folded again, only announced (docs/durability.md).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog
from aiokafka import AIOKafkaProducer

from moodstream.affect.params import Fold
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.announce import mood_changed, profile_message
from moodstream.agents.cache import RowCache
from moodstream.agents.dead import dead_letter
from moodstream.agents.decode import Decoded, Record, Refused, decode_records, idents_of, others_of
from moodstream.agents.fold import Changes, Entry, Folding, fold_events
from moodstream.agents.notices import Turn, announced_again, look
from moodstream.agents.past import erasures_of
from moodstream.agents.rebuild import Rebuilder
from moodstream.agents.refold import EventSource
from moodstream.agents.repair import repair
from moodstream.agents.whole import load_past
from moodstream.schemas.changelog import Position
from moodstream.schemas.erasure import Erase
from moodstream.schemas.errors import FoldMismatch, InternalFault, SourceGap
from moodstream.schemas.events import InputEvent
from moodstream.schemas.limits import Limits
from moodstream.schemas.profile import AgentProfile
from moodstream.schemas.rebuild import Rebuild
from moodstream.state.ownership import Ownership
from moodstream.state.partition import Wanted
from moodstream.state.rows import ERASED, Kind, content_of, hash_key, pair_suffix, unpack_row
from moodstream.streams.event_log import EventLog
from moodstream.streams.sending import Message, send_batches
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import Chunk

log = structlog.get_logger(__name__)

Known = Mapping[bytes, bytes | None]


@dataclass(slots=True)
class Folded:
    """What a chunk comes to: rows to write, agents to announce, letters to send, counts."""

    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    moods: dict[bytes, list[str]] = field(default_factory=dict)
    """Agents whose mood may have moved, with the octants passed."""
    profiles: set[bytes] = field(default_factory=set)
    turns: list[Turn] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    erased: int = 0


class PartitionPipeline:
    """Processes the chunks of one partition, one after the other, for as long as this worker owns it."""

    def __init__(
        self,
        ownership: Ownership,
        producer: AIOKafkaProducer,
        settings: StreamSettings,
        limits: Limits,
        cache: RowCache,
        fold: Fold,
        source: EventSource | None = None,
    ) -> None:
        self.ownership = ownership
        self._producer = producer
        self._settings = settings
        self._limits = limits
        self._cache = cache
        self._fold = fold
        self._source = source or EventLog(settings)
        self._announced = ownership.position.announced

    async def process(self, chunk: Chunk) -> None:
        """Take a chunk through all steps. When it returns, the position behind it may be committed.

        Raises `SourceGap` for a chunk that does not follow what was read, `Fenced` and `StateLost` when the partition
        is no longer this worker's, `FoldMismatch` for rows of another fold. The worker then starts again.
        """
        position = self.ownership.position
        if chunk.start > position.source:
            raise SourceGap(
                f"partition {chunk.partition} goes on at {position.source}, but {chunk.start} was delivered",
                partition=chunk.partition,
            )
        fresh = [record for record in chunk.records if record.offset >= position.source]
        repeated = [record for record in chunk.records if record.offset < position.source]
        if repeated:
            await self._announce_again(repeated)
        if fresh:
            await self._fold_chunk(fresh, chunk.end)
        self._announced = chunk.end

    async def _fold_chunk(self, records: Sequence[Record], end: int) -> None:
        decoded = self._decode(records)
        if decoded.rebuilds:
            await self._rebuild(decoded.rebuilds)
        agents, known = await self._load(decoded.agents)
        await self._load_whole(decoded.agents, agents)
        folded = fold_chunk(decoded, agents, known)
        position = self._position(folded, decoded, end)
        del decoded, known  # half of the memory of a chunk, and all that follows waits for others
        await self._bury(folded.refused)
        await self.ownership.append(folded.rows, position)
        await self.ownership.flush(folded.rows, position)
        self._cache.put(agents.values())
        await self._announce(folded, agents)

    async def _rebuild(self, events: Mapping[bytes, Rebuild]) -> None:
        self._cache.drop(events)
        await repair(Rebuilder(self.ownership, self._source, self._settings, self._fold), events)

    # -- decode

    def _decode(self, records: Sequence[Record]) -> Decoded:
        return decode_records(records, self.ownership.partition, self._settings.partitions, self._limits)

    # -- load

    async def _load(
        self, entries: Mapping[bytes, Sequence[Entry]]
    ) -> tuple[dict[bytes, AgentRows], dict[bytes, Known]]:
        """Rows of the agents, and what those of the events say that were accepted before."""
        agents = {key: self._cache.get(key) or AgentRows(key, self._fold) for key in entries}
        layout = self.ownership.layout
        wanted: list[Wanted] = []
        fields: list[tuple[bytes, list[bytes], list[bytes]]] = []
        for key, found in entries.items():
            missing = _missing_rows(agents[key], found)
            idents = idents_of(found)
            fields.append((key, missing, idents))
            wanted += (Wanted(layout.agent(key), missing), Wanted(layout.ids(key), idents))
        new = [key for key, agent in agents.items() if not agent.complete]
        wanted.append(Wanted(layout.erased, list(map(hash_key, new))))
        values = iter(await self.ownership.load([one for one in wanted if one.fields]))
        buckets: dict[bytes, dict[bytes, int]] = {}
        for key, missing, idents in fields:
            if missing:
                agents[key].add(dict(zip(missing, next(values), strict=True)))
            places = next(values) if idents else ()
            buckets[key] = {ident: int(place) for ident, place in zip(idents, places, strict=True) if place is not None}
        for key, row in zip(new, next(values, ()), strict=True):
            agents[key].add({ERASED: row})
        return agents, await self._load_known(buckets)

    async def _load_whole(self, entries: Mapping[bytes, Sequence[Entry]], agents: Mapping[bytes, AgentRows]) -> None:
        """Load the rest of those agents of which something is erased."""
        for key, found in entries.items():
            erasures = erasures_of(entry.event for entry in found)
            if erasures:
                agents[key].past = await load_past(self.ownership, agents[key], erasures)

    async def _load_known(self, buckets: Mapping[bytes, Mapping[bytes, int]]) -> dict[bytes, Known]:
        """What the events that are known say: a second trip, but only for duplicates."""
        known: dict[bytes, dict[bytes, bytes | None]] = {key: {} for key in buckets}
        places: dict[tuple[bytes, int], list[bytes]] = {}
        for key, found in buckets.items():
            for ident, bucket in found.items():
                places.setdefault((key, bucket), []).append(ident)
        if places:
            layout = self.ownership.layout
            wanted = [Wanted(layout.memory(*place), idents) for place, idents in places.items()]
            for ((key, _), idents), rows in zip(places.items(), await self.ownership.load(wanted), strict=True):
                known[key].update(zip(idents, map(_said, rows), strict=True))
        return dict(known)

    # -- bury and append

    def _position(self, folded: Folded, decoded: Decoded, end: int) -> Position:
        before = self.ownership.position
        return replace(
            before,
            source=end,
            announced=self._announced,
            accepted=before.accepted + folded.accepted,
            duplicate=before.duplicate + folded.duplicate,
            erased=before.erased + folded.erased,
            dead=before.dead + len(folded.refused),
            conflict=before.conflict + folded.conflict,
            ignored=before.ignored + decoded.ignored,
        )

    async def _bury(self, refused: Sequence[Refused]) -> None:
        """Send dead letters: before the changelog has the position, for from there on nobody folds them again."""
        if not refused:
            return
        topics, partition = self._settings.topics, self.ownership.partition
        letters = [dead_letter(one, topics.events, partition) for one in refused]
        await self._send(topics.dead, letters)
        # One line a chunk: in a flood of bad records a line each would cost more than the records.
        first = min(one.record.offset for one in refused)
        codes = Counter(one.reason.code for one in refused)
        log.warning("dead letters", partition=partition, count=len(refused), first=first, codes=dict(codes))

    # -- announce

    async def _announce(self, folded: Folded, agents: Mapping[bytes, AgentRows]) -> None:
        topics = self._settings.topics
        moods = [mood_changed(agents[key], octants) for key, octants in folded.moods.items()]
        await asyncio.gather(
            self._send(topics.mood, [message for message in moods if message]),
            self._send(topics.profiles, [profile_message(agents[key]) for key in sorted(folded.profiles)]),
            self._send(topics.trends, [turn.message() for turn in folded.turns]),
        )

    async def _announce_again(self, records: Sequence[Record]) -> None:
        """Announce the rows that re-read records have led to: perhaps nobody was told before a crash."""
        entries = self._decode(records).agents
        agents, _ = await self._load(entries)
        again = Folded(
            moods={key: [] for key in agents},
            profiles={k for k, found in entries.items() if any(_changes_profile(e.event) for e in found)},
            turns=[turn for agent in agents.values() for turn in announced_again(agent, since=records[0].offset)],
        )
        self._cache.put(agents.values())
        await self._announce(again, agents)

    async def _send(self, topic: str, messages: Sequence[Message]) -> None:
        if messages:
            await send_batches(self._producer, topic, self.ownership.partition, messages)


def _changes_profile(event: InputEvent) -> bool:
    return isinstance(event, AgentProfile) or (isinstance(event, Erase) and event.scope == "agent")


def _missing_rows(agent: AgentRows, entries: Sequence[Entry]) -> list[bytes]:
    small = () if agent.complete else SMALL_ROWS
    pairs = (pair_suffix(other) for other in others_of(entries))
    return [*small, *(suffix for suffix in pairs if suffix not in agent.trends)]


def _said(row: bytes | None) -> bytes | None:
    """What the event of a memory row says; None where it was erased."""
    if row is None:
        return b""
    found = unpack_row(row)
    return None if found.kind is Kind.ERASED else content_of(found.body)


# -- fold


def fold_chunk(decoded: Decoded, agents: dict[bytes, AgentRows], known: Mapping[bytes, Known]) -> Folded:
    """Fold all events of a chunk. An event whose fold raises is refused, and its agent is folded without it."""
    folded = Folded()
    for key, entries in decoded.agents.items():
        agents[key], changes = _fold_agent(agents[key], entries, known[key], decoded, folded.refused)
        folded.accepted += changes.accepted
        folded.duplicate += changes.duplicate
        folded.conflict += changes.conflict
        folded.erased += changes.erased
        folded.rows.update(changes.rows)
        if changes.octants or changes.mood_erased:
            folded.moods[key] = changes.octants
        if changes.profiled:
            folded.profiles.add(key)
            folded.moods.setdefault(key, [])
    folded.turns = look(list(agents.values()))
    for agent in agents.values():
        folded.rows.update(agent.pack_touched())
        agent.past = None
    folded.refused = [*decoded.refused, *folded.refused]
    return folded


def _fold_agent(
    agent: AgentRows, entries: Sequence[Entry], known: Known, decoded: Decoded, refused: list[Refused]
) -> tuple[AgentRows, Changes]:
    try:
        return agent, fold_events(agent, entries, known)
    except FoldMismatch:
        raise
    except Exception:  # noqa: BLE001 - a bug in a fold must not stop the partition; found event by event below
        return _fold_carefully(agent, entries, known, decoded, refused)


_LOGGED: Final = "fold raised"


def _fold_carefully(
    agent: AgentRows, entries: Sequence[Entry], known: Known, decoded: Decoded, refused: list[Refused]
) -> tuple[AgentRows, Changes]:
    """Find the events whose fold raises, one by one, and fold the others from the stored rows."""
    good: list[Entry] = []
    trial, folding = agent.fresh(), Folding(known, agent.past)
    for entry in entries:
        try:
            folding.fold(trial, entry)
        except Exception as error:
            log.exception(_LOGGED, offset=entry.offset)
            refused.append(Refused(decoded.records[entry.offset], InternalFault(f"{type(error).__name__} in the fold")))
            trial, folding = agent.fresh(), Folding(known, agent.past)
            for one in good:
                folding.fold(trial, one)
        else:
            good.append(entry)
    return trial, folding.changes

"""The checks at the end of a round: pure, so that each can be shown to find what it looks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from typing import Any, NamedTuple

from drill.publisher import Sent
from drill.reader import Answer
from drill.story import Raw
from drill.truth import Life, Triple, Truth
from moodstream.cli.audit.sources import Record
from moodstream.schemas.codec import encode
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.identity import MOOD_PREFIX, agent_key
from moodstream.schemas.profile import AgentProfile

_CLOSE = 1e-9
_AXES = ("pleasure", "arousal", "dominance")

Place = tuple[int, int]
"""Partition and offset."""


def not_in_log(sent: Iterable[Sent], log: Mapping[int, Sequence[Record]]) -> list[str]:
    """What the broker has acknowledged, and does not have."""
    there = {(partition, record.offset): record.value for partition, records in log.items() for record in records}
    return [
        f"{one.partition}/{one.offset}: acknowledged, and not in the log"
        for one in sent
        if there.get((one.partition, one.offset), b"?") != _value(one)
    ]


def _value(one: Sent) -> bytes | None:
    return one.item.value if isinstance(one.item, Raw) else encode(one.item).value


def expected_memories(sent: Sequence[Sent], truth: Truth) -> dict[bytes, set[str]]:
    """Ids by agent of all events that have to be memories: by the publisher's list alone, where nothing was erased.

    What an erasure takes depends on its place in the log, so of agents that know one the oracle tells.
    """
    found: dict[bytes, set[str]] = {}
    changed = set()
    for one in sent:
        if isinstance(one.item, Raw):
            continue
        key = agent_key(one.item.tenant_id, one.item.agent_id)
        if isinstance(one.item, Erase | Expire):
            changed.add(key)
        elif not isinstance(one.item, AgentProfile):
            found.setdefault(key, set()).add(one.item.event_id)
    return found | {key: set(truth.lives[key].memories) if key in truth.lives else set() for key in changed}


def names_of(memories: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How often each event is listed. A mood signal is listed as the shift alone; other events beside their shifts."""
    plain, shifted = Counter[str](), Counter[str]()
    for each in memories:
        if each["type"] == "mood.state":
            shifted[each["memory_id"].removeprefix(MOOD_PREFIX)] += 1
        else:
            plain[each["memory_id"]] += 1
    return plain | shifted


def lost_memories(expected: Mapping[bytes, set[str]], listed: Mapping[bytes, Counter[str]]) -> list[str]:
    """Events that are no memories."""
    return [
        f"{key.decode()}: {name} is no memory"
        for key, names in expected.items()
        for name in sorted(names - listed.get(key, Counter()).keys())
    ]


def double_memories(expected: Mapping[bytes, set[str]], listed: Mapping[bytes, Counter[str]]) -> list[str]:
    """Memories that are there more than once, or of no event."""
    return [
        f"{key.decode()}: {name} is there {count} times"
        for key, names in listed.items()
        for name, count in names.items()
        if count > 1 or name not in expected.get(key, ())
    ]


def miscounted(truth: Truth, counts: Mapping[str, int], records: int) -> tuple[list[str], list[str]]:
    """Lost and double by the four counts: they add up to the records, and as many were accepted as the oracle says."""
    lost: list[str] = []
    double: list[str] = []
    accepted, right, total = counts.get("accepted", 0), truth.counts["accepted"], sum(counts.values())
    if accepted != right:
        (double if accepted > right else lost).append(f"{accepted} events accepted, of {right}")
    if total != records:
        (double if total > records else lost).append(f"{total} records counted, of {records}")
    return lost, double


def unburied(sent: Iterable[Sent], letters: set[Place]) -> list[str]:
    """Malformed records without a dead letter."""
    places = {(one.partition, one.offset) for one in sent if isinstance(one.item, Raw)}
    return [f"{partition}/{offset}: no dead letter" for partition, offset in sorted(places - letters)]


class Told(NamedTuple):
    """A mood that was announced: for which log offset, and the displacement that follows from it for `END_MS`."""

    sequence: int
    displacement: Triple


NOTHING_TOLD = Told(-1, (0.0, 0.0, 0.0))


def unannounced(truth: Truth, announced: Mapping[bytes, Told]) -> list[str]:
    """Agents whose last mood nobody was told, or who were told of another one."""
    return [
        f"{key.decode()}: mood {life.mood_offset}, announced {told.sequence}"
        for key, life in truth.lives.items()
        if _is_wrong(life, told := announced.get(key, NOTHING_TOLD))
    ]


def _is_wrong(life: Life, told: Told) -> bool:
    if life.mood_offset < 0:
        return told != NOTHING_TOLD and not life.erased
    right = life.prefixes[max(life.prefixes)].displacement
    return told.sequence != life.mood_offset or not all(map(_close, told.displacement, right))


def _close(found: float, wanted: float) -> bool:
    return isclose(found, wanted, rel_tol=0, abs_tol=_CLOSE)


def false_reads(truth: Truth, answers: Iterable[Answer]) -> list[str]:
    """Answers that no prefix of the agent's history gives."""
    return [text for answer in answers if (text := _false(truth, answer))]


def vanished(truth: Truth, gone: Iterable[tuple[str, str]]) -> list[str]:
    """Agents that readers had found and then not, though nobody had erased them: a Redis without rows shows so."""
    keys = sorted(agent_key(*agent) for agent in gone)
    return [f"{key.decode()}: not found any more" for key in keys if not truth.lives.get(key, Life()).erased]


def _false(truth: Truth, answer: Answer) -> str:
    key = agent_key(answer.tenant, answer.agent)
    version = answer.body["applied"]["version"]
    life = truth.lives.get(key, Life())
    if version not in life.prefixes:
        return f"{key.decode()}: version {version} is of no record that was accepted"
    fault = (_false_mood if answer.what == "mood" else _false_memories)(life, version, answer.body)
    return f"{key.decode()} at version {version}: {fault}" if fault else ""


def _false_mood(life: Life, version: int, body: Mapping[str, Any]) -> str:
    right = life.prefixes[version]
    for name, expected in (("mood", right.mood), ("displacement", right.displacement)):
        if not _same(body[name], expected):
            return f"{name} {body[name]}, expected {expected}"
    return ""


def _same(axes: Mapping[str, float], expected: Triple) -> bool:
    return all(map(_close, (axes[name] for name in _AXES), expected))


def _false_memories(life: Life, version: int, body: Mapping[str, Any]) -> str:
    if body["next"] is not None:
        return ""
    found = names_of(body["memories"])
    right = Counter(life.prefixes[version].memories)
    return "" if found == right else f"memories {sorted((found - right) + (right - found))} are too many or missing"

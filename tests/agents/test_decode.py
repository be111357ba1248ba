"""From records to the events of each agent, and what is refused on the way."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from moodstream.agents import decode as room
from moodstream.agents.decode import Decoded, decode_records, others_of
from moodstream.schemas.errors import InternalFault, PartitionMismatch
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.limits import Limits
from moodstream.schemas.profile import AgentProfile
from support.chunks import WRITTEN_MS, Record, records_of
from support.events import T0_MS, engagement, lives, outcome, profile

PARTITIONS = 4


def decoded(records: list[Record], partition: int = 0, partitions: int = 1) -> Decoded:
    return decode_records(records, partition, partitions, Limits())


def test_events_are_grouped_by_agent_in_log_order() -> None:
    events = lives(3)
    found = decoded(records_of(events, start=100))
    assert list(found.agents) == list(dict.fromkeys(agent_key(e.tenant_id, e.agent_id) for e in events))
    for key, entries in found.agents.items():
        assert [entry.event for entry in entries] == [e for e in events if agent_key(e.tenant_id, e.agent_id) == key]
        offsets = [entry.offset for entry in entries]
        assert offsets == sorted(offsets)
        assert all(events[offset - 100] == entry.event for offset, entry in zip(offsets, entries, strict=True))
    assert found.refused == []
    assert found.records.keys() == set(range(100, 100 + len(events)))


def test_a_record_in_another_partition_than_its_keys_is_refused() -> None:
    records = records_of(lives(8)[:40])
    for partition in range(PARTITIONS):
        found = decoded(records, partition, PARTITIONS)
        right = [r.offset for r in records if partition_of(r.key, PARTITIONS) == partition]
        assert sorted(found.records) == right
        assert {r.record.offset for r in found.refused} == {r.offset for r in records} - set(right)
        assert all(isinstance(r.reason, PartitionMismatch) for r in found.refused)


def test_a_bad_record_stops_nothing_and_is_kept_as_it_is() -> None:
    (good, other) = records_of([outcome("t", "a", "x", T0_MS), outcome("t", "a", "y", T0_MS)])
    bad = Record(5, good.key, b"{", (("trace", b"1"),))
    found = decoded([good, bad, replace(other, offset=6)])
    assert [entry.offset for entry in found.agents[good.key]] == [0, 6]
    (refused,) = found.refused
    assert refused.record is bad
    assert refused.reason.code == "malformed_record"


def test_fields_that_nobody_knows_are_counted_over_accepted_records_only() -> None:
    (record,) = records_of([outcome("t", "a", "x", T0_MS)])
    fields = {**json.loads(record.value), "extra": 1, "more": {"nested": 2}}
    known = replace(record, value=json.dumps(fields).encode())
    refused = replace(known, offset=1, value=json.dumps({**fields, "description": " "}).encode())
    found = decoded([known, refused, replace(record, offset=2)])
    assert (found.ignored, len(found.refused)) == (2, 1)


def test_the_records_own_time_decides_what_is_in_the_future() -> None:
    event = outcome("t", "a", "x", WRITTEN_MS + 300_000)
    (record,) = records_of([event])
    assert decoded([record]).refused == []
    (refused,) = decoded([replace(record, timestamp=WRITTEN_MS - 1)]).refused
    assert refused.reason.code == "future_event"


def test_limits_are_those_of_the_worker() -> None:
    (record,) = records_of([outcome("t", "a", "x", T0_MS, description="d" * 600)])
    found = decode_records([record], 0, 1, Limits(description_bytes=500))
    assert [one.reason.code for one in found.refused] == ["invalid_event"]


def test_decoding_that_raises_refuses_that_record_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    records = records_of([outcome("t", "a", name, T0_MS) for name in ("x", "y", "z")])
    real = room.read_quickly

    def read_quickly(value: bytes, limits: Limits) -> object:
        if b'"y"' in value:
            raise RecursionError("too deep: secret")
        return real(value, limits)

    monkeypatch.setattr(room, "read_quickly", read_quickly)
    with capture_logs() as logs:
        found = decoded(records)
    (refused,) = found.refused
    assert isinstance(refused.reason, InternalFault)
    assert (refused.record, refused.reason.detail) == (records[1], "RecursionError while decoding")
    assert [entry.offset for entry in found.agents[records[0].key]] == [0, 2]
    assert [line["offset"] for line in logs] == [1]


def test_a_bug_that_hits_every_record_is_logged_once_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_: object, **__: object) -> object:
        raise RecursionError

    monkeypatch.setattr(room, "_read", raising)
    with capture_logs() as logs:
        found = decoded(records_of([outcome("t", "a", f"x{i}", T0_MS) for i in range(5)]))
    assert (len(found.refused), found.raised, len(logs)) == (5, 5, 1)


def test_a_reason_holds_on_to_nothing() -> None:
    """Frames and causes of thousands of errors would take more memory than their records."""
    bad = [Record(1, b"t/a", b"{"), Record(2, b"t/a", b'{"type": "experience.outcome"}'), Record(3, b"x", None)]
    for one in decoded(bad).refused:
        assert (one.reason.__traceback__, one.reason.__context__, one.reason.__cause__) == (None, None, None)


_HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["ce_type", "ce_specversion", "ce_id", "ce_time", "content-type", "x"]),
        st.one_of(st.none(), st.binary(max_size=20), st.sampled_from([b"application/cloudevents+json", b"1.0"])),
    ),
    max_size=5,
)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
_FIELDS = ("type", "tenant_id", "agent_id", "event_id", "occurred_at", "description", "result", "data")
_ODD = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("type", "tenant_id", "agent_id", "event_id", "occurred_at", "description", "result", "data"), _JSON
    ),
)
_VALUES = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.one_of(_JSON, _ODD).map(lambda value: json.dumps(value).encode(errors="surrogatepass")),
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.none(), st.binary(max_size=10), st.just(b"t/a")), _VALUES, _HEADERS)
def test_whatever_a_record_holds_it_is_an_event_or_refused_for_a_known_reason(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    found = decoded([Record(1, key, value, tuple(headers))])
    assert len(found.refused) + len(found.records) == 1
    assert not any(isinstance(one.reason, InternalFault) for one in found.refused)


def test_others_are_those_of_engagements_once_each_in_order() -> None:
    events = [
        engagement("t", "a", "1", T0_MS, other="v"),
        outcome("t", "a", "2", T0_MS),
        engagement("t", "a", "3", T0_MS, other="u"),
        profile("t", "a", "p", T0_MS),
        engagement("t", "a", "4", T0_MS, other="v"),
    ]
    found = decoded(records_of(events))
    entries = found.agents[agent_key("t", "a")]
    assert list(others_of(entries)) == ["v", "u"]
    assert isinstance(entries[3].event, AgentProfile)

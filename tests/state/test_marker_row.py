"""The marker row: what it covers, what it forgets, and its bytes."""

from __future__ import annotations

from struct import pack

import pytest

from moodstream.agents.covered import covered, moves_no_mood
from moodstream.schemas.events import InputEvent, Relationship
from moodstream.schemas.identity import agent_key, hash_id
from moodstream.state import marker_row
from moodstream.state.marker_row import Markers, Place, ScopeKind
from moodstream.state.rows import erased_key, from_before, hash_key, pack_erased, unpack_row
from support.events import T0_MS, engagement, erase, expire, outcome, profile, signal

OTHER = Relationship(
    **outcome("t", "a", "r", T0_MS).model_dump(include={"tenant_id", "agent_id", "event_id", "occurred_at"}),
    description="d",
    other_agent_id="u",
    source_event_type="chat",
    quality_signal="positive",
)
EVENTS: dict[str, InputEvent] = {
    "outcome": outcome("t", "a", "o", T0_MS),
    "towards": outcome("t", "a", "to", T0_MS, target_agent="u"),
    "engagement": engagement("t", "a", "e", T0_MS),
    "signal": signal("t", "a", "s", T0_MS, 0.1),
    "relationship": OTHER,
    "profile": profile("t", "a", "p", T0_MS),
    "erase": erase("t", "a", "x", T0_MS),
    "expire": expire("t", "a", "y", T0_MS - 10**9),
}
MEMORIES = {"outcome", "towards", "engagement", "signal", "relationship"}
COVERED = {
    Place.of(ScopeKind.AGENT): {*MEMORIES, "profile"},
    Place.of(ScopeKind.DOMAIN, "experience"): {"outcome", "towards"},
    Place.of(ScopeKind.DOMAIN, "mood"): {"signal"},
    Place.of(ScopeKind.OTHER_AGENT, "u"): {"towards", "engagement", "relationship"},
    Place.of(ScopeKind.MEMORY, "e"): {"engagement"},
    Place.of(ScopeKind.EXPIRE): MEMORIES,
    Place.of(ScopeKind.EXPIRE, "engagement"): {"engagement"},
}


@pytest.mark.parametrize("place", COVERED)
def test_what_an_erasure_covers(place: Place) -> None:
    markers = Markers()
    markers.add(place, 10, T0_MS + 1)
    for offset in (9, 10, 11):
        assert {name for name, event in EVENTS.items() if covered(markers, event, offset)} == COVERED[place]


@pytest.mark.parametrize("place", COVERED)
def test_what_is_newer_and_comes_later_is_not_covered(place: Place) -> None:
    markers = Markers()
    markers.add(place, 10, T0_MS)
    earlier = {name for name, event in EVENTS.items() if covered(markers, event, 9)}
    later = {name for name, event in EVENTS.items() if covered(markers, event, 11)}
    assert later == (COVERED[place] if place.kind is ScopeKind.MEMORY else set())
    assert earlier == (set() if place.kind is ScopeKind.EXPIRE else COVERED[place])


def test_an_event_of_another_domain_moves_no_erased_mood() -> None:
    markers = Markers()
    markers.add(Place.of(ScopeKind.DOMAIN, "mood"), 10, 100)
    assert moves_no_mood(markers, 11, 99)
    assert moves_no_mood(markers, 9, 101)
    assert not moves_no_mood(markers, 11, 100)


def test_of_one_place_the_last_offset_and_the_latest_time_count() -> None:
    markers = Markers()
    place = Place.of(ScopeKind.DOMAIN, "mood")
    markers.add(place, 10, 100)
    markers.add(place, 20, 50)
    assert markers.marks == {place: (20, 100)}


def test_the_erasure_of_all_makes_up_for_earlier_ones() -> None:
    markers = Markers()
    for name, ms in (("u", 50), ("v", 100), ("w", 150)):
        markers.add(Place.of(ScopeKind.OTHER_AGENT, name), 1, ms)
    markers.add(Place.of(ScopeKind.AGENT), 2, 100)
    assert set(markers.marks) == {Place.of(ScopeKind.AGENT), Place.of(ScopeKind.OTHER_AGENT, "w")}


def test_what_is_older_than_all_inputs_is_forgotten_but_expiries() -> None:
    markers = Markers()
    markers.add(Place.of(ScopeKind.AGENT), 1, 99)
    markers.add(Place.of(ScopeKind.EXPIRE), 2, 50)
    markers.add(Place.of(ScopeKind.DOMAIN, "mood"), 3, 100)
    markers.forget(100)
    assert set(markers.marks) == {Place.of(ScopeKind.EXPIRE), Place.of(ScopeKind.DOMAIN, "mood")}


def test_the_row_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marker_row, "MARKS_KEPT", 3)
    markers = Markers()
    markers.add(Place.of(ScopeKind.DOMAIN, "mood"), 0, 1)
    for number in range(5):
        markers.add(Place.of(ScopeKind.OTHER_AGENT, str(number)), number + 1, 1)
        markers.know(bytes([number] * 12))
    assert set(markers.marks) == {
        Place.of(ScopeKind.DOMAIN, "mood"),
        Place.of(ScopeKind.OTHER_AGENT, "3"),
        Place.of(ScopeKind.OTHER_AGENT, "4"),
    }
    for number in range(80):
        markers.know(bytes([number] * 12))
    assert markers.ids == [bytes([number] * 12) for number in range(16, 80)]


def test_its_bytes_are_those_of_the_page_and_name_nobody() -> None:
    markers = Markers()
    markers.add(Place.of(ScopeKind.OTHER_AGENT, "u"), 7, 1_000)
    markers.add(Place.of(ScopeKind.DOMAIN, "mood"), 8, 2_000)
    markers.know(hash_id("x"))
    marks = pack(">B12sqq", 2, hash_id("mood"), 8, 2_000) + pack(">B12sqq", 4, hash_id("u"), 7, 1_000)
    assert markers.pack() == b"\0\2" + marks + b"\1" + hash_id("x")
    assert Markers.unpack(markers.pack()) == markers
    key = agent_key("tenant", "somebody")
    assert erased_key(key) == b"\0erased/" + hash_key(key)
    assert b"somebody" not in erased_key(key)


def test_from_before_this_log_only_the_times_count() -> None:
    markers = Markers()
    markers.add(Place.of(ScopeKind.AGENT), 7, T0_MS)
    markers.know(hash_id("x"))
    row = unpack_row(from_before(pack_erased(7, markers.pack())))
    found = Markers.unpack(row.body)
    assert (row.offset, found.ids) == (-1, markers.ids)
    assert found.marks == {Place.of(ScopeKind.AGENT): (-1, T0_MS)}
    assert not covered(found, outcome("t", "a", "o", T0_MS), 0)
    assert covered(found, outcome("t", "a", "o", T0_MS - 1), 0)

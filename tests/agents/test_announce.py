"""What subscribers are told of moods and profiles: enough to compute the mood themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp

from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.affect.mood import mood_at
from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.announce import mood_changed, profile_message
from moodstream.agents.decode import others_of
from moodstream.agents.fold import Entry, fold_events
from moodstream.schemas.codec import decode_output, encode
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.schemas.instants import to_ms
from moodstream.schemas.outputs import MoodChanged
from moodstream.schemas.profile import DEFAULT_PROFILE, ProfileValues
from moodstream.state.rows import MOOD, from_before, pair_suffix
from support.events import T0_MS, events, outcome, profile, signal

TENANT, AGENT = "t", "ü/a"
KEY = agent_key(TENANT, AGENT)
HOUR_MS = 3_600_000


def folded(log: Sequence[InputEvent], start: int = 0) -> tuple[AgentRows, list[str]]:
    """An agent after these events, and the octants passed."""
    entries = [Entry.of(offset, event) for offset, event in enumerate(log, start)]
    agent = AgentRows.load(KEY, dict.fromkeys([*SMALL_ROWS, *map(pair_suffix, others_of(entries))]), STANDARD)
    octants = fold_events(agent, entries, {}).octants
    agent.pack_touched()
    return agent, octants


def announced(agent: AgentRows, octants: Sequence[str] = ()) -> MoodChanged:
    """The announcement as a subscriber reads it."""
    message = mood_changed(agent, octants)
    assert message is not None
    event = decode_output(message.key, message.value, list(message.headers)).event
    assert isinstance(event, MoodChanged)
    model = encode(event, mode="binary")
    assert (json.loads(message.value or b""), message.headers) == (json.loads(model.value), model.headers)
    return event


def computed(event: MoodChanged, ms: int) -> tuple[float, ...]:
    """The formula of the documentation."""
    hours = (ms - to_ms(event.occurred_at)) / HOUR_MS
    parts = zip(event.baseline, event.displacement, event.tau_hours, strict=True)
    return tuple(max(-1.0, min(1.0, b + x * exp(-hours / tau))) for b, x, tau in parts)


@settings(max_examples=100, deadline=None)
@given(st.lists(events(TENANT, AGENT), min_size=1, max_size=15), st.integers(0, 10**9))
def test_a_subscriber_computes_the_mood_at_any_later_time(log: list[InputEvent], later_ms: int) -> None:
    agent, octants = folded(log)
    if agent.mood.empty:
        assert mood_changed(agent, octants) is None
        return
    event = announced(agent, octants)
    at = to_ms(event.occurred_at) + later_ms
    expected = mood_at(agent.mood, at, agent.profile.dynamics).mood
    assert all(abs(a - b) < 1e-9 for a, b in zip(computed(event, at), expected, strict=True))
    assert event.mood == mood_at(agent.mood, to_ms(event.occurred_at), agent.profile.dynamics).mood


def test_the_announcement_names_its_place_its_cause_and_its_octant() -> None:
    log = [signal(TENANT, AGENT, "s", T0_MS, 0.5), signal(TENANT, AGENT, "s2", T0_MS + 5, 0.1, cause="praise")]
    agent, octants = folded(log, start=40)
    event = announced(agent, octants)
    assert (event.tenant_id, event.agent_id, event.sequence) == (TENANT, AGENT, 41)
    assert event.event_id == f"{KEY.decode()}/mood/41"
    assert (event.cause, event.octant) == ("praise", "exuberant")
    assert to_ms(event.occurred_at) == T0_MS + 5
    assert (event.baseline, event.tau_hours) == ((0.0, 0.0, 0.0), (4.0, 4.0, 4.0))


def test_a_late_signal_is_announced_with_the_newest_cause() -> None:
    log = [
        signal(TENANT, AGENT, "s1", T0_MS, 0.2),
        profile(TENANT, AGENT, "p", T0_MS + HOUR_MS),
        signal(TENANT, AGENT, "s2", T0_MS + 2 * HOUR_MS, 0.2, cause="newest"),
        signal(TENANT, AGENT, "late", T0_MS, -0.6, cause="late"),
    ]
    event = announced(*folded(log))
    assert (event.cause, event.sequence) == ("newest", 3)
    assert event.mood[0] < announced(*folded(log[:3])).mood[0]


def test_octants_passed_are_told_in_order_without_repeats_in_a_row() -> None:
    moves = [0.3, 0.1, -1.0, -0.1, 1.2]
    agent, octants = folded([signal(TENANT, AGENT, f"s{i}", T0_MS + i, move) for i, move in enumerate(moves)])
    event = announced(agent, octants)
    assert event.octants_passed == ["exuberant", "hostile", "exuberant"]
    assert event.octant == "exuberant"


def test_a_profile_change_moves_the_reference_time_and_keeps_the_mood() -> None:
    log: list[InputEvent] = [signal(TENANT, AGENT, "s", T0_MS, 0.8)]
    before = announced(*folded(log))
    log.append(profile(TENANT, AGENT, "p", T0_MS + HOUR_MS, baseline=(0.1, 0.0, 0.0), tau_hours=2.0))
    event = announced(*folded(log))
    assert (to_ms(event.occurred_at), event.sequence) == (T0_MS + HOUR_MS, 1)
    assert (event.tau_hours, event.baseline) == ((2.0, 2.0, 2.0), (0.1, 0.0, 0.0))
    displaced = computed(before, T0_MS + HOUR_MS)[0]
    assert abs(event.displacement[0] - displaced) < 1e-12


def test_an_agent_without_a_mood_is_not_announced() -> None:
    agent, octants = folded([outcome(TENANT, AGENT, "o", T0_MS, result="unclear")])
    assert mood_changed(agent, octants) is None


def test_a_mood_from_before_this_log_is_not_announced() -> None:
    agent, octants = folded([signal(TENANT, AGENT, "s", T0_MS, 0.5)])
    assert mood_changed(agent, octants) is not None
    rows = {suffix: from_before(row) for suffix, row in agent.rows().items()}
    old = AgentRows.load(KEY, {**dict.fromkeys(SMALL_ROWS), **rows}, STANDARD)
    assert mood_changed(old, octants) is None
    fold_events(old, [Entry.of(3, signal(TENANT, AGENT, "s2", T0_MS + 1, 0.1))], {})
    old.pack_touched()
    assert announced(old).sequence == 3
    assert MOOD in old.stored


def test_the_profile_in_force_is_told_whole() -> None:
    agent, _ = folded([profile(TENANT, AGENT, "p", T0_MS, influence=0.7)])
    message = profile_message(agent)
    assert message.key == KEY
    assert ProfileValues.model_validate_json(message.value or b"") == DEFAULT_PROFILE.model_copy(
        update={"influence": 0.7}
    )
    assert json.loads(message.value or b"")["influence"] == 0.7
    assert dict(message.headers)["content-type"] == b"application/json"

"""The worker's fold against the oracle, which shares no code with it: every row, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import hash_id
from moodstream.state.rows import HEADER, MOOD, TRENDS, Kind, kind_of, pair_suffix, row_key, split_row_key
from support.events import T0_MS, engagement, events, outcome, profile, signal
from support.folding import AGENT, KEY, TENANT, folded

HISTORY = (Kind.MEMORY, Kind.SHIFT)


def by_oracle(log: Sequence[InputEvent]) -> tuple[dict[bytes, bytes], list[str]]:
    oracle = OracleAgent(TENANT, AGENT)
    verdicts = [oracle.apply(offset, event) for offset, event in enumerate(log)]
    return oracle.rows(), verdicts


@settings(max_examples=150, deadline=None)
@given(st.lists(events(TENANT, AGENT), min_size=1, max_size=40), st.lists(st.integers(1, 40), max_size=4))
def test_every_row_is_the_oracles_whatever_the_chunks(log: list[InputEvent], cuts: list[int]) -> None:
    store = folded(log, cuts)
    expected, verdicts = by_oracle(log)
    assert store.rows == expected
    duplicates = len(log) - verdicts.count("accepted")
    assert store.counts == [verdicts.count("accepted"), duplicates, verdicts.count("conflict")]


@settings(max_examples=60, deadline=None)
@given(st.lists(events(TENANT, AGENT), min_size=1, max_size=20), st.data())
def test_a_log_published_twice_changes_nothing_but_counts(log: list[InputEvent], data: st.DataObject) -> None:
    again = data.draw(st.permutations(log))
    once, twice = folded(log), folded([*log, *again])
    assert once.rows == twice.rows
    assert twice.counts[1] == once.counts[1] + len(log)


def test_a_long_life_crosses_every_limit() -> None:
    log: list[InputEvent] = [profile(TENANT, AGENT, "p0", T0_MS)]
    for i in range(300):
        ms = T0_MS + i * 70_000
        log.append(engagement(TENANT, AGENT, f"e{i}", ms, other=f"u{i % 3}", turn=f"m{i // 2}", responded=i % 3 > 0))
        log.append(outcome(TENANT, AGENT, f"o{i}", ms + 5, result="success" if i % 5 else "failure"))
        if i % 60 == 59:
            log.append(profile(TENANT, AGENT, f"p{i}", ms + 6, baseline=(0.1, -0.2, i / 400)))
            log.append(signal(TENANT, AGENT, f"late{i}", ms - 7_200_000, 0.5))
    store = folded(log, range(0, len(log), 37))
    expected, _ = by_oracle(log)
    assert store.rows == expected
    assert {kind_of(split_row_key(key)[1]).name for key in expected} == {
        "AGENT", "MOOD", "TRENDS", "PAIR", "MEMORY", "SHIFT", "PROFILE",
    }  # fmt: skip


def test_the_same_event_with_another_text_is_a_conflict_and_the_first_wins() -> None:
    first = outcome(TENANT, AGENT, "e", T0_MS, result="success")
    other = first.model_copy(update={"description": "something else"})
    store = folded([first, other, first])
    assert store.counts == [1, 2, 1]
    assert store.contents.keys() == {hash_id("e")}


def test_a_repeat_after_a_profile_change_is_no_conflict() -> None:
    first = outcome(TENANT, AGENT, "e", T0_MS, result="success")
    store = folded([first, profile(TENANT, AGENT, "p", T0_MS + 1, baseline=(0.5, 0.0, 0.0)), first])
    assert store.counts == [2, 1, 0]


def test_a_turn_judged_a_thousand_times_leaves_small_rows() -> None:
    log: list[InputEvent] = [
        engagement(TENANT, AGENT, f"e{i}", T0_MS + i * 1000, turn="m", responded=i % 2 > 0, sentiment_shift=i / 1000)
        for i in range(1000)
    ]
    store = folded(log, range(0, 1000, 90))
    assert store.rows == by_oracle(log)[0]
    sizes = {suffix: len(store.rows[row_key(KEY, suffix)]) for suffix in (MOOD, TRENDS, pair_suffix("u"))}
    assert sizes[TRENDS] == sizes[pair_suffix("u")] == HEADER.size + 2 + 31 + 2 * 4
    assert sizes[MOOD] < 6_000


def test_ten_thousand_other_agents_leave_small_rows() -> None:
    log: list[InputEvent] = [
        engagement(
            TENANT, AGENT, f"e{i}", T0_MS + i * 1000, other=f"other {i}", responded=i % 2 > 0, response_time_ms=i
        )
        for i in range(10_000)
    ]
    store = folded(log, range(0, 10_000, 1000))
    small = {key: row for key, row in store.rows.items() if kind_of(split_row_key(key)[1]) not in HISTORY}
    assert len(small) == 3 + 10_000
    assert len(small[row_key(KEY, MOOD)]) < 6_000
    assert len(small[row_key(KEY, TRENDS)]) < 4_000
    assert max(map(len, small.values())) < 6_000

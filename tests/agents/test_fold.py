"""The worker's fold against the oracle, which shares no code with it: every row, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.decode import others_of
from moodstream.agents.fold import Entry, fold_events
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, hash_id
from moodstream.state.rows import HEADER, MOOD, TRENDS, Kind, content_of, kind_of, pair_suffix, row_key, split_row_key
from support.events import T0_MS, engagement, events, outcome, profile, signal

TENANT, AGENT = "t", "a"
KEY = agent_key(TENANT, AGENT)
HISTORY = (Kind.MEMORY, Kind.SHIFT)


class Store:
    """Rows of one agent in a dict, read and written as the worker does it."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.contents: dict[bytes, bytes] = {}
        self.counts = [0, 0, 0]

    def fold(self, entries: Sequence[Entry]) -> None:
        suffixes = [*SMALL_ROWS, *(pair_suffix(other) for other in others_of(entries))]
        agent = AgentRows.load(KEY, {suffix: self.rows.get(row_key(KEY, suffix)) for suffix in suffixes}, STANDARD)
        changes = fold_events(
            agent, entries, {e.ident: self.contents[e.ident] for e in entries if e.ident in self.contents}
        )
        self.rows.update(changes.rows)
        self.rows.update(agent.pack_touched())
        for key, row in changes.rows.items():
            suffix = split_row_key(key)[1]
            if suffix.startswith(b"memory/"):
                self.contents[suffix[-12:]] = content_of(row[HEADER.size :])
        for i, count in enumerate((changes.accepted, changes.duplicate, changes.conflict)):
            self.counts[i] += count


def folded(log: Sequence[InputEvent], cuts: Iterable[int] = ()) -> Store:
    """Fold a log in chunks that end at the cuts; each chunk starts from packed rows, as after a restart."""
    store = Store()
    entries = [Entry.of(offset, event) for offset, event in enumerate(log)]
    bounds = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for start, end in pairwise(bounds):
        store.fold(entries[start:end])
    return store


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

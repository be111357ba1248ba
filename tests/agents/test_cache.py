"""The cache of decoded rows: bounded, and the least recently used go first."""

from __future__ import annotations

from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.cache import RowCache


def agent(name: str, stored: int = 100) -> AgentRows:
    """An agent with so many bytes of stored rows."""
    return AgentRows(name.encode(), STANDARD, stored={b"mood": b"x" * stored})


WEIGHT = agent("a").weight


def held(cache: RowCache, names: str) -> str:
    """Which of these are in it."""
    return "".join(name for name in names if cache.get(name.encode()) is not None)


def test_what_was_put_is_found_as_it_is() -> None:
    cache, one = RowCache(WEIGHT), agent("a")
    cache.put([one])
    assert cache.get(b"a") is one
    assert cache.get(b"b") is None
    assert len(cache) == 1


def test_the_oldest_go_first_beyond_the_limit() -> None:
    cache = RowCache(3 * WEIGHT)
    cache.put(map(agent, "abc"))
    assert held(cache, "abc") == "abc"
    cache.put([agent("d")])
    assert held(cache, "abcd") == "bcd"


def test_putting_again_makes_recent_and_weighs_anew() -> None:
    cache = RowCache(3 * WEIGHT)
    cache.put(map(agent, "abc"))
    cache.put([agent("a")])
    cache.put([agent("d")])
    assert held(cache, "abcd") == "acd"
    cache.put([agent("a", stored=100 + 2 * WEIGHT // 8)])
    assert held(cache, "abcd") == "a"
    cache.put([agent("a"), agent("b"), agent("c")])
    assert held(cache, "abcd") == "abc"


def test_more_than_the_limit_is_not_held_and_leaves_room_for_others() -> None:
    cache = RowCache(2 * WEIGHT)
    cache.put([agent("a", stored=10**6)])
    assert len(cache) == 0
    cache.put(map(agent, "bc"))
    assert held(cache, "bc") == "bc"


def test_many_puts_leave_the_count_of_bytes_exact() -> None:
    cache = RowCache(10 * WEIGHT)
    for round_ in range(50):
        cache.put(agent(chr(97 + i % 15), stored=50 + (round_ * 7 + i * 13) % 100) for i in range(20))
    assert cache._bytes == sum(weight for _, weight in cache._agents.values()) <= 10 * WEIGHT

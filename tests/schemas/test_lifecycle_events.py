"""Events about what is kept: erasures and expiries say what they mean, or are refused."""

from __future__ import annotations

import pytest

from moodstream.schemas import INPUT_TYPES, make
from support.refusals import WHO, fields_of, refusal


@pytest.mark.parametrize(
    ("scope", "target"),
    [
        ("agent", {}),
        ("domain", {"domain": "mood"}),
        ("memory", {"memory_id": "e1"}),
        ("memory", {"memory_id": "mood:e1"}),
        ("other_agent", {"other_agent_id": "o"}),
    ],
)
def test_an_erasure_names_what_its_scope_asks_for(scope, target):
    event = make(INPUT_TYPES["erase"], **fields_of("erase", scope=scope, **target))
    assert event.erased_event == ("e1" if scope == "memory" else "")
    for name, value in {"domain": "mood", "memory_id": "e1", "other_agent_id": "o"}.items():
        if name in target:
            assert refusal("erase", scope=scope) == (name, "missing")
        else:
            assert refusal("erase", scope=scope, **target, **{name: value}) == (name, "choice")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"scope": "all"}, ("scope", "choice")),
        ({"scope": "memory", "memory_id": "mood:"}, ("memory_id", "not_blank")),
        ({"scope": "memory", "memory_id": "ü" * 131}, ("memory_id", "too_long")),
        ({"scope": "other_agent", "other_agent_id": WHO["agent_id"]}, ("other_agent_id", "differs")),
        ({"scope": "domain", "domain": "dreams"}, ("domain", "choice")),
    ],
)
def test_an_erasure_that_means_nothing_is_refused(target, expected):
    assert refusal("erase", **target) == expected


@pytest.mark.parametrize("name", ["before", "markers_before"])
def test_an_expiry_does_not_reach_beyond_itself(name):
    later = {"before": "2026-01-01T00:00:00Z", name: "9999-01-01T00:00:00Z"}
    assert refusal("expire", **later) == (name, "range")


def test_the_times_of_an_expiry_are_in_utc():
    event = make(INPUT_TYPES["expire"], **fields_of("expire", before="2026-01-01T00:00:00+01:00"))
    assert event.before.isoformat() == "2025-12-31T23:00:00+00:00"

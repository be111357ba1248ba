"""The smallest event of each kind, and the rule by which a broken one is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from moodstream.schemas import INPUT_TYPES, InvalidEvent, make, parse

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
WHO = {"tenant_id": "acme", "agent_id": "bot", "event_id": "e1", "occurred_at": "2026-01-31T12:00:00Z"}
OWN = {
    "experience.observation": {"description": "d", "subject": "s"},
    "experience.action": {"description": "d"},
    "experience.outcome": {"description": "d", "result": "ok"},
    "relationship": {
        "description": "d",
        "other_agent_id": "o",
        "source_event_type": "chat",
        "quality_signal": "positive",
    },
    "reflection": {"description": "d", "insight": "i", "level": 1, "source_memory_ids": ["m"]},
    "engagement": {"description": "d", "other_agent_id": "o", "turn_id": "t"},
    "mood.signal": {"kind": "direct_shift", "cause": "c"},
    "agent.profile": {},
    "erase": {"scope": "agent"},
    "expire": {"before": "2026-01-01T00:00:00Z"},
    "rebuild": {},
}
UNREMEMBERED = ("agent.profile", "erase", "expire", "rebuild")
DOMAIN_KINDS = [name for name in OWN if name not in ("mood.signal", *UNREMEMBERED)]
EVENT_KINDS = [name for name in OWN if name not in UNREMEMBERED]
NAN, INF = float("nan"), float("inf")


def fields_of(name: str, **changes: object) -> dict[str, object]:
    """The fields of the smallest event of a kind, some of them other."""
    return {**WHO, **OWN[name], **changes}


def refusal(name: str, **changes: object) -> tuple[object, object]:
    """The rule and field by which these fields are refused; strict parsing and `make` must agree."""
    fields = fields_of(name, **changes)
    with pytest.raises(InvalidEvent) as made:
        make(INPUT_TYPES[name], **fields)
    with pytest.raises(InvalidEvent) as parsed:
        parse({"type": name, **fields})
    assert parsed.value.to_problem() == made.value.to_problem()
    with pytest.raises(ValidationError):
        INPUT_TYPES[name](**fields)
    return made.value.field, made.value.rule

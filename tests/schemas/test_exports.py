"""The public surface is named in one place; what is added or removed there is a decision, seen here."""

from __future__ import annotations

from types import ModuleType

import moodstream.schemas as schemas

PUBLIC = [
    "ATTRIBUTE_KEYS",
    "Action",
    "AgentProfile",
    "Appraisal",
    "AppraisalRules",
    "BadFile",
    "BatchTooLarge",
    "BrokerUnavailable",
    "DEFAULT_PROFILE",
    "DOMAINS",
    "Decoded",
    "Deltas",
    "DomainEvent",
    "Embedding",
    "Emotion",
    "Engagement",
    "Erase",
    "Event",
    "EventTooLarge",
    "Expire",
    "Fenced",
    "FoldMismatch",
    "FutureEvent",
    "INPUT_TYPES",
    "Identified",
    "InputEvent",
    "InternalFault",
    "InvalidEvent",
    "InvalidQuery",
    "InvalidSettings",
    "InvalidUsage",
    "KeyMismatch",
    "Limits",
    "MalformedRecord",
    "MemoryRecord",
    "MissingExtra",
    "MoodChanged",
    "MoodSignal",
    "MoodState",
    "MoodstreamError",
    "NotFound",
    "OCC_EMOTIONS",
    "OUTPUT_TYPES",
    "Observation",
    "Outcome",
    "OutputEvent",
    "Pad",
    "PartitionMismatch",
    "PortInUse",
    "ProfileValues",
    "Rebuild",
    "Reflection",
    "Relationship",
    "Restoring",
    "ServiceUnavailable",
    "SourceGap",
    "StateLost",
    "StoreUnavailable",
    "TREND_SIGNALS",
    "TopicMismatch",
    "TopicMissing",
    "TrendChanged",
    "UnknownType",
    "Wire",
    "agent_key",
    "baseline_from_traits",
    "decode",
    "decode_output",
    "encode",
    "from_memory",
    "gains_for_rate",
    "make",
    "new_event_id",
    "parse",
    "partition_of",
    "split_key",
    "steady_displacement",
    "to_memory",
]


def test_all_names_the_public_surface():
    assert sorted(schemas.__all__) == sorted(PUBLIC)


def test_nothing_public_is_missing_from_all():
    found = [
        name
        for name, value in vars(schemas).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    ]
    assert sorted(found) == sorted(schemas.__all__)

"""Private names of Faust, mode and aiokafka that this room builds on. Checked at start: an upgrade fails loudly."""

from __future__ import annotations

from importlib.metadata import version

from moodstream.schemas.errors import InvalidSettings

PINNED = {"faust-streaming": "0.15.3", "mode-streaming": "0.7.1"}

_NAMES = {
    "faust:App": ("_crash", "_on_agent_error"),
    "faust.transport.consumer:Consumer": (
        "_drain_messages",
        "_wait_next_records",
        "_new_offset",
        "perform_seek",
        "resume_flow",
        "wait_empty",
        "on_partitions_revoked",
        "earliest_offsets",
        "highwater",
        "highwaters",
        "_is_changelog_tp",
    ),
    "faust.transport.drivers.aiokafka:Consumer": ("_new_consumer_thread", "_seek"),
    "faust.transport.drivers.aiokafka:AIOKafkaConsumerThread": (
        "_create_worker_consumer",
        "_ensure_consumer",
        "_commit",
    ),
    "faust.tables.recovery:Recovery": (
        "_restart_recovery",
        "_wait",
        "_resume_streams",
        "_set_recovery_started",
        "_set_recovery_ended",
        "on_rebalance",
    ),
    "faust.tables.manager:TableManager": ("recovery",),
}


def check_names() -> None:
    """Raise `InvalidSettings` when another version of Faust is installed, or a name in use here is gone."""
    from importlib import import_module

    for package, wanted in PINNED.items():
        if version(package) != wanted:
            raise InvalidSettings(f"{package} {version(package)} is installed, but only {wanted} is known to work")
    for place, names in _NAMES.items():
        module, _, attribute = place.partition(":")
        owner = getattr(import_module(module), attribute)
        missing = [name for name in names if not hasattr(owner, name)]
        if missing:
            raise InvalidSettings(
                f"{place} has no {', '.join(missing)}: this Faust is not the one that is known to work"
            )

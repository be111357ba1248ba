"""The topics of a deployment: what they must look like, making them, and checking what is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from moodstream.schemas.errors import TopicMismatch, TopicMissing
from moodstream.streams.broker import Topic, connected, list_topics, reported, unavailable
from moodstream.streams.settings import StreamSettings

_POLL_SECONDS = 0.05
WITHIN = "max.compaction.lag.ms"


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """How one topic has to be: its count, replicas and configuration as Kafka spells it."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """One topic as found; `created` when this call made it."""

    name: str
    partitions: int
    replication: int
    created: bool = False


class Fault(NamedTuple):
    """What is wrong with a topic, and what to do about it."""

    text: str
    cure: str


def specs(settings: StreamSettings) -> tuple[TopicSpec, ...]:
    """Give what every topic of these settings has to be.

    The changelog is compacted and nothing else: with a deletion by age old rows would be lost for good.
    """
    names = settings.topics
    return (
        _spec(settings, names.events, "delete", settings.events_retention_ms),
        _spec(settings, names.mood, "delete", settings.output_retention_ms),
        _spec(settings, names.trends, "delete", settings.output_retention_ms),
        _compacted(settings, names.profiles),
        _spec(settings, names.dead, "delete", settings.dead_retention_ms),
        _changelog(settings),
    )


def _changelog(settings: StreamSettings) -> TopicSpec:
    """Not compacted at once: a row that does not count (docs/durability.md) is written again long before."""
    spec = _compacted(settings, settings.topics.changelog)
    lag = {"min.compaction.lag.ms": str(settings.compaction_lag_ms)}
    return replace(spec, config={**spec.config, **lag})


def _compacted(settings: StreamSettings, name: str) -> TopicSpec:
    """What is replaced or deleted is also gone some day: by default Kafka may keep it for as long as it likes."""
    spec = _spec(settings, name, "compact")
    bounds = {
        WITHIN: str(settings.compaction_within_ms),
        "delete.retention.ms": str(settings.tombstone_ms),
    }
    return replace(spec, config={**spec.config, **bounds})


def _spec(settings: StreamSettings, name: str, policy: str, retention_ms: int | None = None) -> TopicSpec:
    config = {"cleanup.policy": policy, "min.insync.replicas": str(settings.min_insync)}
    if retention_ms is not None:
        config["retention.ms"] = str(retention_ms)
    return TopicSpec(name, settings.partitions, settings.replication, config)


async def create(settings: StreamSettings) -> tuple[TopicStatus, ...]:
    """Make the topics that are missing, wait until they can be used, and check all.

    Raises `BrokerUnavailable`, or `TopicMismatch` for a topic that exists and is different: it is never changed here.
    """
    async with connected(settings) as admin, reported(settings):
        made = await _create_missing(admin, settings)
        found = await _wait_for(admin, settings)
        return _statuses(await _verify(admin, settings, found), made)


async def check(settings: StreamSettings) -> tuple[TopicStatus, ...]:
    """Compare what is there with the settings.

    Raises `TopicMissing` or `TopicMismatch`, each naming every fault found and what to do.
    """
    async with connected(settings) as admin, reported(settings):
        found = await list_topics(admin)
        return _statuses(await _verify(admin, settings, found), frozenset())


def _statuses(found: Iterable[Topic], made: frozenset[str]) -> tuple[TopicStatus, ...]:
    return tuple(TopicStatus(one.name, one.partitions, one.replication, one.name in made) for one in found)


async def _create_missing(admin: AIOKafkaAdminClient, settings: StreamSettings) -> frozenset[str]:
    there = await list_topics(admin)
    missing = [spec for spec in specs(settings) if spec.name not in there]
    if not missing:
        return frozenset()
    new = [NewTopic(spec.name, spec.partitions, spec.replication, topic_configs=dict(spec.config)) for spec in missing]
    answer = await admin.create_topics(new)
    made = set()
    for name, code, message in answer.topic_errors:
        error = for_code(code)
        if error is TopicAlreadyExistsError:  # somebody else was faster
            continue
        if code:
            text = f"the broker refuses to create {name}: {message or error.__name__}"
            raise TopicMismatch(text, topic=name)
        made.add(name)
    return frozenset(made)


async def _wait_for(admin: AIOKafkaAdminClient, settings: StreamSettings) -> dict[str, Topic]:
    """Wait until the broker lists every topic: it makes them in the background."""
    try:
        async with asyncio.timeout(settings.connect_seconds):
            while True:
                found = await list_topics(admin)
                if all(name in found for name in settings.topics.all()):
                    return found
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise unavailable(settings, "it accepted the new topics but does not list them", "See its log.") from error


async def retention_ms(settings: StreamSettings, topic: str) -> int:
    """How long the broker keeps the records of a topic, -1 = for ever; as the settings say where it does not tell."""
    async with connected(settings) as admin, reported(settings):
        found = (await _configs(admin, [topic]))[topic].get("retention.ms")
    if found is None:
        return next(int(spec.config.get("retention.ms", -1)) for spec in specs(settings) if spec.name == topic)
    return int(found)


async def _verify(
    admin: AIOKafkaAdminClient, settings: StreamSettings, found: Mapping[str, Topic]
) -> tuple[Topic, ...]:
    wanted = specs(settings)
    missing = [spec.name for spec in wanted if spec.name not in found]
    if missing:
        raise TopicMissing(f"missing on {settings.bootstrap}: {', '.join(missing)}", topics=missing)
    configs = await _configs(admin, [spec.name for spec in wanted])
    faults = [fault for spec in wanted for fault in _faults(spec, found[spec.name], configs[spec.name])]
    if faults:
        texts, cures = [fault.text for fault in faults], dict.fromkeys(fault.cure for fault in faults)
        raise TopicMismatch("; ".join(texts), hint="; ".join(cures), faults=texts)
    return tuple(found[spec.name] for spec in wanted)


async def _configs(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    """Read each topic's configuration; the embedded broker gives only what was set."""
    asked = [ConfigResource(ConfigResourceType.TOPIC, name, None) for name in names]
    configs: dict[str, dict[str, str]] = {name: {} for name in names}
    for answer in await admin.describe_configs(asked):
        resources: list[Mapping[str, Any]] = answer.to_object()["resources"]
        for resource in resources:
            entries = resource["config_entries"]
            configs[resource["resource_name"]] = {one["config_names"]: one["config_value"] for one in entries}
    return configs


def _faults(spec: TopicSpec, topic: Topic, config: Mapping[str, str]) -> list[Fault]:
    """Say what is wrong with one topic, and what to do about each."""
    checks = (
        _count_fault(spec, topic),
        _replica_fault(spec, topic),
        _policy_fault(spec, config),
        _insync_fault(spec, config),
        _lag_fault(spec, config),
    )
    return [fault for fault in checks if fault]


def _count_fault(spec: TopicSpec, topic: Topic) -> Fault | None:
    if topic.partitions == spec.partitions:
        return None
    return Fault(
        f"{spec.name} has {topic.partitions} partitions, the settings say {spec.partitions}",
        f"Set MOODSTREAM_STREAMS__PARTITIONS={topic.partitions}, or publish the log again in a new deployment "
        "(docs/settings.md): the partition count of a deployment never changes",
    )


def _replica_fault(spec: TopicSpec, topic: Topic) -> Fault | None:
    if topic.replication >= spec.replication:
        return None
    return Fault(
        f"{spec.name} has {topic.replication} replicas, the settings ask for {spec.replication}",
        "Raise it with kafka-reassign-partitions, or lower MOODSTREAM_STREAMS__REPLICATION",
    )


def _policy_fault(spec: TopicSpec, config: Mapping[str, str]) -> Fault | None:
    wanted = spec.config["cleanup.policy"]
    actual = config.get("cleanup.policy", wanted)
    if actual == wanted:
        return None
    return Fault(
        f"{spec.name} has cleanup.policy={actual}",
        f"Set it with kafka-configs --alter --topic {spec.name} --add-config cleanup.policy={wanted}",
    )


def _insync_fault(spec: TopicSpec, config: Mapping[str, str]) -> Fault | None:
    wanted = spec.config["min.insync.replicas"]
    actual = config.get("min.insync.replicas", wanted)
    if int(actual) >= int(wanted):
        return None
    return Fault(
        f"{spec.name} has min.insync.replicas={actual}, the settings ask for {wanted}",
        f"Set it with kafka-configs --alter --topic {spec.name} --add-config min.insync.replicas={wanted}",
    )


def _lag_fault(spec: TopicSpec, config: Mapping[str, str]) -> Fault | None:
    """A topic of an earlier release has no bound: what was erased could stay in it for ever."""
    wanted = spec.config.get(WITHIN)
    if wanted is None or int(config.get(WITHIN, wanted)) <= int(wanted):
        return None
    return Fault(
        f"{spec.name} has {WITHIN}={config[WITHIN]}: what is erased may stay in it longer than {wanted} ms",
        f"Set it with kafka-configs --alter --topic {spec.name} --add-config {WITHIN}={wanted}, "
        "or raise MOODSTREAM_STREAMS__COMPACTION_WITHIN_MS",
    )


async def configurations(settings: StreamSettings) -> dict[str, dict[str, str]]:
    """Read how each topic of the deployment is configured; a broker may leave out what was never set.

    Raises `BrokerUnavailable`.
    """
    async with connected(settings) as admin, reported(settings):
        return await _configs(admin, list(settings.topics.all()))

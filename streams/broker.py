"""The broker as it is found: reach it, list its topics, learn what it can do.

Everything here asks before it names a topic: the embedded broker creates a topic that a metadata request names.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.protocol.transaction import InitProducerIdRequest

from moodstream.schemas.errors import BrokerUnavailable
from moodstream.streams.settings import StreamSettings

_CHECK = "Is Kafka running there, and is the address right (MOODSTREAM_STREAMS__BOOTSTRAP or --bootstrap)?"
_PAUSE_SECONDS = 0.25
_DEFAULT_PORT = 9092
# 0 = it gave an id; 14, 15, 16: the coordinator is only starting or elsewhere, so the feature is there.
_IDEMPOTENT = frozenset({0, 14, 15, 16})


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as the broker describes it; `replication` is that of its least replicated partition."""

    name: str
    partitions: int
    replication: int


def unavailable(settings: StreamSettings, reason: object, hint: str = _CHECK) -> BrokerUnavailable:
    """Make the error that names the address and what to check."""
    address = settings.bootstrap
    return BrokerUnavailable(f"the broker at {address} cannot be used: {reason}", hint=hint, address=address)


@asynccontextmanager
async def connected(settings: StreamSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    """Give a client of the broker, closed afterwards.

    Raises `BrokerUnavailable` when nothing answers within `connect_seconds`, what answers is no broker, or none is up.
    """
    until = asyncio.get_running_loop().time() + settings.connect_seconds
    await _reachable(settings, until)
    millis = int(settings.connect_seconds * 1000)
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.servers, request_timeout_ms=millis)
    try:
        async with reported(settings), asyncio.timeout_at(until):
            await admin.start()
        await _counted_in(admin, settings, until)
        yield admin
    finally:
        with suppress(KafkaError, OSError):
            await admin.close()


@asynccontextmanager
async def reported(settings: StreamSettings) -> AsyncIterator[None]:
    """Turn the client's errors into `BrokerUnavailable`."""
    try:
        yield
    except TimeoutError as error:
        raise unavailable(settings, "it accepts connections but does not answer as a Kafka broker") from error
    except (KafkaError, OSError) as error:
        raise unavailable(settings, str(error) or type(error).__name__) from error


async def _reachable(settings: StreamSettings, until: float) -> None:
    """Wait for an open port, so that the client library has no failure of its own to log."""
    clock = asyncio.get_running_loop().time
    while (last := await _knock(settings)) is not None:
        if clock() + _PAUSE_SECONDS > until:
            raise unavailable(settings, _reason(last)) from last
        await asyncio.sleep(_PAUSE_SECONDS)


async def _counted_in(admin: AIOKafkaAdminClient, settings: StreamSettings, until: float) -> None:
    """Wait until the cluster names a broker: one that was frozen, or has just begun, does not even name itself."""
    client, clock = admin._client, asyncio.get_running_loop().time
    while not client.cluster.brokers():
        if clock() + _PAUSE_SECONDS > until:
            raise unavailable(settings, "it answers, but says that no broker is up")
        await asyncio.sleep(_PAUSE_SECONDS)
        async with reported(settings):
            await client.force_metadata_update()


async def _knock(settings: StreamSettings) -> OSError | None:
    """Open one connection to the first address that accepts it; else give the last error."""
    last = OSError("no address is set")
    patience = settings.connect_seconds / (2 * max(len(settings.servers), 1))
    for server in settings.servers:
        host, port = split_address(server)
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), patience)
        except OSError as error:  # TimeoutError is one too
            last = error
            continue
        writer.close()
        return None
    return last


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return error.strerror or str(error)


def split_address(server: str) -> tuple[str, int]:
    """Split `host:port`, `[v6]:port` or `host`; the port defaults to 9092."""
    host, colon, port = server.rpartition(":")
    if not colon or not port.isdigit():
        return server.strip("[]"), _DEFAULT_PORT
    return host.strip("[]"), int(port)


async def list_topics(admin: AIOKafkaAdminClient) -> dict[str, Topic]:
    """List every topic without naming any."""
    described: list[Mapping[str, Any]] = await admin.describe_topics()
    return {str(one["topic"]): _topic(one) for one in described if one["partitions"]}


def _topic(described: Mapping[str, Any]) -> Topic:
    partitions = described["partitions"]
    replication = min(len(partition["replicas"]) for partition in partitions)
    return Topic(str(described["topic"]), len(partitions), replication)


async def cluster_id(admin: AIOKafkaAdminClient) -> str:
    """Ask which cluster this is; empty where the broker does not say. The embedded one gives a constant."""
    described = await admin.describe_cluster()
    return str(described.get("cluster_id") or "")


async def is_idempotent(admin: AIOKafkaAdminClient) -> bool:
    """Ask whether the broker gives producer ids, which the embedded one does not."""
    # The admin client has no call for this; its inner client is the public AIOKafkaClient.
    client = admin._client
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    answer = await client.send(client.get_random_node(), request)
    return answer.error_code in _IDEMPOTENT

"""A Redis Cluster as the Redis of a deployment: the client, and what has to be asked in another way there.

All keys of a partition carry one hash tag, so scripts and reads at one moment stay within one slot. The client follows
a slot that moves; where it cannot, as for a script whose keys lie on both sides, it raises, and callers wait as for a
Redis that is away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit, urlunsplit

import msgpack

from moodstream.schemas.errors import InvalidSettings

if TYPE_CHECKING:
    from redis.asyncio import Redis, RedisCluster

    from moodstream.state.settings import StateSettings

SUFFIX: Final = "+cluster"
"""Ends the scheme of a URL that names a cluster: `redis+cluster://host:port`, more nodes with commas."""
_PORT: Final = 6379

Command = Sequence[bytes | str | int]

_READ: Final = """
-- KEYS: one per command.  ARGV: MessagePack: commands.  All at one moment, as MULTI would do it.
local out = {}
for i, command in ipairs(cmsgpack.unpack(ARGV[1])) do out[i] = redis.call(unpack(command)) end
return out
"""


def is_cluster(url: str) -> bool:
    """Whether a URL names a cluster."""
    return urlsplit(url).scheme.endswith(SUFFIX)


def connect_cluster(settings: StateSettings) -> Redis:
    """Make a client that speaks bytes. Nothing is sent before the first command. Raises `InvalidSettings`.

    Any of the nodes in the URL will do: the client learns the others from it.
    """
    from redis.asyncio.cluster import ClusterNode, RedisCluster
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    nodes, options = _parsed(settings)
    cluster = RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in nodes],
        socket_connect_timeout=settings.connect_seconds,
        socket_timeout=settings.answer_seconds,
        protocol=2,
        # A slot without a node is no reason to refuse the others.
        require_full_coverage=False,
        # Follow a move slot by slot: reading the map again would cut the connections that others use just now.
        reinitialize_steps=0,
        retry=Retry(NoBackoff(), 1),
        **options,
    )
    return cast("Redis", cluster)  # the commands in use are the same


def _parsed(settings: StateSettings) -> tuple[list[tuple[str, int]], dict[str, Any]]:
    """Nodes and connection options of the URL."""
    from redis.asyncio.connection import SSLConnection, parse_url

    parts = urlsplit(settings.url)
    user, at, hosts = parts.netloc.rpartition("@")
    scheme = parts.scheme.removesuffix(SUFFIX)
    nodes: list[tuple[str, int]] = []
    options: dict[str, Any] = {}
    try:
        for host in hosts.split(","):
            options = dict(parse_url(urlunsplit((scheme, f"{user}{at}{host}", parts.path, parts.query, ""))))
            nodes.append((options.pop("host", "localhost"), options.pop("port", _PORT)))
    except ValueError as error:
        raise InvalidSettings(f"state.url names no cluster: {settings.address}", hint=_HINT) from error
    if options.pop("db", 0):
        raise InvalidSettings(f"a cluster has only the database 0: {settings.address}", hint=_HINT)
    if options.pop("connection_class", None) is SSLConnection:
        options["ssl"] = True
    return nodes, options


_HINT: Final = "Correct MOODSTREAM_STATE__URL: redis+cluster://host:port, several nodes with commas, no database."


def as_cluster(redis: Redis) -> RedisCluster | None:
    """The client as that of a cluster; None for one of a single server."""
    from redis.asyncio import RedisCluster

    return redis if isinstance(redis, RedisCluster) else None


async def read_together(cluster: RedisCluster, commands: Sequence[Command]) -> list[Any]:
    """Run read commands, those of one slot at one moment; there is no moment that several slots share."""
    slots: dict[int, list[int]] = defaultdict(list)
    for place, command in enumerate(commands):
        slots[cluster.keyslot(_key(command))].append(place)
    answers: list[Any] = [None] * len(commands)
    for places in slots.values():
        some = [commands[place] for place in places]
        for place, answer in zip(places, await _read(cluster, some), strict=True):
            answers[place] = answer
    return answers


async def _read(cluster: RedisCluster, commands: Sequence[Command]) -> list[Any]:
    script: Any = cluster.register_script(_READ)
    packed = msgpack.packb([list(command) for command in commands], use_bin_type=False)
    found = await script(keys=[_key(command) for command in commands], args=[packed])
    # Scripts answer in plain lists: what the client makes of them elsewhere is made here.
    return [
        _paired(answer) if command[0] == "HGETALL" else answer for command, answer in zip(commands, found, strict=True)
    ]


def _paired(flat: Sequence[bytes]) -> Mapping[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _key(command: Command) -> bytes:
    key = command[1]
    return key if isinstance(key, bytes) else str(key).encode()


async def ask_masters(cluster: RedisCluster, command: str, *arguments: str) -> list[Any]:
    """Ask every master the same."""
    await cluster.initialize()
    execute: Any = cluster.execute_command
    return [await execute(command, *arguments, target_nodes=[node]) for node in cluster.get_primaries()]

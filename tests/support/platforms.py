"""The two environments of a behaviour suite: the embedded pair, and real Kafka with real Redis."""

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support import commands
from support.real import BOOTSTRAP, REDIS, Choice
from support.servers import Server

EMBEDDED, REAL = "embedded", "real"


@dataclass(frozen=True)
class Platform:
    """A broker and a Redis that run; `broker` and `redis` are the processes, where it is for the tests to hurt them."""

    name: str
    bootstrap: str
    redis_url: str
    broker: Server | None = None
    redis: Server | None = None

    @property
    def is_real(self) -> bool:
        """Whether this is Apache Kafka: compaction, idempotence, and a log that outlives a restart."""
        return self.name == REAL


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Platform]:
    """Run the broker and the Valkey that come as Python packages."""
    with _pair(EMBEDDED, commands.tansu(folder), commands.valkey(folder)) as platform:
        yield platform


@contextlib.contextmanager
def real(choice: Choice, folder: Path) -> Iterator[Platform]:
    """Run, or find, real Kafka and Redis as chosen."""
    starters: dict[str | None, Callable[[Path], contextlib.AbstractContextManager[Platform]]] = {
        "environment": _given,
        "docker": _docker,
        "java": _java,
    }
    with starters[choice.how](folder) as platform:
        yield platform


@contextlib.contextmanager
def _pair(name: str, broker: Server, redis: Server) -> Iterator[Platform]:
    with contextlib.ExitStack() as stack:
        for server in (broker, redis):
            stack.callback(server.stop)
            server.start()
        url = f"redis://127.0.0.1:{redis.port}/0"
        yield Platform(name, f"127.0.0.1:{broker.port}", url, broker, redis)


def _java(folder: Path) -> contextlib.AbstractContextManager[Platform]:
    problem = commands.fetch_kafka()
    if problem:
        raise RuntimeError(problem)
    return _pair(REAL, commands.kafka(folder), commands.redis(folder))


@contextlib.contextmanager
def _given(folder: Path) -> Iterator[Platform]:
    del folder  # their data lie elsewhere
    yield Platform(REAL, os.environ[BOOTSTRAP], os.environ[REDIS])


@contextlib.contextmanager
def _docker(folder: Path) -> Iterator[Platform]:
    del folder  # containers keep their data themselves
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside testcontainers are not ours
        from testcontainers.community.kafka import KafkaContainer
        from testcontainers.community.redis import RedisContainer

        # The image that testcontainers itself is tested with.
        kafka = KafkaContainer("confluentinc/cp-kafka:7.6.0").with_kraft()
        kafka.with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
        redis = RedisContainer("redis:8.2-alpine")
        redis.with_command("redis-server --appendonly yes --maxmemory-policy noeviction")
        with kafka, redis:
            url = f"redis://{redis.get_container_host_ip()}:{redis.get_exposed_port(6379)}/0"
            yield Platform(REAL, kafka.get_bootstrap_server(), url)

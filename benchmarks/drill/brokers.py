"""The Kafka of a drill: one broker, or three, each with a listener that leads through a proxy of ours."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass
from pathlib import Path

from drill.proxy import Proxy
from drill.waiting import spawn
from support.commands import ROOT
from support.servers import Server, free_ports

_COMMON = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "group.min.session.timeout.ms": "1000",
    # How long a killed broker counts as alive: so long nobody else leads its partitions, and it may not come back.
    "broker.session.timeout.ms": "6000",
    "log.segment.delete.delay.ms": "1000",
}
_REPLICAS = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")


@dataclass
class Broker:
    """One node: the drill asks it directly, workers through the proxy."""

    server: Server
    proxy: Proxy


class Kafka:
    """A cluster of one or three nodes; it keeps its data over the whole run."""

    def __init__(self, brokers: list[Broker]) -> None:
        self.brokers = brokers

    @classmethod
    async def started(cls, folder: Path, nodes: int) -> Kafka:
        """Start all nodes, and return when they answer."""
        ports = [free_ports(3) for _ in range(nodes)]
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")
        kafka = cls([])
        try:
            for number in range(nodes):
                proxy = Proxy(ports[number][1])
                await proxy.start()
                server = _server(folder / f"broker-{number}", number, ports, proxy.port, cluster)
                kafka.brokers.append(Broker(server, proxy))
            await spawn(*(broker.server for broker in kafka.brokers))
        except BaseException:
            await kafka.stop()
            raise
        return kafka

    @property
    def bootstrap(self) -> str:
        """Addresses for the drill itself."""
        return ",".join(f"127.0.0.1:{broker.server.port}" for broker in self.brokers)

    @property
    def proxied(self) -> str:
        """Addresses for the workers."""
        return ",".join(f"127.0.0.1:{broker.proxy.port}" for broker in self.brokers)

    async def stop(self) -> None:
        """End all nodes at once: nobody needs their data any more."""
        for broker in self.brokers:
            if broker.server.process is not None:
                broker.server.kill()
            await broker.proxy.stop()


def _server(folder: Path, number: int, ports: list[list[int]], advertised: int, cluster: str) -> Server:
    folder.mkdir(parents=True)
    port, proxied, controller = ports[number]
    properties = _COMMON | {
        "node.id": str(number + 1),
        "controller.quorum.voters": ",".join(f"{i + 1}@127.0.0.1:{each[2]}" for i, each in enumerate(ports)),
        "listeners": f"PLAINTEXT://127.0.0.1:{port},PROXIED://127.0.0.1:{proxied},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},PROXIED://127.0.0.1:{advertised}",
    }
    for topic in _REPLICAS:
        properties |= {f"{topic}.replication.factor": str(len(ports))} if len(ports) > 1 else {}
    options = [word for pair in properties.items() for word in ("--set", "=".join(pair))]
    where = ["--port", str(port), "--controller-port", str(controller), "--data", str(folder), "--cluster", cluster]
    return Server(
        f"Kafka {number + 1}", [str(ROOT / "scripts/kafka"), "run", *where, *options], port, folder / "log.txt"
    )

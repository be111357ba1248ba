"""A Redis Cluster of three masters on this machine: started, hurt, and a slot moved while others use it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from redis.crc import key_slot

from support.servers import Server, free_ports
from support.waiting import wait_until

NODES = 3
_KEYS = 100
_TIMEOUT_MS = 5_000


def missing() -> str | None:
    """Say what this machine lacks for a cluster, if anything."""
    lacking = [command for command in ("redis-server", "redis-cli") if shutil.which(command) is None]
    return f"missing here: {', '.join(lacking)}" if lacking else None


@dataclass
class Cluster:
    """The nodes, in the order in which they got their thirds of the slots."""

    nodes: list[Server]
    _clients: dict[int, Redis] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """What `state.url` has to be: each node, so that any of them may be gone."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def client(self, node: Server) -> Redis:
        """A client of one node."""
        if node.port not in self._clients:
            self._clients[node.port] = Redis(port=node.port, protocol=2, socket_timeout=10)
        return self._clients[node.port]

    def close(self) -> None:
        """Close the clients and end the nodes."""
        for client in self._clients.values():
            client.close()
        for node in self.nodes:
            node.stop()

    def owner(self, slot: int) -> Server:
        """The master of a slot."""
        for first, last, master, *_ in self._ask(self.nodes[0], "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == master[1])
        raise LookupError(f"slot {slot} has no owner")

    def move(self, slot: int, to: Server, step: Callable[[int], object] = lambda moved: None, keys: int = _KEYS) -> int:
        """Move a slot with its keys, so many at a time, as `redis-cli --cluster reshard` does; give their number.

        `step` is called before the first key, and after each lot, with the number of those moved. One slot at a time:
        two nodes that send each other keys would wait for each other.
        """
        source = self.owner(slot)
        here, there = self._ask(source, "CLUSTER", "MYID"), self._ask(to, "CLUSTER", "MYID")
        self._ask(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", here)
        self._ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", there)
        moved = 0
        step(moved)
        while some := self._ask(source, "CLUSTER", "GETKEYSINSLOT", slot, keys):
            self._ask(source, "MIGRATE", "127.0.0.1", to.port, "", 0, _TIMEOUT_MS, "KEYS", *some)
            moved += len(some)
            step(moved)
        for node in (to, source, *self.nodes):
            self._ask(node, "CLUSTER", "SETSLOT", slot, "NODE", there)
        return moved

    def wait(self) -> None:
        """Wait until every node says that all slots are served, as after a node has come back."""
        for node in self.nodes:
            wait_until(lambda node=node: self._is_ok(node), seconds=60, what=f"the cluster on {node.port}")

    def _is_ok(self, node: Server) -> bool:
        info = self._ask(node, "CLUSTER", "INFO")
        return b"cluster_state:ok" in info and b"cluster_slots_assigned:16384" in info

    def settle(self) -> None:
        """Wait until all nodes know the same masters and the same epoch.

        A node that takes a slot before it has heard of the last move may take the same epoch, and one of the two moves
        is undone.
        """
        wait_until(lambda: len({self._view(node) for node in self.nodes}) == 1, seconds=30, what="nodes that agree")

    def _view(self, node: Server) -> tuple[bytes, str]:
        """What a node knows: the current epoch, and who has which slots."""
        lines = self._ask(node, "CLUSTER", "INFO").splitlines()
        slots = sorted((first, last, master[1]) for first, last, master, *_ in self._ask(node, "CLUSTER", "SLOTS"))
        return next(line for line in lines if line.startswith(b"cluster_current_epoch:")), repr(slots)

    def emptied(self) -> None:
        """Delete every key of every node."""
        for node in self.nodes:
            self._ask(node, "FLUSHALL")

    def _ask(self, node: Server, *command: bytes | str | int):
        # Before the client makes something else of the answer.
        connection = self.client(node).connection_pool.get_connection()
        try:
            connection.send_command(*command)
            return connection.read_response()
        finally:
            self.client(node).connection_pool.release(connection)


def slot_of(key: bytes) -> int:
    """The slot of a key."""
    return key_slot(key)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start three masters with append-only files, join them, and end them."""
    # The bus of a node listens 10,000 higher: there have to be such ports.
    ports = [port for port in free_ports(50) if port < 55_000][:NODES]
    made = Cluster([_node(folder / f"node-{port}", port) for port in ports])
    try:
        for node in made.nodes:
            node.start()
        addresses = [f"127.0.0.1:{node.port}" for node in made.nodes]
        _cli("--cluster", "create", *addresses, "--cluster-replicas", "0", "--cluster-yes")
        made.wait()
        yield made
    finally:
        made.close()


def _node(folder: Path, port: int) -> Server:
    folder.mkdir(parents=True)
    where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--save", ""]
    kept = ["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"]
    return Server(f"Redis of a cluster {port}", ["redis-server", *where, *options, *kept], port, folder / "redis.log")


def _cli(*words: str) -> None:
    done = subprocess.run(["redis-cli", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"redis-cli {words[0]} failed:\n{done.stdout}{done.stderr}")

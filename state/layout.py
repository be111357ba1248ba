"""Names of the Redis keys of one partition (docs/rows.md, "In Redis")."""

from __future__ import annotations

from moodstream.state.rows import ERASED, Kind, bucket_and_id, kind_of, split_row_key

FORMAT = 1
"""Format of the layout, kept in the hash `format_key`."""


def format_key(prefix: str) -> bytes:
    """The hash that describes the deployment: partitions, format, cluster, folds. Written when a worker starts."""
    return f"{prefix}state:format".encode()


class Layout:
    """Key names of one partition. All carry one hash tag, so a script may touch them together in a cluster."""

    __slots__ = ("_tag", "erased", "meta", "partition", "prefix", "tenants")

    def __init__(self, prefix: str, partition: int) -> None:
        self.prefix = prefix
        self.partition = partition
        self._tag = b"{%sstate:%d}:" % (prefix.encode(), partition)
        self.meta = self._tag + b"meta"
        """Hash of the partition: epoch, positions, counts, state."""
        self.tenants = self._tag + b"tenants"
        """Hash: enc(tenant) to empty."""
        self.erased = self._tag + b"erased"
        """Hash: H(agent's key) to the agent's marker row."""

    @property
    def tag(self) -> bytes:
        """What every key of the partition begins with."""
        return self._tag

    def agent(self, key: bytes) -> bytes:
        """Hash of an agent's small rows: suffix to row."""
        return self._tag + b"agent:" + key

    def memory(self, key: bytes, bucket: int) -> bytes:
        """Hash of an agent's memories and shift rows in one time bucket."""
        return b"%smemory:%s:%d" % (self._tag, key, bucket)

    def ids(self, key: bytes) -> bytes:
        """Hash: H(event_id) to the decimal number of its bucket, for duplicates."""
        return self._tag + b"ids:" + key

    def buckets(self, key: bytes) -> bytes:
        """Hash: decimal number of a bucket that holds rows, to empty."""
        return self._tag + b"buckets:" + key

    def agents(self, enc_tenant: bytes | str) -> bytes:
        """Sorted set of a tenant's agents: enc(agent), in byte order."""
        tenant = enc_tenant.encode() if isinstance(enc_tenant, str) else enc_tenant
        return self._tag + b"agents:" + tenant

    def place(self, row_key: bytes) -> tuple[bytes, bytes]:
        """Redis key and field of a row, from its key in the changelog."""
        agent, suffix = split_row_key(row_key)
        kind = kind_of(suffix)
        if kind is Kind.ERASED:
            return self.erased, suffix[len(ERASED) + 1 :]
        if kind not in (Kind.MEMORY, Kind.SHIFT):
            return self.agent(agent), suffix
        bucket, ident = bucket_and_id(suffix)
        return self.memory(agent, bucket), (b"s" + ident if kind is Kind.SHIFT else ident)

"""Settings of the broker side: where it is, what the topics are called and how much may be in flight."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from moodstream.schemas.limits import DEFAULT_LIMITS, Limits
from moodstream.streams.names import TopicNames

KEEP_FOREVER = -1
"""Value of a retention that never deletes."""

TopicPart = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]*$", max_length=180)]
Retention = Annotated[int, Field(ge=KEEP_FOREVER)]


class StreamSettings(BaseModel):
    """What publisher, topics and worker need to know of the broker.

    The partition count of a deployment never changes: growing means a new prefix and a re-publish of the log.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bootstrap: str = Field("127.0.0.1:9092", min_length=1, description="broker addresses, host:port, comma separated")
    prefix: TopicPart = Field("moodstream.", description="stands before every topic name")
    app_id: TopicPart = Field("moodstream", min_length=1, description="consumer group, and prefix of the changelog")

    partitions: int = Field(4, ge=1, le=10_000, description="partitions of every topic; never changes afterwards")
    replication: int = Field(1, ge=1, le=32_767, description="replicas of every topic; 3 to survive a broker")
    min_insync: int = Field(1, ge=1, description="replicas that must confirm a write; 2 of 3 to survive a broker")
    events_retention_ms: Retention = Field(KEEP_FOREVER, description="how long inputs are kept, -1 = for ever")
    output_retention_ms: Retention = Field(7 * 24 * 3_600_000, description="how long mood and trend notices are kept")
    compaction_lag_ms: int = Field(3_600_000, ge=0, description="how long the changelog keeps rows that were replaced")
    compaction_within_ms: int = Field(
        7 * 24 * 3_600_000, ge=60_000, description="how soon replaced and erased rows leave the changelog at the latest"
    )
    tombstone_ms: int = Field(
        7 * 24 * 3_600_000, ge=0, description="how long the changelog remembers that a row was deleted"
    )
    dead_retention_ms: Retention = Field(30 * 24 * 3_600_000, description="how long dead letters are kept")

    limits: Limits = Field(DEFAULT_LIMITS, description="how large an event may be")

    connect_seconds: float = Field(5.0, gt=0, le=60, description="how long to wait for a broker at start")
    request_seconds: float = Field(30.0, gt=0, le=600, description="how long one write may take before it is given up")
    linger_ms: int = Field(2, ge=0, le=10_000, description="how long the publisher waits to fill a batch")
    max_batch_bytes: int = Field(900_000, ge=1_024, le=16_000_000, description="largest batch of one partition")
    max_flight_bytes: int = Field(16_777_216, ge=65_536, description="bytes that may wait for the broker's answer")
    max_flight_events: int = Field(20_000, ge=1, description="events that may wait for the broker's answer")

    chunk: int = Field(6_000, ge=1, le=20_000, description="most records that the worker folds at once")
    fetch_wait_ms: int = Field(50, ge=1, le=5_000, description="how long a fetch waits for records")
    commit_seconds: float = Field(1.0, gt=0, le=60, description="how often the worker commits its position")
    session_seconds: float = Field(10.0, ge=2, le=300, description="silence after which a worker counts as dead")
    rebalance_seconds: float = Field(15.0, ge=1, le=300, description="how long a rebalance waits for members")

    @model_validator(mode="after")
    def _writes_possible(self) -> StreamSettings:
        if self.min_insync > self.replication:
            raise ValueError(f"min_insync {self.min_insync} is more than replication {self.replication}")
        return self

    @model_validator(mode="after")
    def _compaction_possible(self) -> StreamSettings:
        if self.compaction_within_ms < self.compaction_lag_ms:
            raise ValueError(
                f"compaction_within_ms {self.compaction_within_ms} is less than "
                f"compaction_lag_ms {self.compaction_lag_ms}"
            )
        return self

    @property
    def topics(self) -> TopicNames:
        """The topic names for this prefix and application."""
        return TopicNames(self.prefix, self.app_id)

    @property
    def servers(self) -> list[str]:
        """The broker addresses one by one."""
        return [part.strip() for part in self.bootstrap.split(",") if part.strip()]

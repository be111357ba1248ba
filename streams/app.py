"""The Faust app: one input topic in chunks, one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import faust
from faust.transport.drivers import TRANSPORTS

from moodstream.schemas.changelog import Position
from moodstream.streams.faust_names import check_names
from moodstream.streams.names import TABLE
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import SCHEME, ChunkSchema

_HEARTBEAT_SHARE = 6
"""Heartbeats per session timeout."""
_CHUNKS_WAITING = 2
"""Chunks between the consumer and the lanes; each partition has one more in hand and one queued."""
_POLLED_TOGETHER = 4
"""Partitions whose chunks come in one poll: with a single one, all but one lane would have nothing to do."""
_FETCH_BYTES = 2 << 20
"""Most bytes of one partition in a fetch: enough for a whole chunk of small events."""

_METADATA_AGE_MS = 5_000
"""How old a worker's picture of the brokers may grow. A group whose leader asked a broker that had just come back, and
knew no topics yet, has no partitions until the next look: by default that is five minutes away."""


class MoodApp(faust.App):  # type: ignore[misc]
    """Faust's app; knows where the state stands, so that the sources start there, and tells why it crashed."""

    source_position: Callable[[int], Position]
    """Position of a partition of the state: set by whoever makes the table."""
    on_crash: Callable[[BaseException], None] | None = None
    """Told why the app must stop, perhaps more than once and from the consumer's thread."""

    def _crash(self, reason: BaseException) -> None:
        """Every crash ends here, also that of a service inside the app, such as the consumer in its thread."""
        super()._crash(reason)
        if self.on_crash is not None:
            self.on_crash(reason)

    async def _on_agent_error(self, agent: object, error: BaseException) -> None:
        """An agent does not raise; Faust would start it again, without the chunk that it had in hand."""
        await self.crash(error)


def create_app(settings: StreamSettings, store: str, datadir: str) -> MoodApp:
    """Make the app. `store` is the URL of the table's store, whose scheme must be registered with Faust.

    Raises `InvalidSettings` when the installed Faust is not the one that is known to work.
    """
    check_names()
    TRANSPORTS.aliases[SCHEME] = "moodstream.streams.transport:Transport"
    app = MoodApp(
        settings.app_id,
        broker=f"{SCHEME}://" + f";{SCHEME}://".join(settings.servers),
        store=store,
        datadir=datadir,
        topic_partitions=settings.partitions,
        topic_replication_factor=settings.replication,
        topic_allow_declare=False,
        topic_disable_leader=True,
        table_standby_replicas=0,
        recovery_consistency_check=False,
        stream_wait_empty=True,
        stream_buffer_maxsize=_CHUNKS_WAITING,
        consumer_auto_offset_reset="earliest",
        broker_commit_interval=settings.commit_seconds,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=settings.session_seconds / _HEARTBEAT_SHARE,
        broker_rebalance_timeout=settings.rebalance_seconds,
        broker_max_poll_records=min(settings.partitions, _POLLED_TOGETHER) * settings.chunk,
        consumer_max_fetch_size=_FETCH_BYTES,
        consumer_metadata_max_age_ms=_METADATA_AGE_MS,
        web_enabled=False,
        TableManager="moodstream.streams.recovery:StateTableManager",
    )
    app.conf.chunk = settings.chunk
    app.conf.fetch_wait_ms = settings.fetch_wait_ms
    return app


def events_topic(app: MoodApp, settings: StreamSettings) -> Any:  # noqa: ANN401 - Faust's types
    """The input topic, delivered in chunks."""
    return app.topic(settings.topics.events, schema=ChunkSchema(), partitions=settings.partitions)


def state_table(app: MoodApp, settings: StreamSettings) -> Any:  # noqa: ANN401 - Faust's types
    """The one table."""
    return app.Table(TABLE, key_type=bytes, value_type=bytes, partitions=settings.partitions)

"""The app: settings that the chunk transport relies on, and every crash heard."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from moodstream.schemas.errors import InvalidSettings
from moodstream.streams import faust_names
from moodstream.streams.app import MoodApp, create_app, events_topic, state_table
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import ChunkConsumer, ChunkSchema, ChunkThread


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[MoodApp]:
    one = create_app(StreamSettings(chunk=7, session_seconds=12), "memory://", str(tmp_path))
    one.topics.beacon.reattach(one.consumer.beacon)  # as Faust does at start
    yield one
    one.consumer._thread.thread_loop.close()


INSIDE: dict[str, Callable[[MoodApp], Any]] = {
    "app": lambda app: app,
    "consumer": lambda app: app.consumer,
    "consumer's thread": lambda app: app.consumer._thread,
    "recovery": lambda app: app.tables.recovery,
    "fetcher": lambda app: app._fetcher,
    "conductor": lambda app: app.topics,
    "tables": lambda app: app.tables,
    "producer": lambda app: app.producer,
}


@pytest.mark.parametrize("place", INSIDE)
async def test_a_crash_anywhere_inside_is_heard(app: MoodApp, place: str) -> None:
    heard: list[BaseException] = []
    app.on_crash = heard.append
    reason = RuntimeError("lost")
    await INSIDE[place](app).crash(reason)
    assert heard
    assert all(one is reason for one in heard)
    assert app.should_stop


async def test_a_crash_in_the_consumers_thread_is_heard(app: MoodApp) -> None:
    heard: list[BaseException] = []
    app.on_crash = heard.append
    thread = INSIDE["consumer's thread"](app)
    running = threading.Thread(target=lambda: asyncio.run(thread.crash(RuntimeError("commit"))))
    running.start()
    await asyncio.to_thread(running.join)
    assert str(heard[0]) == "commit"


async def test_a_crash_that_nobody_listens_to_is_a_crash_all_the_same(app: MoodApp) -> None:
    await app.crash(RuntimeError("lost"))
    assert app.should_stop


async def test_chunks_come_from_the_consumer_of_chunks(app: MoodApp) -> None:
    topic = events_topic(app, StreamSettings())
    assert isinstance(topic.schema, ChunkSchema)
    assert isinstance(app.consumer, ChunkConsumer)
    assert isinstance(app.consumer._thread, ChunkThread)
    assert app.conf.chunk == 7


async def test_what_the_protocol_relies_on_is_set(app: MoodApp) -> None:
    conf = app.conf
    assert conf.stream_wait_empty
    assert conf.table_standby_replicas == 0
    assert conf.topic_disable_leader
    assert not conf.topic_allow_declare
    assert not conf.web_enabled
    assert conf.consumer_auto_offset_reset == "earliest"
    assert conf.broker_heartbeat_interval * 3 < conf.broker_session_timeout == 12
    assert conf.broker_session_timeout <= conf.broker_request_timeout
    assert conf.consumer_metadata_max_age_ms <= 5_000, "an empty assignment lasts until the next look"


async def test_table_and_changelog_have_the_names_of_the_deployment(app: MoodApp) -> None:
    settings = StreamSettings()
    table = state_table(app, settings)
    assert table.changelog_topic_name == settings.topics.changelog


def test_another_faust_is_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(faust_names.PINNED, "faust-streaming", "0.0.1")
    with pytest.raises(InvalidSettings):
        create_app(StreamSettings(), "memory://", str(tmp_path))

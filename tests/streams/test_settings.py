"""Settings and names of the broker side."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from moodstream import streams
from moodstream.streams.broker import split_address
from moodstream.streams.names import TopicNames
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import specs


def test_topics_have_their_names() -> None:
    assert StreamSettings().topics.all() == (
        "moodstream.events.v1",
        "moodstream.mood.v1",
        "moodstream.trends.v1",
        "moodstream.profiles.v1",
        "moodstream.dead.v1",
        "moodstream-state-changelog",
    )
    assert TopicNames("x.", "y").all()[::5] == ("x.events.v1", "y-state-changelog")


def test_only_profiles_and_changelog_are_compacted_and_all_counts_are_the_same() -> None:
    settings = StreamSettings(partitions=12, replication=3, min_insync=2)
    found = {spec.name: spec for spec in specs(settings)}
    compacted = {name for name, spec in found.items() if spec.config["cleanup.policy"] == "compact"}
    assert compacted == {settings.topics.profiles, settings.topics.changelog}
    assert "retention.ms" not in found[settings.topics.changelog].config
    assert {(spec.partitions, spec.replication) for spec in found.values()} == {(12, 3)}
    assert {spec.config["min.insync.replicas"] for spec in found.values()} == {"2"}


def test_inputs_are_kept_for_ever_by_default() -> None:
    found = {spec.name: spec for spec in specs(StreamSettings())}
    assert found["moodstream.events.v1"].config["retention.ms"] == "-1"


@pytest.mark.parametrize(
    "bad",
    [
        {"partitions": 0},
        {"prefix": "no spaces "},
        {"min_insync": 2},
        {"bootstrap": ""},
        {"unknown": 1},
        {"limits": {"event_bytes": 10**9}},
    ],
)
def test_settings_that_cannot_work_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        StreamSettings.model_validate(bad)


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("host:19092", ("host", 19092)),
        ("host", ("host", 9092)),
        ("[::1]:19092", ("::1", 19092)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
    ],
)
def test_addresses_are_split(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


def test_everything_public_can_be_imported_from_the_room() -> None:
    assert all(getattr(streams, name) for name in streams.__all__)
    with pytest.raises(AttributeError):
        streams.nothing  # noqa: B018


def test_settings_load_no_client() -> None:
    code = "import sys, moodstream.streams.settings; print(sorted({'aiokafka', 'faust', 'redis'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

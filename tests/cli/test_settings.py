"""Settings: which source wins, and what a bad one says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from moodstream.affect.params import Fold
from moodstream.cli.settings import load
from moodstream.schemas.errors import InvalidSettings
from moodstream.schemas.profile import ProfileValues


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults_are_a_running_up() -> None:
    settings = load()
    assert settings.streams.bootstrap == f"127.0.0.1:{settings.up.broker_port}" == "127.0.0.1:9092"
    assert settings.state.url == f"redis://127.0.0.1:{settings.up.redis_port}/0" == "redis://127.0.0.1:6379/0"
    assert settings.query.port == settings.up.http_port == 8085
    assert settings.query.url == "http://127.0.0.1:8085"


def test_flags_win_over_environment_over_file(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone / "moodstream.toml").write_text('[streams]\nbootstrap = "file:1"\npartitions = 7\nprefix = "file."\n')
    monkeypatch.setenv("MOODSTREAM_STREAMS__BOOTSTRAP", "environment:2")
    monkeypatch.setenv("MOODSTREAM_STREAMS__PREFIX", "environment.")
    streams = load(streams={"bootstrap": "flag:3", "replication": None}).streams
    assert (streams.bootstrap, streams.prefix, streams.partitions) == ("flag:3", "environment.", 7)


def test_another_file_can_be_named(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone / "moodstream.toml").write_text("[streams]\npartitions = 7\n")
    (alone / "other.toml").write_text("[streams]\npartitions = 9\n[streams.limits]\nbatch_events = 5\n")
    monkeypatch.setenv("MOODSTREAM_CONFIG", str(alone / "other.toml"))
    settings = load()
    assert settings.streams.partitions == 9
    assert settings.streams.limits.batch_events == 5


def test_a_named_file_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOODSTREAM_CONFIG", "missing.toml")
    with pytest.raises(InvalidSettings, match=r"missing\.toml"):
        load()


def test_a_broken_file_is_named(alone: Path) -> None:
    (alone / "moodstream.toml").write_text("[streams\n")
    with pytest.raises(InvalidSettings, match=r"moodstream\.toml is not TOML"):
        load()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[streams]\npartitions = 0\n", "streams.partitions"),
        ("[streams]\npartition = 4\n", "streams.partition"),
        ("[sreams]\n", "sreams"),
        ("[streams.limits]\nbatch_events = 0\n", "streams.limits.batch_events"),
    ],
)
def test_a_bad_value_names_its_field_and_variable(alone: Path, text: str, field: str) -> None:
    (alone / "moodstream.toml").write_text(text)
    with pytest.raises(InvalidSettings) as raised:
        load()
    assert raised.value.detail.startswith(f"{field}: ")
    assert "MOODSTREAM_" + field.upper().replace(".", "__") in raised.value.hint


def test_errors_repeat_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOODSTREAM_STATE__URL", "http://:geheim@host")
    with pytest.raises(InvalidSettings) as raised:
        load()
    assert "geheim" not in str(raised.value.to_problem())


def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOODSTREAM_TEST_BOOTSTRAP", "somewhere:1")
    assert load().streams.bootstrap == "127.0.0.1:9092"


def test_settings_load_no_framework() -> None:
    heavy = "{'aiokafka', 'faust', 'redis', 'fastapi', 'numpy', 'uvicorn'}"
    code = f"import sys, moodstream.cli.main; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_default_profile_is_set_by_file_and_environment(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone / "moodstream.toml").write_text(
        "[fold]\nrevision = 3\n[fold.default_profile]\ntau_hours = [6.0, 6.0, 6.0]\n"
    )
    assert load().fold.fold == Fold.of(3, ProfileValues(tau_hours=(6.0, 6.0, 6.0)))
    monkeypatch.setenv("MOODSTREAM_FOLD__DEFAULT_PROFILE", '{"influence": 0.5, "tau_hours": [6, 6, 6]}')
    assert load().fold.fold == Fold.of(3, ProfileValues(influence=0.5, tau_hours=(6.0, 6.0, 6.0)))

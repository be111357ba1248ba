"""The command as a whole: errors with code and next step, exit codes, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moodstream import __version__
from moodstream.cli.extras import needs
from moodstream.cli.main import app, main
from moodstream.cli.settings import CONFIG_VARIABLE
from moodstream.schemas.errors import MissingExtra
from support.servers import free_ports

COMMANDS = ("up", "worker", "serve", "topics", "publish", "replay", "audit")
COMMANDS += ("agents", "mood", "trends", "rebuild", "recall", "memories", "dead", "erase", "sweep")
GROUPS = {"topics": ["create"], "dead": ["list"]}
"""One command of each that has several."""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    written = capsys.readouterr()
    return int(raised.value.code or 0), written.out, written.err


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOODSTREAM_STREAMS__CONNECT_SECONDS", "0.2")
    monkeypatch.setenv(CONFIG_VARIABLE, "")  # --config writes there: taken back when the test ends
    return tmp_path


def test_every_command_is_there() -> None:
    named = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    assert sorted([*named, *(group.name or "" for group in app.registered_groups)]) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_knows_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, command, *GROUPS.get(command, ()), "--help")
    assert code == 0
    assert "--json" in out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"{__version__}\n", "")


def test_an_error_has_code_message_and_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    (port,) = free_ports(1)
    code, out, err = run(capsys, "topics", "check", "--bootstrap", f"127.0.0.1:{port}")
    assert code == 2
    assert out == ""
    assert err.startswith(
        f"error broker_unavailable: the broker at 127.0.0.1:{port} cannot be used: connection refused\n"
    )
    assert "\nnext: " in err
    assert "Traceback" not in err


def test_an_error_as_json_is_a_problem_object(capsys: pytest.CaptureFixture[str]) -> None:
    (port,) = free_ports(1)
    code, out, err = run(capsys, "topics", "check", "--bootstrap", f"127.0.0.1:{port}", "--json")
    problem = json.loads(err)
    assert (code, out) == (2, "")
    assert problem["type"] == "urn:moodstream:error:broker_unavailable"
    assert {"title", "status", "detail", "code", "hint"} <= set(problem)


def test_a_wrong_flag_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "topics", "check", "--nothing")
    assert code == 2
    assert "--nothing" in err


@pytest.mark.parametrize(
    "arguments",
    [("topics", "check", "--nothing"), ("publish", "no-such-file"), ("replay", "no-such-file"), ("mood",), ("dream",)],
)
def test_a_wrong_call_is_a_problem_object_for_a_program(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *arguments, "--json")
    problem = json.loads(err)
    assert (code, out, problem["code"]) == (2, "", "invalid_usage")
    assert problem["detail"]
    assert "--help" in problem["hint"]


def test_help_is_shown_to_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "mood", "--json", "--help")
    assert code == 0
    assert "--tenant" in out


def test_a_named_settings_file_is_read(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (port,) = free_ports(1)
    (alone / "other.toml").write_text(f'[streams]\nbootstrap = "127.0.0.1:{port}"\n')
    _, _, err = run(capsys, "--config", "other.toml", "topics", "check")
    assert f"127.0.0.1:{port}" in err


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtra, match=r"moodstream\[worker\]") as raised, needs("worker"):
        import no_such_package_at_all  # noqa: F401
    assert raised.value.hint == "pip install 'moodstream[worker]'"


def test_a_missing_module_of_ours_is_no_missing_package() -> None:
    with pytest.raises(ModuleNotFoundError), needs("worker"):
        import moodstream.nothing  # noqa: F401

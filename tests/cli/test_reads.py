"""The commands that read, against a service that runs as a process of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from moodstream.cli.main import app
from moodstream.cli.service import Service
from moodstream.query.settings import QuerySettings
from moodstream.schemas.errors import InvalidQuery, InvalidUsage, MoodstreamError, NotFound, ServiceUnavailable
from moodstream.schemas.instants import from_ms, iso
from support.lives import HOUR_MS, Life
from support.servers import Server, free_ports
from support.stored import Stored, stored

__all__ = ["stored"]

T0 = 1_700_000_000_000
MOODSTREAM = [sys.executable, "-m", "moodstream"]


def _environment(state: Stored, **more: str) -> dict[str, str]:
    return {"MOODSTREAM_STATE__URL": state.url, "MOODSTREAM_STATE__PREFIX": state.prefix, **more}


@pytest.fixture
def service(stored: Stored, tmp_path: Path) -> Iterator[Server]:
    life = Life(stored, "t", "a/b [bold]")
    for n in range(12):
        life.report(T0 + n * HOUR_MS, "bob", f"turn {n}", float(n % 3 > 0), 9.0 - n / 4)
    life.event("e1", T0, (0.5, 0.0, 0.0), text="the deadline [red] slipped", pad=(0.5, None, 0.0))
    life.event("e2", T0 + HOUR_MS, text="lunch")
    life.write()
    (port,) = free_ports(1)
    command = [*MOODSTREAM, "serve", "--port", str(port)]
    server = Server("query service", command, port, tmp_path / "serve.log", _environment(stored))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def run(service: Server, monkeypatch: pytest.MonkeyPatch) -> "Run":
    # A proxy of the environment must not be asked for what runs on this machine.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("MOODSTREAM_QUERY__URL", f"http://127.0.0.1:{service.port}/")
    monkeypatch.setenv("COLUMNS", "200")
    return Run()


class Run:
    def text(self, *arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments, "--tenant", "t"])
        assert result.exit_code == 0, (result.output, result.exception)
        return result.output

    def json(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text(*arguments, "--json"))
        return found

    def fails(self, *arguments: str) -> MoodstreamError:
        result = CliRunner().invoke(app, [*arguments, "--tenant", "t"])
        assert isinstance(result.exception, MoodstreamError), (result.output, result.exception)
        return result.exception


AGENT = "a/b [bold]"
LATER = iso(from_ms(T0 + 4 * HOUR_MS))


def test_each_command_answers_as_table_and_as_json(run: Run) -> None:
    assert run.json("agents")["agents"][0]["agent_id"] == AGENT
    assert AGENT in run.text("agents")

    mood = run.json("mood", AGENT, "--at", LATER)
    assert mood["mood"]["pleasure"] == pytest.approx(0.5 / 2.718281828459045)
    shown = run.text("mood", AGENT, "--at", LATER)
    assert "+0.184" in shown
    assert "the deadline [red] slipped" in shown
    assert "applied up to offset 1000000" in shown

    ranked = run.json("agents", "--order", "trend", "--signal", "response_time_ms", "--first", "declining")
    assert ranked["agents"][0]["trend"]["observations"] == 12
    shown = run.text("agents", "--order", "trend", "--signal", "response_time_ms", "--as-of", LATER)
    assert "by response_time_ms, improving ones first" in shown
    assert re.search(rf"{re.escape(AGENT)} +too few +5 ", shown)
    assert "1 of 1 agents looked at" in shown
    assert "chance alone gives a direction in 5 % of looks at most: 0 of these 0" in shown
    assert "chance alone" in run.text("trends", AGENT)

    why = run.json("mood", "explain", AGENT, "--at", LATER)
    assert [part["event_id"] for part in why["explanation"]["parts"]] == ["e1"]
    assert run.json("mood", AGENT, "--at", LATER, "--explain") == why
    shown = run.text("mood", "explain", AGENT, "--at", LATER)
    assert re.search(r"\+0\.184 +\+0\.000 +\+0\.000 +the deadline \[red\] slipped", shown)
    assert all(
        term in shown
        for term in ("e1", "asked for +0.50 +0.00 +0.00", "cut off by clamps", "earlier shifts (0 known)", "baseline")
    )

    trends = run.json("trends", AGENT, "--with", "bob", "--signal", "response_time_ms", "--as-of", LATER)
    assert trends["signals"]["response_time_ms"]["observations"] == 5
    assert "improving" in run.text("trends", AGENT, "--as-of", iso(from_ms(T0 + 12 * HOUR_MS)))

    memories = run.json("memories", AGENT, "--limit", "2", "--domain", "experience", "--domain", "mood")
    assert [each["memory_id"] for each in memories["memories"]] == ["e2", "e1"]
    assert f"--after '{memories['next']}'" in run.text("memories", AGENT, "--limit", "2")
    rest = run.json("memories", AGENT, "--after", memories["next"])
    assert [each["memory_id"] for each in rest["memories"]] == ["mood:e1"]
    assert run.json("memories", AGENT, "mood:e1")["memory"]["domain"] == "mood"
    assert "the deadline [red] slipped" in run.text("memories", AGENT, "e1")

    recall = run.json("recall", AGENT, "deadline", "--as-of", LATER, "--top", "1", "--domain", "experience")
    assert [each["memory_id"] for each in recall["results"]] == ["e1"]
    assert recall["mood"]["pleasure"] == pytest.approx(0.5 / 2.718281828459045)
    assert "the deadline [red] slipped" in run.text("recall", AGENT, "deadline", "--as-of", LATER)
    assert "no mood" in run.text("recall", AGENT, "--no-mood", "--order", "chronological", "--also", AGENT)


@pytest.mark.parametrize("columns", ["80", "200"])
def test_a_narrow_screen_cuts_no_number_and_no_id(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    later = iso(from_ms(T0 + 12 * HOUR_MS))
    shown = [
        run.text("trends", AGENT, "--as-of", later),
        run.text("memories", AGENT),
        run.text("recall", AGENT, "deadline", "--also", AGENT, "--as-of", later),
        run.text("mood", "explain", AGENT, "--at", later),
    ]
    assert all("…" not in text for text in shown)
    assert re.search(r"response_time_ms +improving +12 ", shown[0])
    assert "2023-11-15" in shown[0]
    assert all("mood:e1" in text for text in shown[1:3])
    assert re.search(r"14 22:13:20Z +\+0\.025 +\+0\.000 +\+0\.000 +the deadline", shown[3])


def test_before_its_first_event_nothing_has_moved_an_agent(run: Run) -> None:
    assert "nothing had moved it then" in run.text("mood", AGENT, "--at", "2000-01-01T00:00:00Z")


def test_a_mood_is_explained_for_one_agent_at_a_time(run: Run) -> None:
    assert isinstance(run.fails("mood", AGENT, "b"), InvalidUsage)
    # An agent may have the name of the word.
    assert isinstance(run.fails("mood", "explain"), NotFound)


def test_problems_of_the_service_are_raised_as_they_were(run: Run) -> None:
    missing = run.fails("mood", "nobody")
    assert isinstance(missing, NotFound)
    assert missing.hint == NotFound.hint
    wrong = run.fails("recall", AGENT, "--order", "random")
    assert isinstance(wrong, InvalidQuery)
    assert "order" in wrong.detail


@pytest.mark.parametrize(
    ("tenant", "path"), [("", ("agents",)), ("t", ("agents", "", "mood")), ("t\udcff", ("agents",))]
)
def test_an_id_that_cannot_be_one_is_not_asked_for(tenant: str, path: tuple[str, ...]) -> None:
    with pytest.raises(InvalidQuery, match=r"^(tenant|id): must "):
        Service(QuerySettings(url="http://127.0.0.1:1"), tenant).get(*path)


def test_service_that_is_not_there_is_named_with_the_next_step() -> None:
    (port,) = free_ports(1)
    result = subprocess.run(
        [*MOODSTREAM, "mood", "a", "--tenant", "t", "--url", f"http://127.0.0.1:{port}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "service_unavailable" in result.stderr
    assert f"http://127.0.0.1:{port}" in result.stderr
    assert "moodstream up" in result.stderr


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b"{}", b"\xff"])
def test_somebody_else_at_the_address_is_told_apart(content: bytes, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    source = (
        "import http.server as h\n"
        "class H(h.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        f"        self.send_response(404); self.end_headers(); self.wfile.write({content!r})\n"
        f"h.HTTPServer(('127.0.0.1', {port}), H).serve_forever()\n"
    )
    server = Server("stranger", [sys.executable, "-c", source], port, tmp_path / "log")
    server.start()
    try:
        with pytest.raises(ServiceUnavailable, match="404"):
            Service(QuerySettings(url=f"http://127.0.0.1:{port}"), "t").get("agents")
    finally:
        server.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_ends_cleanly(service: Server, number: signal.Signals) -> None:
    assert service.process is not None
    service.process.send_signal(number)
    assert service.process.wait(10) == 0
    assert "listening" in service.log.read_text()


def _serve(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [*MOODSTREAM, "serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=30,
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_serve_says_why_it_cannot_start(stored: Stored) -> None:
    environment = _environment(stored)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert re.search(rf"port_in_use.*port {port} of 127.0.0.1", _serve("--port", port, **environment))
    assert "invalid_settings" in _serve("--host", "0.0.0.0", **environment)  # noqa: S104
    (free,) = free_ports(1)
    away = _serve("--port", "0", "--redis", f"redis://u:secret@127.0.0.1:{free}/0")
    assert f"127.0.0.1:{free}" in away
    assert "store_unavailable" in away
    assert "secret" not in away

"""`moodstream up` as a newcomer meets it: ready, told to end, disturbed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from support.servers import answers, free_ports
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

END_SECONDS = 10.0


@dataclass
class Up:
    """A running `moodstream up`, and what it wrote."""

    process: subprocess.Popen[str]
    ports: list[int]
    folder: Path

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[2]}"

    def ready(self) -> None:
        def there() -> bool:
            assert self.process.poll() is None, self.err
            return self.url in self.out

        wait_until(there, seconds=90, what="the address of the service")

    def children(self) -> dict[str, int]:
        pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return {name_of(int(pid)): int(pid) for pid in pids}

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(END_SECONDS)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return command(*arguments, env=self.environment())

    def environment(self) -> dict[str, str]:
        broker, redis, _ = self.ports
        return {
            "MOODSTREAM_STREAMS__BOOTSTRAP": f"127.0.0.1:{broker}",
            "MOODSTREAM_STATE__URL": f"redis://127.0.0.1:{redis}/0",
            "MOODSTREAM_QUERY__URL": self.url,
        }


def name_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    if "valkey-server" in words[0]:
        return "valkey"
    return next((name for name in ("worker", "serve", "broker") if name in words), "?")


def command(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-P", "-m", "moodstream", *arguments]
    return subprocess.run(line, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)


@contextlib.contextmanager
def running(folder: Path, *flags: str) -> Iterator[Up]:
    ports = free_ports(3)
    names = ("--broker-port", "--redis-port", "--http-port")
    given = [text for name, port in zip(names, ports, strict=True) for text in (name, str(port))]
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        line = [sys.executable, "-P", "-m", "moodstream", "up", *given, *flags]
        process = subprocess.Popen(line, stdout=out, stderr=err, text=True, cwd=folder)
        try:
            yield Up(process, ports, folder)
        finally:
            process.kill()  # its children end with it
            process.wait()


def gone(pids: list[int]) -> bool:
    return not any(
        Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" for pid in pids
    )


def test_demo_shows_moods_and_trends_and_leaves_the_service_running(tmp_path: Path) -> None:
    with running(tmp_path, "--demo") as up:
        up.ready()
        assert up.out == f"{up.url}\n"
        with build_opener(ProxyHandler({})).open(f"{up.url}/readyz", timeout=10) as answer:
            assert answer.status == 200
        wait_until(lambda: "another terminal" in up.err, seconds=60, what="the end of the story")
        assert "keeps nothing over a restart" in up.err
        assert "improving" in up.err
        assert "declining" in up.err
        mood = json.loads(up.command("mood", "support", "--tenant", "demo", "--json").stdout)
        assert mood["mood"]["pleasure"] > 0.3
        agents = json.loads(up.command("agents", "--tenant", "demo", "--json").stdout)
        assert [one["agent_id"] for one in agents["agents"]] == ["build", "support"]
        children = up.children()
        assert set(children) == {"broker", "valkey", "worker", "serve"}
        assert up.end(signal.SIGINT) == 0
        assert gone(list(children.values()))
        assert not any(answers(port) for port in up.ports)


def test_every_part_listens_on_loopback_only(tmp_path: Path) -> None:
    with running(tmp_path) as up:
        up.ready()
        hexes = {f"{port:04X}" for port in up.ports}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = [row[1].split(":") for row in rows if row[3] == "0A"]
        assert {address for address, port in listening if port in hexes} == {"0100007F"}
        assert up.end(signal.SIGTERM) == 0


def test_a_part_that_dies_is_named_with_its_last_lines(tmp_path: Path) -> None:
    with running(tmp_path, "--data", str(tmp_path / "data")) as up:
        up.ready()
        children = up.children()
        os.kill(children["serve"], signal.SIGKILL)
        assert up.process.wait(END_SECONDS + 5) == 1
        assert "the query service has ended with code -9. Its last lines:" in up.err
        assert "startup complete" in up.err
        assert gone(list(children.values()))
        assert (tmp_path / "data" / "valkey" / "appendonlydir").is_dir()


def test_it_can_be_told_to_end_while_it_starts(tmp_path: Path) -> None:
    with running(tmp_path) as up:
        wait_until(lambda: "broker" in up.children(), what="the broker")
        assert up.end(signal.SIGTERM) == 0
        assert up.out == ""


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_port_in_use_is_told_before_anything_starts(tmp_path: Path, place: int) -> None:
    names = ("--broker-port", "--redis-port", "--http-port")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = free_ports(3)
        ports[place] = taken.getsockname()[1]
        flags = [text for name, port in zip(names, ports, strict=True) for text in (name, str(port))]
        done = command("up", *flags, "--json", env={})
    problem = json.loads(done.stderr)
    assert (done.returncode, problem["code"], problem["port"]) == (2, "port_in_use", ports[place])
    assert names[place] in problem["hint"]
    assert done.stdout == ""


def test_what_was_kept_is_in_the_new_log_when_it_is_ready_again(tmp_path: Path) -> None:
    event = {"type": "experience.observation", "tenant_id": "t", "agent_id": "a", "event_id": "e", "subject": "s"}
    event |= {"occurred_at": "2026-01-01T00:00:00Z", "description": "d"}
    (tmp_path / "events").write_text(json.dumps(event))
    with running(tmp_path, "--data", str(tmp_path / "data")) as up:
        up.ready()
        assert up.command("publish", str(tmp_path / "events")).returncode == 0
        wait_until(lambda: up.command("mood", "a", "--tenant", "t").returncode == 0, what="the event in the state")
        assert up.end(signal.SIGTERM) == 0
    with running(tmp_path, "--data", str(tmp_path / "data")) as up:
        up.ready()
        audit = up.command("audit", "--json")
        assert (audit.returncode, json.loads(audit.stdout)["differences"]) == (3, 0), audit.stdout

"""Ports that are taken, and processes that end together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moodstream.cli.children import Child, ChildEnded, Family, Stopped
from moodstream.cli.ports import Wanted, check_free
from moodstream.schemas.errors import InvalidSettings, PortInUse
from support.servers import free_ports
from support.waiting import eventually, wait_until

FOREVER = "import signal; print('here', flush=True); signal.pause()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"
BRIEF = "print('first'); print('last'); raise SystemExit(3)"


def child(tmp_path: Path, code: str, name: str = "part") -> Child:
    return Child(name, [sys.executable, "-c", code], tmp_path / f"{name}.log")


@pytest.fixture
async def family() -> AsyncIterator[Family]:
    made = Family()
    yield made
    await made.end(first=(), first_seconds=0, rest_seconds=0)


async def up(one: Child) -> Child:
    await eventually(lambda: one.last_lines() == ["here"], what="a line of the child")
    return one


async def test_a_child_that_ends_by_itself_is_named_with_its_last_lines(family: Family, tmp_path: Path) -> None:
    await family.start(child(tmp_path, BRIEF))
    with pytest.raises(ChildEnded, match="the part has ended with code 3") as raised:
        await asyncio.wait_for(family.forever(), 20)
    assert raised.value.child.last_lines() == ["first", "last"]
    assert raised.value.child.last_lines(1) == ["last"]


async def test_asking_for_the_end_interrupts_any_work(family: Family, tmp_path: Path) -> None:
    await family.start(child(tmp_path, FOREVER))
    family.stop.set()
    with pytest.raises(Stopped):
        await family.during(asyncio.Event().wait())


async def test_work_that_is_done_gives_its_result(family: Family, tmp_path: Path) -> None:
    await family.start(child(tmp_path, FOREVER))
    assert await family.during(asyncio.sleep(0, "done")) == "done"


async def test_work_that_fails_raises(family: Family) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await family.during(fail())


async def test_all_children_end_also_one_that_will_not(family: Family, tmp_path: Path) -> None:
    good = await up(await family.start(child(tmp_path, FOREVER, "good")))
    bad = await up(await family.start(child(tmp_path, STUBBORN, "bad")))
    await family.end(first=["good"], first_seconds=5, rest_seconds=0.1)
    assert (good.code, bad.code) == (-signal.SIGTERM, -signal.SIGKILL)


async def test_the_first_ones_have_ended_before_the_others_are_asked(family: Family, tmp_path: Path) -> None:
    early = await up(await family.start(child(tmp_path, FOREVER, "early")))
    code = (
        "import os, signal\n"
        f"def end(*_):\n    try:\n        os.kill({early.process.pid if early.process else 0}, 0)\n"  # still there?
        "    except ProcessLookupError:\n        raise SystemExit(0)\n    raise SystemExit(1)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('here', flush=True)\nsignal.pause()"
    )
    late = await up(await family.start(child(tmp_path, code, "late")))
    await family.end(first=["early"], first_seconds=5, rest_seconds=5)
    assert late.code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_children_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from moodstream.cli.children import Child, Family\n"
        "async def main():\n"
        f"    one = Child('part', [sys.executable, '-c', {FOREVER!r}], Path({str(tmp_path / 'log')!r}))\n"
        "    await Family().start(one)\n"
        "    print(one.process.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    parent = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    wait_until(lambda: not alive(pid), what="the end of the child")


def alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    return False


def test_free_ports_are_fine() -> None:
    one, other = free_ports(2)
    check_free([Wanted("this", one, "--this"), Wanted("that", other, "--that")])


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - somebody else's server
def test_a_taken_port_names_port_flag_and_what_to_do(address: str) -> None:
    with socket.create_server((address, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(PortInUse, match=rf"port {port} .* for the broker") as raised:
            check_free([Wanted("the broker", port, "--broker-port")])
    assert "--broker-port" in raised.value.hint
    assert raised.value.fields == {"port": port, "flag": "--broker-port"}


def test_a_port_just_left_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = server.accept()
            accepted.close()  # the server's side closes first, and lingers
    check_free([Wanted("the broker", port, "--broker-port")])


def test_the_same_port_twice_is_told() -> None:
    (port,) = free_ports(1)
    with pytest.raises(InvalidSettings, match="for this and for that"):
        check_free([Wanted("this", port, "--this"), Wanted("that", port, "--that")])

"""A server process of a test: started on a free port, ended for sure, and able to be hurt in between."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.waiting import wait_until

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def answers(port: int) -> bool:
    """Whether somebody accepts connections on this port of the loopback."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@dataclass
class Server:
    """One process that listens on a port; its data and its log outlive a restart."""

    name: str
    command: Sequence[str]
    port: int
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and return when it accepts connections."""
        self.spawn()
        wait_until(self.ready, seconds=60, what=f"{self.name} on port {self.port}")

    def spawn(self) -> None:
        """Start the process and do not wait."""
        self.process = launch(self.command, self.log, {**os.environ, **self.env})

    def stop(self) -> None:
        """Ask the process to end, and end it when it has not after ten seconds."""
        if self.process is None:
            return
        self.resume()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()
        self.process = None

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        process = self._running()
        process.kill()
        process.wait()
        self.process = None

    def pause(self) -> None:
        """Freeze the process; it keeps its connections."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen process go on."""
        self._running().send_signal(signal.SIGCONT)

    def ready(self) -> bool:
        """Whether it accepts connections; RuntimeError with the end of its log where it has ended."""
        code = self._running().poll()
        if code is not None:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.name} ended with code {code} at start:\n{tail}")
        return answers(self.port)

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            raise RuntimeError(f"{self.name} does not run")
        return self.process


def launch(
    command: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that writes to a log and ends with this one."""
    with log.open("ab") as out:
        return subprocess.Popen(
            list(command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=env,
            start_new_session=True,  # Ctrl-C ends the tests, which then end it
            preexec_fn=_end_with_parent,
        )


def _end_with_parent() -> None:
    """Make the kernel end a child when its parent dies, even by kill -9 (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

"""Which real Kafka and Redis the real suite runs on.

In this order: addresses in the environment (`MOODSTREAM_TEST_BOOTSTRAP` and `MOODSTREAM_TEST_REDIS`), a Docker engine
that answers, else Java with a Kafka fetched through Maven and the command `redis-server`. With none of them the suite
is skipped, which counts as a failure where `CI` is set.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass

BOOTSTRAP = "MOODSTREAM_TEST_BOOTSTRAP"
REDIS = "MOODSTREAM_TEST_REDIS"
COMMANDS = {"java": "Java 17", "mvn": "Maven", "redis-server": "redis-server"}


@dataclass(frozen=True)
class Choice:
    """Where the real servers come from; with `how` None, `why` says what is missing."""

    how: str | None
    why: str = ""


def choose(
    env: Mapping[str, str] = os.environ,
    *,
    docker: Callable[[], bool] | None = None,
    which: Callable[[str], str | None] = shutil.which,
) -> Choice:
    """Decide from what this machine has; nothing is started yet."""
    given = [name for name in (BOOTSTRAP, REDIS) if env.get(name)]
    if len(given) == 1:
        return Choice(None, f"{given[0]} is set alone; set both {BOOTSTRAP} and {REDIS}")
    if given:
        return Choice("environment")
    if (docker or docker_answers)():
        return Choice("docker")
    missing = [title for command, title in COMMANDS.items() if which(command) is None]
    if missing:
        return Choice(None, f"no {BOOTSTRAP}, no Docker engine answers, and missing here: {', '.join(missing)}")
    return Choice("java")


def docker_answers() -> bool:
    """Whether a Docker engine answers; the client alone does not count."""
    if shutil.which("docker") is None:
        return False
    command = ["docker", "info", "--format", "{{.ServerVersion}}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout.strip())


def is_ci(env: Mapping[str, str] = os.environ) -> bool:
    """Whether a missing real suite is a failure."""
    return env.get("CI", "").casefold() in {"1", "true", "yes"}

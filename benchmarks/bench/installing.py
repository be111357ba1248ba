"""What the peers need, and moodstream does not: fetched for the benchmark alone, once, into .cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.places import say

QUIX = "quixstreams==3.28.1"
HEAP = ("-Xms512m", "-Xmx1g")

_ROOT = Path(__file__).resolve().parents[2]
_PEERS = _ROOT / "benchmarks" / "peers"
_CACHE = _ROOT / ".cache" / "peers"


class MissingToolError(Exception):
    """A peer cannot be run here; says why, and what would help."""


def quix() -> Path:
    """The Python of an environment that has Quix Streams."""
    folder = _CACHE / QUIX.replace("==", "-")
    python, stamp = folder / "bin" / "python", folder / ".installed"
    if not stamp.exists():
        say(f"installing {QUIX} into {folder.relative_to(_ROOT)} (once)")
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)], "Quix Streams needs an environment of its own")
        _run([str(python), "-m", "pip", "install", "--quiet", QUIX], f"{QUIX} cannot be installed")
        stamp.touch()
    return python


def kafka_streams() -> list[str]:
    """The command that runs the Kafka Streams peer."""
    _need("java", "a JDK 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)")
    jars = _jars()
    classes = _classes(jars)
    options = [*HEAP, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return ["java", *options, "-cp", f"{jars}/*:{classes}", "KafkaStreamsPeer"]


def _jars() -> Path:
    pom = _PEERS / "pom.xml"
    folder = _CACHE / f"jars-{_digest(pom)}"
    if not folder.exists():
        _need("mvn", "Maven (Debian: apt-get install maven)")
        say(f"fetching Kafka Streams by Maven into {folder.relative_to(_ROOT)} (90 MB, once)")
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
        _run(["mvn", "--batch-mode", "--quiet", "--file", str(pom), *goal], "Kafka Streams cannot be fetched")
        part.rename(folder)
    return folder


def _classes(jars: Path) -> Path:
    source = _PEERS / "KafkaStreamsPeer.java"
    folder = _CACHE / f"classes-{_digest(source)}"
    if not folder.exists():
        _need("javac", "a JDK 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)")
        part = folder.with_suffix(".part")
        command = ["javac", "--release", "17", "-cp", f"{jars}/*", "-d", str(part), str(source)]
        _run(command, "the Kafka Streams peer cannot be compiled")
        part.rename(folder)
    return folder


def _need(command: str, title: str) -> None:
    if shutil.which(command) is None:
        raise MissingToolError(f"{command} is missing: install {title}")


def _run(command: Sequence[str], problem: str) -> None:
    """Run a command; `MissingToolError` with the last line that it wrote where it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise MissingToolError(f"{problem}: {lines[-1] if lines else f'code {done.returncode}'}")


def _digest(path: Path) -> str:
    """A word that changes with the file, so that what was made from another one is not used."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]

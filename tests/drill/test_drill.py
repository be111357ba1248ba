"""The command as a whole, on real servers: it finds a fault that was planted, and keeps what shows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.real import is_ci

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("java", "mvn", "redis-server")


def drilled(*options: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(ROOT / name) for name in ("src", "tests", "benchmarks"))
    command = [sys.executable, "-P", "-m", "drill", "--json", *options]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.fixture(autouse=True)
def _servers() -> None:
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    if lacking and not is_ci():
        pytest.skip(f"missing here: {', '.join(lacking)}")


def test_a_planted_fault_is_found(tmp_path: Path) -> None:
    """Chunks that never reach the changelog: the audit finds it without any other fault."""
    kept, results = tmp_path / "kept", tmp_path / "results.json"
    done = drilled(
        *("--plant", "append-skipped", "--only", "0", "--faults", "worker-kill", "--rate", "100"),
        *("--keep", str(kept), "--resume", str(results)),
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["failed"], found["faults"]) == ([0], {"worker-kill": 1})
    assert found["differences"] > 0
    assert "scripts/drill --seed 1 --only 0 --faults worker-kill" in done.stderr
    names = {path.name for path in (kept / "seed-1-round-0").iterdir()}
    assert names >= {"plan.json", "result.json", "audit.txt", "worker-0.log", "redis.log", "broker-0.log"}
    assert json.loads(results.read_text())["totals"]["failed"] == [0]


def test_rounds_of_another_drill_end_it_with_code_2(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"drill": {"seed": 9}, "rounds": []}))
    done = drilled("--resume", str(results))
    assert done.returncode == 2
    assert "another file" in done.stderr

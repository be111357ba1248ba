"""The files that nobody imports: scripts, compose file, image, README."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [ROOT / ".ci/run", *(path for path in sorted((ROOT / "scripts").iterdir()) if path.suffix != ".xml")]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
OURS = ("topics", "worker", "query")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_is_sound_bash_and_can_be_run(script: Path) -> None:
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.access(script, os.X_OK) or script.name.startswith("_")


def test_compose_publishes_on_loopback_only() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8085:8085"]


def test_compose_keeps_what_must_be_kept() -> None:
    kafka, redis = COMPOSE["services"]["kafka"], COMPOSE["services"]["redis"]
    command = " ".join(redis["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert redis["volumes"] == ["redis:/data"]
    assert kafka["volumes"] == [f"kafka:{kafka['environment']['KAFKA_LOG_DIRS']}"]
    assert kafka["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert set(COMPOSE["volumes"]) == {"kafka", "redis"}


def test_compose_waits_for_topics_before_the_worker() -> None:
    services = COMPOSE["services"]
    assert services["topics"]["depends_on"]["kafka"]["condition"] == "service_healthy"
    assert services["worker"]["depends_on"]["topics"]["condition"] == "service_completed_successfully"
    assert all("healthcheck" in services[name] for name in ("kafka", "redis", "query"))


@pytest.mark.parametrize("name", OURS)
def test_compose_environment_reaches_the_settings(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from moodstream.cli.settings import Settings

    monkeypatch.chdir(tmp_path)
    for variable, value in COMPOSE["services"][name]["environment"].items():
        monkeypatch.setenv(variable, value)
    settings = Settings()
    assert settings.streams.bootstrap == "kafka:9092"
    assert settings.state.url == "redis://redis:6379/0"


@pytest.mark.parametrize("name", OURS)
def test_compose_commands_exist(name: str) -> None:
    from typer.testing import CliRunner

    from moodstream.cli.main import app

    command = COMPOSE["services"][name]["command"]
    words = [word for word in command if word.isalpha()]
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert shown.exit_code == 0, shown.output
    for option in (word for word in command if word.startswith("--")):
        assert option in shown.output


def test_image_runs_without_root_and_holds_every_room() -> None:
    text = (ROOT / "Dockerfile").read_text()
    user = re.findall(r"^USER (\d+)", text, re.MULTILINE)
    assert user
    assert user[-1] != "0"
    for room in (path.name for path in (ROOT / "src/moodstream").iterdir() if path.is_symlink()):
        assert f"COPY {room} {room}\n" in text
        assert f"!{room}\n" in (ROOT / ".dockerignore").read_text()


def test_readme_shows_the_example_that_the_tests_run() -> None:
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    examples = [path.read_text() for path in (ROOT / "examples").glob("*.py")]
    assert snippets
    assert all(any(snippet.strip() in example for example in examples) for snippet in snippets)

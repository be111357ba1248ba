"""What pages, help and hints name has to be there: commands, pages, settings with their defaults."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from moodstream.cli.chatlog import read_messages
from moodstream.cli.main import app
from moodstream.cli.settings import Settings
from moodstream.schemas.limits import Limits
from moodstream.schemas.profile import ProfileValues

ROOT = Path(__file__).resolve().parents[2]
ROOMS = [path.name for path in (ROOT / "src/moodstream").iterdir() if path.is_symlink()]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
COMMANDS = {each.name or each.callback.__name__ for each in app.registered_commands if each.callback}
COMMANDS |= {group.name for group in app.registered_groups if group.name}


def settings(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, object]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if kind in (Limits, ProfileValues):
            continue
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from settings(kind, f"{path}{name}.")
        else:
            yield f"{path}{name}", field.default


def test_the_message_on_the_page_of_replays_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs/replay.md").read_text()
    (tmp_path / "log").write_text("".join(re.findall(r"```json\n(.*?)```", page, re.DOTALL)))
    assert [message.reply_to for _, message in read_messages(tmp_path / "log")] == [["m1"]]


def test_every_setting_is_on_its_page_with_its_default() -> None:
    page = (ROOT / "docs/settings.md").read_text()
    told = dict(re.findall(r"^\| `([a-z_.]+)` \| `?([^`|]*?)`? \|", page, re.MULTILINE))
    assert told.pop("log_level", None) is None  # it is told in a sentence
    real = {name: "empty" if default == "" else str(default) for name, default in settings(Settings)}
    assert real.pop("log_level") == "info"
    assert told == real


@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_pages_that_are_named_exist(path: Path) -> None:
    text = path.read_text()
    named = set(re.findall(r"(?:`|^\$ |^)moodstream ([a-z]+)", text, re.MULTILINE))
    assert named <= COMMANDS
    assert [page for page in re.findall(r"\bdocs/\w+\.md", text) if not (ROOT / page).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []

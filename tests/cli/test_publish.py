"""`publish` and `replay` without a broker: what is sent, and what is said of the rest."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from moodstream.affect.annotate import Sentiment
from moodstream.cli.lines import lines_of
from moodstream.cli.main import main
from moodstream.schemas.codec import decode
from moodstream.schemas.errors import BadFile
from moodstream.schemas.events import Pad
from moodstream.streams import bus
from moodstream.streams.testing import MemorySender


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemorySender:
    """Stands in for the broker."""
    memory = MemorySender(partitions=1)
    monkeypatch.setattr(bus, "KafkaSender", lambda _: memory)
    monkeypatch.chdir(tmp_path)
    return memory


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    written = capsys.readouterr()
    return int(raised.value.code or 0), written.out, written.err


def line(number: int, **more: Any) -> str:
    fields = {"tenant_id": "t", "agent_id": "a", "event_id": f"e{number}", "occurred_at": "2026-01-01T00:00:00Z"}
    return json.dumps({"type": "experience.outcome", "description": "d", "result": "ok", **fields, **more}) + "\n"


def ids(sender: MemorySender) -> list[str]:
    return [decode(record.key, record.value).event.event_id for record in sender.records]


def pads(sender: MemorySender) -> list[Pad | None]:
    return [decode(record.key, record.value).event.pad for record in sender.records]


def written(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(lines))
    return str(path)


def test_good_lines_are_sent_in_order(sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, line(1), "\n", line(2), line(3).rstrip())
    code, out, _ = run(capsys, "publish", file)
    assert (code, out) == (0, "3 events sent\n")
    assert ids(sender) == ["e1", "e2", "e3"]


def test_all_sends_nothing_when_one_line_is_bad(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, line(1), line(2, result=" "), line(3), "{\n")
    code, _, err = run(capsys, "publish", file, "--json")
    problem = json.loads(err)
    assert (code, problem["code"], problem["line"]) == (2, "bad_file", 2)
    assert "result" in problem["detail"]
    assert [(fault["line"], fault["code"]) for fault in problem["faults"]] == [
        (2, "invalid_event"),
        (4, "malformed_record"),
    ]
    assert sender.records == []


def test_all_names_every_bad_line(sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, line(1), line(2, result=" "), line(3), *["{\n"] * 20)
    _, _, err = run(capsys, "publish", file)
    shown = err.splitlines()
    assert [text.split(":")[0] for text in shown[1:20]] == [f"line {number}" for number in range(4, 23)]
    assert shown[0].startswith("error bad_file: line 2: invalid_event: result: ")
    assert shown[20:22] == ["and 1 more lines", "Nothing was sent."]
    assert "--part" in shown[22]
    assert sender.records == []


def test_part_sends_the_good_lines_and_names_the_others(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sender.refuse = lambda record: KafkaConnectionError("gone") if b'"e4"' in record.value else None
    file = written(tmp_path, line(1), line(2, type="dream"), "\n", line(4), line(5))
    code, out, _ = run(capsys, "publish", file, "--part", "--json")
    result = json.loads(out)
    assert (code, result["sent"], result["failed"]) == (1, 2, 2)
    assert sorted((fault["line"], fault["code"]) for fault in result["faults"]) == [
        (2, "unknown_type"),
        (4, "broker_unavailable"),
    ]
    assert ids(sender) == ["e1", "e5"]


def test_faults_are_told_line_by_line(sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del sender
    code, out, err = run(capsys, "publish", written(tmp_path, line(1), "[1]\n"), "--part")
    assert code == 1
    assert err.startswith("line 2: malformed_record: ")
    assert out == "1 events sent, 1 lines not sent\n"


@pytest.mark.parametrize("how", ["--all", "--part"])
def test_annotate_gives_a_pad_to_events_that_have_none(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    own = line(2, description="wonderful", pad={"arousal": 0.5})
    file = written(tmp_path, line(1, description="wonderful"), own, line(3, description="a file"))
    run(capsys, "publish", file, how)
    assert pads(sender) == [None, Pad(arousal=0.5), None]
    sender.records.clear()
    run(capsys, "publish", file, how, "--annotate")
    assert pads(sender) == [Sentiment()("wonderful"), Pad(arousal=0.5), None]


def test_annotate_without_its_package_names_the_extra(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vader", None)
    for command, file in (("publish", written(tmp_path, line(1))), ("replay", chat(tmp_path, 1))):
        code, _, err = run(capsys, command, file, "--annotate", "--json")
        problem = json.loads(err)
        assert (code, problem["code"], problem["extra"]) == (2, "missing_extra", "annotate")
    assert sender.records == []


def test_standard_input_is_read(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(written(tmp_path, line(1), line(2))).open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert run(capsys, "publish", "-", "--part")[0] == 0
    assert ids(sender) == ["e1", "e2"]


def chat(tmp_path: Path, count: int, text: str = "y") -> str:
    path = tmp_path / "chat.jsonl"
    whole = {"channel": "c", "sent_at": "2026-01-01T00:00:00Z", "author": "x", "reply_to": [], "text": text}
    path.write_text("".join(json.dumps({"id": f"m{number}", **whole}) + "\n" for number in range(count)))
    return str(path)


def test_replay_sends_all_events_of_the_tenant(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "replay", chat(tmp_path, 3), "--tenant", "other", "--limit", "2", "--json")
    result = json.loads(out)
    assert code == 0
    assert {name: result[name] for name in ("tenant", "messages", "events", "kinds")} == {
        "tenant": "other",
        "messages": 2,
        "events": 4,
        "kinds": {"action": 2, "settled": 2},
    }
    assert result["events_per_second"] > 0
    assert ids(sender) == ["m0:action:1", "m1:action:1", "m0:settled:1", "m1:settled:1"]


def test_a_second_replay_repeats_every_byte(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        run(capsys, "replay", chat(tmp_path, 5))
    values = [record.value for record in sender.records]
    assert values[:10] == values[10:]
    assert {decode(one.key, one.value).event.tenant_id for one in sender.records} == {"ubuntu"}


def test_replay_annotates_what_was_said_and_nothing_else(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = chat(tmp_path, 2, text="I am so happy")
    run(capsys, "replay", file, "--annotate")
    assert pads(sender) == [Sentiment()("I am so happy")] * 2 + [None] * 2
    sender.records.clear()
    run(capsys, "replay", chat(tmp_path, 2, text=" "), "--annotate")
    assert pads(sender) == [None] * 4


def test_replay_ends_with_the_rate(sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del sender
    _, out, _ = run(capsys, "replay", chat(tmp_path, 1))
    assert out.splitlines()[-1].endswith("events/s")


def test_a_file_that_is_no_chat_log_is_refused(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "replay", written(tmp_path, line(1)))
    assert code == 2
    assert err.startswith("error bad_file: line 1: not a chat message: ")
    assert sender.records == []


@pytest.mark.parametrize("tenant", ["", "a\nb", "x" * 257])
def test_a_bad_tenant_is_refused(
    sender: MemorySender, tmp_path: Path, capsys: pytest.CaptureFixture[str], tenant: str
) -> None:
    code, _, err = run(capsys, "replay", chat(tmp_path, 1), "--tenant", tenant)
    assert (code, sender.records) == (2, [])
    assert "tenant" in err


async def test_a_pipe_is_read_line_by_line_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as source, os.fdopen(writing, "wb", buffering=0) as target:
        monkeypatch.setattr("sys.stdin", source)
        lines = lines_of(None)
        for number in range(1, 4):
            target.write(f"line {number}\n".encode())
            assert await asyncio.wait_for(anext(lines), 5) == (number, f"line {number}\n".encode())
        target.write(b"last")
        target.close()
        assert [one async for one in lines] == [(4, b"last")]


async def test_a_pipe_without_line_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as source:
        monkeypatch.setattr("sys.stdin", source)
        filling = asyncio.create_task(asyncio.to_thread(fill, writing))
        with pytest.raises(BadFile, match="longer than"):
            await anext(lines_of(None))
    await filling


def fill(pipe: int) -> None:
    with os.fdopen(pipe, "wb") as target, contextlib.suppress(BrokenPipeError):
        target.write(b"x" * 5_000_000)


async def test_no_input_at_all_is_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as source:
        monkeypatch.setattr("sys.stdin", source)
        assert [one async for one in lines_of(None)] == []

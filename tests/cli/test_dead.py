"""The words and the screen of `moodstream dead`, without a broker."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest
from rich.console import Console

from moodstream.cli.dead import screen
from moodstream.cli.dead.asked import moment, selection
from moodstream.cli.dead.commands import Oldest
from moodstream.schemas.errors import InvalidUsage
from moodstream.streams.dead_box import Survey
from moodstream.streams.dead_letters import Cut, DeadLetter, LetterName
from moodstream.streams.dead_replay import Replayed

NONE: dict[str, Any] = {"topic": None, "code": None, "since": None, "until": None, "partition": None}


def letter(offset: int = 17, **more: Any) -> DeadLetter:
    fields = {
        "refused_ms": 1_000,
        "key": b"t/a",
        "value": b"{",
        "headers": [("trace", b"1"), ("null", None)],
        "code": "malformed_record",
        "exception": "MalformedRecord",
        "message": "broken",
        "topic": "m.events.v1",
        "partition": 2,
        "offset": 41,
        "timestamp_ms": 500,
    }
    return DeadLetter(name=LetterName(0, offset), **{**fields, **more})


def shown(write: Any) -> str:
    out = io.StringIO()
    write(Console(file=out, width=160))
    return out.getvalue()


# -- words


def test_a_time_or_how_long_ago() -> None:
    assert moment(None, "--since") is None
    assert moment("1970-01-01T00:00:02Z", "--since") == 2_000
    assert moment("1970-01-01T01:00:02+01:00", "--since") == 2_000
    before = time.time_ns() // 1_000_000
    for text, ms in (("90s", 90_000), ("15m", 900_000), ("2h", 7_200_000), ("7d", 604_800_000)):
        found = moment(text, "--since")
        assert found is not None
        assert before - ms <= found <= time.time_ns() // 1_000_000 - ms


@pytest.mark.parametrize("text", ["", "2", "2w", "yesterday", "1970-01-01T00:00:02", "-2h", "2.5h"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(InvalidUsage, match="--since"):
        moment(text, "--since")


def test_letters_are_named_or_filtered() -> None:
    found = selection(["0:1", "2:3"], **NONE)
    assert found.names == {LetterName(0, 1), LetterName(2, 3)}
    assert selection(**NONE).names is None
    with pytest.raises(InvalidUsage, match="named and filtered"):
        selection(["0:1"], **{**NONE, "partition": 0})


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({}, True),
        ({"topic": "m.events.v1", "code": "malformed_record"}, True),
        ({"topic": "events.v1"}, False),
        ({"code": "malformed"}, False),
        ({"since": "1970-01-01T00:00:01Z"}, True),
        ({"until": "1970-01-01T00:00:01Z"}, False),
        ({"since": "1970-01-01T00:00:01.001Z"}, False),
        ({"until": "1970-01-01T00:00:01.001Z"}, True),
    ],
)
def test_filters_hold_together(asked: dict[str, Any], fits: bool) -> None:
    assert selection(**{**NONE, **asked}).fits(letter()) is fits


@pytest.mark.parametrize(
    "said", [(None, None, False, None), ("1h", None, True, None), (None, "0:1", True, None), (None, "0:1", False, 2)]
)
def test_a_purge_says_how_far_once(said: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidUsage):
        Oldest.of(said[0], said[1], everything=said[2], partition=said[3])


# -- screen


def test_a_list_names_what_there_is() -> None:
    survey = Survey(selected=3, newest=[letter(17), letter(18, replays=2, key=None)], replayed={LetterName(0, 18)})
    survey.codes.update(["malformed_record", "malformed_record", ""])
    text = shown(lambda console: screen.show_list(console, survey))
    assert "0:17" in text
    assert "2 before, replayed" in text
    assert "3 dead letters: 2 malformed_record, 1 unknown." in text
    assert "The newest 2 are shown" in text


def test_nothing_is_said_in_a_line() -> None:
    assert shown(lambda console: screen.show_list(console, Survey())) == "0 dead letters.\n"


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    evil = letter(message="\x1b[2J\x07gone", key=b"\x1b]0;x", value=b'{"a": "\\u001b[31m\\u202e"}')
    for text in (
        shown(lambda console: screen.show_letter(console, evil, replayed=False)),
        shown(lambda console: screen.show_list(console, Survey(selected=1, newest=[evil]))),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[2J" in text


def test_json_is_indented_and_anything_else_is_dumped() -> None:
    assert list(screen.value_lines(b'{"b": [1], "a": "\xc3\xbc"}')) == [
        "{",
        '  "b": [',
        "    1",
        "  ],",
        '  "a": "ü"',
        "}",
    ]
    assert list(screen.value_lines(b"\xffA")) == ["00000000  ff 41                                            .A"]
    assert list(screen.value_lines(None)) == ["no value"]
    assert list(screen.value_lines(b"[" * 100_000))[-1].startswith("… and 95,904 more bytes")


def test_a_letter_is_whole_as_an_object() -> None:
    found = screen.whole_object(letter(value=b"\xff", replay_of=LetterName(1, 2), replays=1), replayed=True)
    assert json.loads(json.dumps(found)) == found
    assert (found["value_base64"], found["replay_of"], found["replayed"]) == ("/w==", "1:2", True)
    assert found["headers"] == [{"name": "trace", "value": "1"}, {"name": "null", "value": None}]
    assert (found["written_at"], found["key"], found["obstacle"]) == ("1970-01-01T00:00:00.500000Z", "t/a", None)


def test_a_time_that_is_none_is_unknown() -> None:
    assert [screen.when(ms) for ms in (-1, 2**63, 0)] == ["unknown", "unknown", "1970-01-01T00:00:00Z"]


def test_what_cannot_be_replayed_is_told() -> None:
    cut = letter(cuts=(Cut("value", 800_000, "ab12"),))
    found = Replayed(sent=3, already=2, impossible=[(cut.name, str(cut.obstacle))] * 30)
    text = shown(lambda console: screen.show_replay(console, found, [LetterName(9, 9)], dry_run=False))
    assert "0:17: its value was cut: 800000 bytes, SHA-256 ab12" in text
    assert "and 11 more that cannot be replayed" in text
    assert "3 letters replayed, 2 left out as they were replayed before (--again), 31 cannot be" in text

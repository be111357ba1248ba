"""Reading a chat log, and what each message becomes."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.cli.chat_events import NO_TEXT, Talk, as_description, plan, to_events
from moodstream.cli.chatlog import Message, read_messages
from moodstream.schemas.errors import BadFile
from moodstream.schemas.events import Action, Engagement

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 24 * 60


def message(number: int, minute: int, author: str, *answers: int, text: str = "hello") -> Message:
    links = [f"m{one}" for one in answers]
    at = BEGIN + timedelta(minutes=minute)
    return Message(id=f"m{number}", sent_at=at, author=author, text=text, reply_to=links)


def events(*messages: Message) -> list[Action | Engagement]:
    talk = Talk.of(enumerate(messages, 1))
    return list(to_events(talk, plan(talk), "t"))


def minute(event: Action | Engagement) -> int:
    return (event.occurred_at - BEGIN) // timedelta(minutes=1)


def known(event: Action | Engagement) -> dict[str, Any]:
    names = ("responded", "response_time_ms", "response_length", "reaction_count", "continued", "sentiment_shift")
    return {name: value for name in names if (value := getattr(event, name, None)) is not None}


def reports(found: list[Action | Engagement], turn: str) -> list[tuple[int, str, dict[str, Any]]]:
    return [(minute(one), one.other_agent_id, known(one)) for one in found if one.turn_id == turn and known(one)]


def test_a_message_is_an_action_of_its_author() -> None:
    action = events(message(1, 5, "ann", text="any via users here?"))[0]
    assert isinstance(action, Action)
    assert (action.tenant_id, action.agent_id, action.event_id) == ("t", "ann", "m1:action:1")
    assert (action.turn_id, action.description, minute(action)) == ("m1", "any via users here?", 5)


def test_without_an_answer_it_is_told_after_a_day() -> None:
    found = events(message(1, 5, "ann"))
    assert reports(found, "m1") == [(5 + DAY, "#channel", {"responded": False})]
    assert found[-1].event_id == "m1:settled:1"


def test_the_first_answer_tells_delay_length_and_who() -> None:
    found = events(message(1, 0, "ann"), message(2, 3, "bob", 1, text="yes, me"), message(3, 4, "cy", 1, text="me too"))
    assert reports(found, "m1") == [
        (3, "bob", {"responded": True, "response_time_ms": 180_000, "response_length": 7}),
        (13, "bob", {"continued": False}),
        (DAY, "#channel", {"reaction_count": 2}),
    ]
    ids = [one.event_id for one in found if one.turn_id == "m1"]
    assert ids == ["m1:action:1", "m1:answer:1", "m1:continued:1", "m1:settled:1"]


def test_within_the_same_minute_the_delay_is_half_a_minute() -> None:
    found = events(message(1, 0, "ann"), message(2, 0, "bob", 1))
    assert reports(found, "m1")[0][2]["response_time_ms"] == 30_000


def test_the_talk_goes_on_with_the_next_message_to_that_person() -> None:
    found = events(message(1, 0, "ann"), message(2, 1, "bob", 1), message(3, 11, "ann", 2))
    assert reports(found, "m1")[1] == (11, "bob", {"continued": True})


def test_ten_minutes_are_the_limit() -> None:
    found = events(message(1, 0, "ann"), message(2, 1, "bob", 1), message(3, 12, "ann", 2))
    assert reports(found, "m1")[1] == (11, "bob", {"continued": False})


def test_a_message_to_somebody_else_does_not_go_on() -> None:
    found = events(message(1, 0, "ann"), message(2, 1, "bob", 1), message(3, 1, "cy", 1), message(4, 2, "ann", 3))
    assert reports(found, "m1")[1] == (11, "bob", {"continued": False})


def test_a_message_before_the_answer_does_not_go_on() -> None:
    found = events(message(1, 0, "bob"), message(2, 0, "ann", 1), message(3, 1, "ann", 1), message(4, 2, "bob", 2))
    assert reports(found, "m2")[1] == (12, "bob", {"continued": False})


def test_it_goes_on_by_an_answer_to_any_message_of_that_person() -> None:
    found = events(message(1, 0, "bob"), message(2, 0, "ann", 1), message(3, 2, "bob", 2), message(4, 3, "ann", 1))
    assert reports(found, "m2")[1] == (3, "bob", {"continued": True})


def test_answers_to_oneself_count_for_nothing() -> None:
    found = events(message(1, 0, "ann"), message(2, 1, "ann", 1))
    assert reports(found, "m1") == [(DAY, "#channel", {"responded": False})]


def test_dangling_links_and_links_forward_count_for_nothing() -> None:
    found = events(message(1, 0, "ann", 9, 2), message(2, 1, "bob"))
    assert [one[2] for one in reports(found, "m2")] == [{"responded": False}]


def test_a_late_answer_is_no_reaction_of_the_day() -> None:
    found = events(message(1, 0, "ann"), message(2, DAY + 1, "bob", 1))
    assert [(at, what) for at, _, what in reports(found, "m1")][:2] == [
        (DAY, {"responded": False}),
        (DAY + 1, {"responded": True, "response_time_ms": (DAY + 1) * 60_000, "response_length": 5}),
    ]


def test_one_answer_linked_twice_is_one() -> None:
    found = events(message(1, 0, "ann"), message(2, 1, "bob", 1, 1))
    assert reports(found, "m1")[-1][2] == {"reaction_count": 1}


def test_ties_keep_the_order_of_the_file() -> None:
    found = events(message(2, 0, "ann"), message(1, 0, "bob"), message(3, 0, "cy"))
    assert [one.event_id for one in found[:3]] == ["m2:action:1", "m1:action:1", "m3:action:1"]


def test_an_unsorted_file_is_sorted() -> None:
    found = events(message(2, 5, "bob", 1), message(1, 0, "ann"))
    assert [minute(one) for one in found] == sorted(minute(one) for one in found)
    assert reports(found, "m1")[0][1] == "bob"


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.lists(st.integers(0, 14), max_size=3)), max_size=15
    )
)
def test_every_rule_holds_for_any_log(rows: list[tuple[int, str, list[int]]]) -> None:
    messages = [message(number, at, author, *links) for number, (at, author, links) in enumerate(rows)]
    found = events(*messages)
    assert found == events(*messages)
    assert len({(one.agent_id, one.event_id) for one in found}) == len(found)
    assert [one.occurred_at for one in found] == sorted(one.occurred_at for one in found)
    order = sorted(messages, key=lambda one: one.sent_at)
    place = {one.id: index for index, one in enumerate(order)}
    for each in order:
        # The slow way: everybody else who answers this message from a later place.
        later = order[place[each.id] + 1 :]
        answers = [one for one in later if each.id in one.reply_to and one.author != each.author]
        turn = [one for one in found if one.turn_id == each.id]
        kinds = Counter(one.event_id.split(":")[1] for one in turn)
        assert kinds == Counter(["action", "settled", *(["answer", "continued"] if answers else [])])
        settled = next(known(one) for one in turn if ":settled:" in one.event_id)
        assert settled == ({"reaction_count": len(answers)} if answers else {"responded": False})
        if answers:
            first = answers[0]
            answer = next(one for one in turn if ":answer:" in one.event_id)
            assert (answer.occurred_at, answer.other_agent_id) == (first.sent_at, first.author)
            end = first.sent_at + timedelta(minutes=10)
            theirs = {one.id for one in order if one.author == first.author}
            following = [
                one
                for one in order[place[first.id] + 1 :]
                if one.author == each.author
                and one.sent_at <= end
                and any(link in theirs and place[link] < place[one.id] for link in one.reply_to)
            ]
            report = next(one for one in turn if ":continued:" in one.event_id)
            assert report.continued == bool(following)
            assert report.occurred_at == (following[0].sent_at if following else end)


def test_a_text_is_never_blank_and_is_cut_with_a_note() -> None:
    assert as_description(" \t", 100) == NO_TEXT
    assert as_description("as it is", 100) == "as it is"
    cut = as_description("ä" * 100, 100)
    assert cut.endswith(" [cut, 200 bytes]")
    assert len(cut.encode()) <= 100


def line(**more: Any) -> str:
    whole = {"id": "a", "channel": "c", "sent_at": "2026-01-01T00:00:00Z", "author": "x", "reply_to": [], "text": "y"}
    return json.dumps({**whole, **more}) + "\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_plain_or_packed(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "log"
    data = (line(id="a") + "\n" + line(id="b")).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert [(number, one.id) for number, one in read_messages(path)] == [(1, "a"), (3, "b")]
    assert [one.id for _, one in read_messages(path, 1)] == ["a"]


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (line().encode() + b"{", 2, "JSON"),
        (b"name,text\n1,2\n", 1, "JSON"),
        (line(sent_at="yesterday").encode(), 1, "sent_at"),
        (line(sent_at="2026-01-01T00:00:00").encode(), 1, "sent_at"),
        (line(author="").encode(), 1, "author"),
        (line(reply_to="a").encode(), 1, "reply_to"),
        (line(text=None).encode(), 1, "text"),
        ((line() + line()).encode(), 2, "that of line 1"),
        (b"\xff\xfe\n", 1, "not a chat message"),
        (b"", 1, "no messages"),
        (gzip.compress(line().encode())[:-12], 1, "cannot be read"),
    ],
)
def test_a_file_that_is_no_chat_log_names_line_and_reason(
    tmp_path: Path, data: bytes, number: int, reason: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=reason) as raised:
        read_messages(path)
    assert raised.value.fields["line"] == number


def test_a_message_that_cannot_become_an_event_names_its_line() -> None:
    long = Message(id="x" * 250, sent_at=BEGIN, author="ann", text="t", reply_to=[])
    talk = Talk.of([(7, long)])
    with pytest.raises(BadFile, match="event_id") as raised:
        list(to_events(talk, plan(talk), "t"))
    assert raised.value.fields["line"] == 7

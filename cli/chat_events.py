"""From a chat log to events: what each author did, and how each message landed. Pure.

Each message is an action of its author, and its engagement becomes known later:

- at the first answer by somebody else: that it was answered, how fast, how long the answer is, and by whom;
- at the author's next message to that person within 10 minutes: the talk went on; 10 minutes after the answer
  without one: it did not;
- 24 hours after the message: how many answers it has by then, or that it has none (other agent: `#channel`).

Answers to oneself and links to messages that are not earlier in the log count for nothing. Ids are
`<message>:<kind>:1`, so a second replay repeats them. Order: time, then the place in the log of the message that made
the event known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from moodstream.affect.annotate import Annotator
from moodstream.cli.chatlog import Message
from moodstream.schemas.errors import BadFile, InvalidEvent
from moodstream.schemas.events import Action, Engagement, make
from moodstream.schemas.limits import DEFAULT_LIMITS, Limits

CHANNEL = "#channel"
"""Stands for everybody who could have answered."""
NO_TEXT = "(no text)"
GOES_ON = timedelta(minutes=10)
SETTLED = timedelta(hours=24)
SAME_MINUTE_MS = 30_000
"""Response time within one minute: the log knows minutes only, and this is their middle."""

_TICK = timedelta(milliseconds=1)


class Planned(NamedTuple):
    """One event to be made; sorts by time, cause and kind."""

    at: datetime
    cause: int
    rank: int
    message: int
    kind: str
    known: dict[str, Any]


@dataclass(slots=True)
class Talk:
    """The messages in order of time, with who answered whom. Places are indexes into `messages`."""

    messages: list[Message]
    lines: list[int]
    answers: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    towards: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, numbered: Iterable[tuple[int, Message]]) -> Talk:
        """Sort the messages by time, ties by line, and follow the links."""
        ordered = sorted(numbered, key=lambda one: one[1].sent_at)
        talk = cls([message for _, message in ordered], [line for line, _ in ordered])
        places: dict[str, int] = {}
        for place, message in enumerate(talk.messages):
            talk._follow(place, message, places)
            places[message.id] = place
        return talk

    def _follow(self, place: int, message: Message, places: dict[str, int]) -> None:
        answered = {places[link] for link in message.reply_to if link in places}
        others = {one for one in answered if self.messages[one].author != message.author}
        for one in others:
            self.answers[one].append(place)
        for name in {self.messages[one].author for one in others}:
            self.towards[message.author, name].append(place)

    def next_towards(self, author: str, other: str, after: int) -> int | None:
        """Find the author's first message to the other one behind a place."""
        sent = self.towards.get((author, other), [])
        index = bisect_right(sent, after)
        return sent[index] if index < len(sent) else None


def plan(talk: Talk) -> list[Planned]:
    """Give every event of the log, sorted."""
    planned: list[Planned] = []
    for place, message in enumerate(talk.messages):
        planned.append(Planned(message.sent_at, place, 0, place, "action", {}))
        answers = talk.answers.get(place, [])
        if answers:
            planned.append(_answered(talk, place, answers[0]))
            planned.append(_continued(talk, place, answers[0]))
        planned.append(_settled(talk, place, answers))
    planned.sort(key=lambda one: one[:4])
    return planned


def _answered(talk: Talk, place: int, first: int) -> Planned:
    answer = talk.messages[first]
    waited = (answer.sent_at - talk.messages[place].sent_at) // _TICK
    known = {
        "other_agent_id": answer.author,
        "description": f"{answer.author} answered {_delay(waited)}.",
        "responded": True,
        "response_time_ms": waited or SAME_MINUTE_MS,
        "response_length": len(answer.text),
    }
    return Planned(answer.sent_at, first, 1, place, "answer", known)


def _delay(waited_ms: int) -> str:
    minutes = waited_ms // 60_000
    return f"after {minutes} min" if minutes else "within the same minute"


def _continued(talk: Talk, place: int, first: int) -> Planned:
    author, answer = talk.messages[place].author, talk.messages[first]
    following = talk.next_towards(author, answer.author, first)
    end = answer.sent_at + GOES_ON
    if following is not None and talk.messages[following].sent_at <= end:
        known = {"description": f"The talk with {answer.author} went on.", "continued": True}
        at, cause = talk.messages[following].sent_at, following
    else:
        known = {"description": f"The talk with {answer.author} did not go on.", "continued": False}
        at, cause = end, first
    return Planned(at, cause, 2, place, "continued", {"other_agent_id": answer.author, **known})


def _settled(talk: Talk, place: int, answers: Sequence[int]) -> Planned:
    end = talk.messages[place].sent_at + SETTLED
    count = sum(talk.messages[one].sent_at <= end for one in answers)
    known: dict[str, Any] = {"other_agent_id": CHANNEL}
    if count:
        known |= {"description": f"{count} answer{'s'[: count > 1]} within a day.", "reaction_count": count}
    else:
        known |= {"description": "No answer within a day.", "responded": False}
    return Planned(end, place, 3, place, "settled", known)


def to_events(
    talk: Talk,
    planned: Iterable[Planned],
    tenant: str,
    limits: Limits = DEFAULT_LIMITS,
    annotate: Annotator | None = None,
) -> Iterator[Action | Engagement]:
    """Make the events of a plan, one by one. An annotator sees what people wrote, not what is reported about it.

    Raises `BadFile` with the line of a message that cannot become an event.
    """
    for one in planned:
        message = talk.messages[one.message]
        try:
            yield _event(message, one, tenant, limits, annotate)
        except InvalidEvent as error:
            raise BadFile(talk.lines[one.message], error.detail) from error


def _event(
    message: Message, one: Planned, tenant: str, limits: Limits, annotate: Annotator | None
) -> Action | Engagement:
    common = {
        "tenant_id": tenant,
        "agent_id": message.author,
        "event_id": f"{message.id}:{one.kind}:1",
        "occurred_at": one.at,
        "turn_id": message.id,
    }
    if one.kind == "action":
        text = as_description(message.text, limits.description_bytes)
        return make(Action, limits, **common, description=text, pad=annotate and annotate(message.text))
    return make(Engagement, limits, **common, **one.known)


def as_description(text: str, most: int) -> str:
    """Make a description of a message's text: never blank, and cut with a note where it is over `most` bytes."""
    if not text.strip():
        return NO_TEXT
    data = text.encode()
    if len(data) <= most:
        return text
    note = f" [cut, {len(data)} bytes]"
    return data[: max(most - len(note), 0)].decode(errors="ignore") + note

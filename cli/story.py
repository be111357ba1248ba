"""The story of `moodstream up --demo`: a support agent and a build agent on the day a release went wrong.

Five hours told as events. Minutes count from the begin of the story.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

TENANT = "demo"
SUPPORT = "support"
BUILD = "build"
MINUTES = 300

Method = Literal["observation", "action", "outcome", "relationship", "reflection", "engagement", "signal", "profile"]


class Beat(NamedTuple):
    """One event: when, whose, which method of the publisher, and its values."""

    minute: float
    agent: str
    method: Method
    given: dict[str, Any]

    @property
    def text(self) -> str:
        """What happened, in words."""
        return str(self.given.get("description") or self.given.get("cause") or "sets its profile")


def _support() -> Iterator[Beat]:
    yield _beat(0, SUPPORT, "profile", baseline=[0.25, 0.05, 0.1], tau_hours=3.0)
    yield _noticed(2, SUPPORT, "release 4.2", "Release 4.2 went out during the night.")
    yield _did(6, SUPPORT, "Opens the morning queue: nine tickets, all about the login page.", "triage")
    yield _ended(9, SUPPORT, "failed", "The saved answer does not help: the login page stays blank.", 0.6)
    yield from _letters()
    yield _did(64, SUPPORT, "Asks the build agent for a rollback.", "escalate")
    yield _met(70, SUPPORT, BUILD, "negative", "The build agent has no time and says so.")
    yield _ended(112, SUPPORT, "timeout", "The status page is still red at the promised hour.", 0.7)
    yield _met(165, SUPPORT, BUILD, "positive", "The build agent explains the cause in two plain sentences.")
    yield _did(172, SUPPORT, "Writes to everybody who waits: the fix is on its way.", "announce")
    yield _ended(231, SUPPORT, "resolved", "All nine tickets are closed.", 0.9)
    yield _reflected(250, "People forgive a fault sooner than silence.", ["64", "172", "231"])
    yield _ended(284, SUPPORT, "success", "A customer sends thanks to the whole team.", 0.5)


# Minute, customer, seconds until the answer, length of the answer, shift of sentiment, whether the talk went on.
_LETTERS = (
    (14, "ana", 2400, 210, -0.6, False, "Ana cannot log in and has a deadline at noon."),
    (26, "ben", 1500, 160, -0.5, True, "Ben asks what exactly was tested."),
    (39, "cleo", 1900, 330, -0.7, False, "Cleo wants to speak to a person."),
    (52, "ana", 1200, 120, -0.4, True, "Ana asks again, shorter."),
    (78, "dev", 1600, 280, -0.5, False, "Dev quotes the promise of the pricing page."),
    (93, "ben", 900, 90, -0.2, True, "Ben sends the log of his browser."),
    (108, "eli", 700, 240, -0.3, True, "Eli would be content with a time."),
    (126, "cleo", 800, 140, -0.1, True, "Cleo says the log helped her too."),
    (150, "ana", 400, 200, 0.1, True, "Ana found a way around and shares it."),
    (178, "dev", 300, 110, 0.0, True, "Dev thanks for the plain words."),
    (196, "eli", 240, 300, 0.3, True, "Eli can log in."),
    (209, "ben", 150, 170, 0.2, True, "Ben can log in."),
    (224, "cleo", 90, 130, 0.5, True, "Cleo can log in and laughs about it."),
    (241, "ana", 60, 250, 0.6, True, "Ana made her deadline."),
)


def _letters() -> Iterator[Beat]:
    for number, (minute, other, seconds, length, mood, went_on, text) in enumerate(_LETTERS, 1):
        yield _beat(
            minute,
            SUPPORT,
            "engagement",
            other_agent_id=other,
            turn_id=f"letter-{number}",
            description=text,
            responded=True,
            response_time_ms=seconds * 1000,
            response_length=length,
            sentiment_shift=mood,
            continued=went_on,
        )


# Minute, result, importance.
_BUILDS = (
    (4, "failed", 0.5, "Nightly build 881 fails: one test of the login page."),
    (20, "failed", 0.7, "Build 882 fails at the same test."),
    (35, "failed", 0.8, "Build 883 fails; nothing was changed but the order."),
    (48, "success", 0.4, "Build 884 passes by luck."),
    (60, "failed", 0.8, "Build 885 fails again."),
    (82, "failed", 0.9, "The rollback build fails as well."),
    (104, "success", 0.4, "Build 887 passes with the cache emptied."),
    (121, "error", 0.6, "Build 888 ends without a word."),
    (146, "success", 0.8, "Build 889 passes: a stale stylesheet was the cause."),
    (160, "success", 0.7, "Build 890 passes twice in a row."),
    (186, "success", 0.9, "Release 4.2.1 is built."),
    (194, "success", 0.9, "Release 4.2.1 is out."),
    (235, "success", 0.5, "The new test catches the old fault."),
    (272, "success", 0.4, "The evening build passes."),
)

# Minute, how many reacted to the report of a build.
_REPORTS = (
    (7, 6), (23, 5), (38, 6), (51, 4), (63, 5), (85, 4), (107, 3), (124, 3), (149, 2), (189, 2), (238, 1), (275, 0),
)  # fmt: skip


def _build() -> Iterator[Beat]:
    yield _beat(1, BUILD, "profile", baseline=[0.05, -0.1, 0.2], tau_hours=2.0)
    for minute, result, importance, text in _BUILDS:
        yield _ended(minute, BUILD, result, text, importance)
    for number, (minute, count) in enumerate(_REPORTS, 1):
        words = f"{count} people react to build report {number}."
        given = {"other_agent_id": "#builds", "turn_id": f"report-{number}", "reaction_count": count}
        yield _beat(minute, BUILD, "engagement", description=words, **given)
    yield _noticed(90, BUILD, "the cache", "Every failing build used the same cached stylesheet.")
    yield _did(98, BUILD, "Empties the cache on one machine to see.", "experiment")
    yield _beat(
        166,
        BUILD,
        "signal",
        pleasure=0.3,
        dominance=0.2,
        cause="The release manager praises the find.",
    )


def story() -> list[Beat]:
    """Give all beats in order of time."""
    return sorted((*_support(), *_build()), key=lambda beat: beat.minute)


def _beat(minute: float, agent: str, method: Method, **given: Any) -> Beat:  # noqa: ANN401 - values of any event
    return Beat(minute, agent, method, given)


def _noticed(minute: float, agent: str, subject: str, text: str) -> Beat:
    return _beat(minute, agent, "observation", subject=subject, description=text)


def _did(minute: float, agent: str, text: str, capability: str) -> Beat:
    return _beat(minute, agent, "action", description=text, capability=capability)


def _ended(minute: float, agent: str, result: str, text: str, importance: float) -> Beat:
    return _beat(minute, agent, "outcome", result=result, description=text, importance=importance)


def _met(minute: float, agent: str, other: str, quality: str, text: str) -> Beat:
    given = {"other_agent_id": other, "quality_signal": quality, "source_event_type": "conversation"}
    return _beat(minute, agent, "relationship", description=text, **given)


def _reflected(minute: float, insight: str, minutes: list[str]) -> Beat:
    """The sources are named by their minutes; `demo` turns them into ids."""
    return _beat(minute, SUPPORT, "reflection", insight=insight, description=insight, source_memory_ids=minutes)

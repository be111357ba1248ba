"""The reader keeps what it must judge later: answers, agents that vanished, and answers that nothing excuses."""

import random

import httpx

from drill.reader import Reader

AGENT = ("red", "ada")


def told(*statuses: int) -> Reader:
    reader = Reader("http://127.0.0.1:1", random.Random(1))
    for status in statuses:
        answer = httpx.Response(status, json={}, request=httpx.Request("GET", "http://127.0.0.1:1/x"))
        reader._keep(answer, *AGENT, "mood")
    return reader


def test_answers_are_kept() -> None:
    assert [(one.tenant, one.agent) for one in told(200, 503, 200).answers] == [AGENT, AGENT]


def test_an_agent_has_vanished_only_if_it_was_there() -> None:
    assert told(404, 503, 200).gone == set()
    assert told(404, 200, 503, 404).gone == {AGENT}


def test_only_unknown_and_not_now_are_excused() -> None:
    assert told(200, 404, 503).broken == []
    assert len(told(500, 422).broken) == 2

"""Rows that mean nothing, or too much: answers are JSON without NaN, of bounded size, with a defined label."""

import json
import math
from typing import Any

import httpx
import pytest

from moodstream.affect.signals import SIGNALS
from moodstream.affect.trends import TrendRow, observe
from moodstream.cli import tables
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import from_ms, iso
from moodstream.state.rows import TRENDS, pair_suffix
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_700_000_000_000
LAST = 253_402_300_799_999
LARGEST = 3.4028234663852886e38

SERIES: dict[str, list[tuple[int, float | None]]] = {
    "nothing": [],
    "only nulls": [(T0 + n, None) for n in range(64)],
    "one value": [(T0, 1.0)],
    "one time": [(T0, n % 2.0) for n in range(64)],
    "all the same": [(T0 + n * HOUR_MS, 1.0) for n in range(64)],
    "largest": [(T0 + n, LARGEST * (-1) ** n) for n in range(64)],
    "largest rise": [(T0 + n, LARGEST * n / 64) for n in range(64)],
    "least": [(T0 + n * HOUR_MS, 2.0**-149 * (n % 3)) for n in range(64)],
    "decades": [(n * LAST // 63, n % 2.0) for n in range(64)],
}
AS_OF = {"before all": 0, "amid": T0 + 20, "at the end of time": LAST}


def strict(text: str) -> dict[str, Any]:
    """Read JSON as its specification has it: without NaN and infinities."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} in {text}")

    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


def put(stored: Stored, name: str) -> None:
    row = TrendRow()
    for n, (t, value) in enumerate(SERIES[name]):
        observe(row, hash_id(f"turn {n}"), hash_id(f"event {n}"), t, [value] * 7)
    for suffix in (TRENDS, pair_suffix("bob")):
        stored.put("t", name, suffix, row.pack(), 9)
    stored.agent("t", name, 9, newest=T0)


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("as_of", AS_OF)
async def test_trends_of_any_row(stored: Stored, client: httpx.AsyncClient, name: str, as_of: str) -> None:
    put(stored, name)
    for more in ({}, {"with": "bob"}):
        answer = await client.get(f"t/agents/{name}/trends", params={"as_of": iso(from_ms(AS_OF[as_of])), **more})
        assert answer.status_code == 200, answer.text
        found = strict(answer.text)["signals"]
        assert len(found) == len(SIGNALS) - len(more)
        assert {each["direction"] for each in found.values()} <= {"insufficient", "stable", "improving", "declining"}
        if name in ("nothing", "only nulls", "one value", "one time"):
            assert {each["direction"] for each in found.values()} == {"insufficient"}


async def test_tables_of_any_row(stored: Stored, client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]) -> None:
    for name in SERIES:
        put(stored, name)
        tables.trends(strict((await client.get(f"t/agents/{name}/trends")).text))
        shown = capsys.readouterr().out
        assert "nan" not in shown
        assert "inf" not in shown.replace("insufficient", "")


async def test_moods_of_any_row(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.change(T0, tau_hours=1e-308, max_displacement=1e-308, baseline=(1.0, -1.0, 0.0))
    for n, ms in enumerate([LAST, 0, T0, LAST, T0, 1]):
        life.event(f"e{n}", ms, (2.0, -2.0, 1e-38), text="😀" * 2048)
    life.write()
    for ms in (0, 1, T0, LAST):
        text = (await client.get("t/agents/a/mood", params={"at": iso(from_ms(ms)), "explain": "true"})).text
        found = strict(text)
        assert all(-1 <= value <= 1 for value in found["mood"].values())
        assert math.isfinite(sum(found["displacement"].values()))
        assert len(text) < 20_000


async def test_an_explanation_of_a_crowded_hour_is_bounded(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    for n in range(700):
        life.event(f"e{n}", T0 + n * 1000, (0.5, -0.5, 0.5), text="😀" * 2048)
    life.write()
    text = (await client.get("t/agents/a/mood", params={"at": iso(from_ms(T0 + HOUR_MS)), "explain": "true"})).text
    assert len(strict(text)["explanation"]["parts"]) == 500
    assert len(text.encode()) < 1_000_000

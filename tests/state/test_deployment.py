"""What a deployment writes down of its folds: only ever forward, and what readers make of it."""

from __future__ import annotations

import pytest

from moodstream.affect.params import STANDARD, Fold
from moodstream.schemas.errors import FoldMismatch, Restoring
from moodstream.schemas.profile import ProfileValues
from moodstream.state.connection import connect
from moodstream.state.deployment import declare_fold
from moodstream.state.layout import format_key
from moodstream.state.reader import StateReader
from moodstream.state.rows import PROFILE
from moodstream.state.settings import StateSettings
from support.stored import PARAMS, Stored

SIX = ProfileValues(tau_hours=(6.0, 6.0, 6.0))
SECOND = Fold.of(1, SIX)


@pytest.fixture
def settings(stored: Stored) -> StateSettings:
    return StateSettings(url=stored.url, prefix=stored.prefix)


async def declare(settings: StateSettings, fold: Fold, *, starting: bool = True) -> None:
    redis = connect(settings)
    try:
        await declare_fold(redis, settings, fold, starting=starting)
    finally:
        await redis.aclose()


async def test_a_fold_goes_forward_and_readers_know_all_of_them(settings: StateSettings, reader: StateReader) -> None:
    for fold in (STANDARD, STANDARD, SECOND, SECOND):
        await declare(settings, fold)
    found = await reader.folds()
    assert found.newest == SECOND.stamp
    assert found.profiles[SECOND.stamp] == SIX
    assert found.profiles[STANDARD.stamp] == STANDARD.default_profile


async def test_an_older_worker_does_not_start_but_goes_on(settings: StateSettings, reader: StateReader) -> None:
    await declare(settings, SECOND)
    with pytest.raises(FoldMismatch, match=r"gone on to fold 1, revision 1.*has fold 1, revision 0"):
        await declare(settings, STANDARD)
    await declare(settings, STANDARD, starting=False)
    assert (await reader.folds()).newest == SECOND.stamp


@pytest.mark.parametrize("starting", [True, False])
async def test_other_parameters_need_another_revision(settings: StateSettings, starting: bool) -> None:
    await declare(settings, STANDARD)
    with pytest.raises(FoldMismatch) as raised:
        await declare(settings, Fold.of(0, SIX), starting=starting)
    assert "raise fold.revision" in raised.value.hint


async def test_a_view_has_the_default_profile_of_its_rows(
    settings: StateSettings, stored: Stored, reader: StateReader
) -> None:
    stored.agent("t", "a", 5)
    assert (await reader.agent("t", "a", (PROFILE,))).profile.values == ProfileValues()
    stored.stamp = SECOND.stamp
    stored.agent("t", "b", 5)
    with pytest.raises(Restoring, match=SECOND.stamp.hex()):
        await reader.agent("t", "b")
    await declare(settings, SECOND)
    assert (await reader.agent("t", "b", (PROFILE,))).profile.values == SIX
    assert (await reader.default_profile(PARAMS)) == ProfileValues()


async def test_a_profile_of_a_newer_release_is_no_matter_to_readers_of_other_rows(
    settings: StateSettings, stored: Stored, reader: StateReader
) -> None:
    await declare(settings, STANDARD)
    newer = {"profile:" + "02" * 8: b'{"of": "another release"}', "fold": "2 0 " + "02" * 8}
    stored.redis.hset(format_key(stored.prefix), mapping=newer)
    assert await reader.default_profile(STANDARD.stamp) == STANDARD.default_profile
    assert (await reader.folds()).newest == b"\x02" * 8
    with pytest.raises(FoldMismatch, match="gone on to fold 2"):
        await declare(settings, STANDARD)

"""Private names of Faust: all there with the pinned release, and a missing one is an error at start."""

from __future__ import annotations

import pytest

from moodstream.schemas.errors import InvalidSettings
from moodstream.streams import faust_names
from moodstream.streams.faust_names import check_names


def test_the_installed_faust_has_all_names() -> None:
    check_names()


@pytest.mark.parametrize("place", sorted(faust_names._NAMES))
def test_a_name_that_is_gone_is_named(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(faust_names._NAMES, place, (*faust_names._NAMES[place], "_never_was"))
    with pytest.raises(InvalidSettings, match="has no _never_was"):
        check_names()


@pytest.mark.parametrize("package", sorted(faust_names.PINNED))
def test_another_release_is_refused(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(faust_names.PINNED, package, "99.0")
    with pytest.raises(InvalidSettings, match=r"only 99\.0 is known to work"):
        check_names()

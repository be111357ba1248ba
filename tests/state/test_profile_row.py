import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moodstream.affect.mood import Revision
from moodstream.schemas.profile import DEFAULT_PROFILE, ProfileValues
from moodstream.state.profile_row import REVISIONS_KEPT, Profile

axis = st.floats(-1, 1)
three = st.tuples(axis, axis, axis)
hours = st.tuples(*[st.floats(1e-6, 87_600)] * 3)
bounds = st.tuples(*[st.floats(1e-3, 2)] * 3)
profiles = st.builds(ProfileValues, baseline=three, tau_hours=hours, max_displacement=bounds, influence=st.floats(0, 1))


def _changed(changes: list[tuple[ProfileValues, int, Any]]) -> Profile:
    profile = Profile(DEFAULT_PROFILE)
    for n, (values, t, x) in enumerate(changes):
        profile.change(b"%012d" % n, values, Revision(t, x, Profile(values).dynamics))
    return profile


changes = st.lists(st.tuples(profiles, st.integers(0, 2**45), three), min_size=1, max_size=20)


@given(changes)
def test_a_row_is_read_back_to_the_bit(found: list[tuple[ProfileValues, int, Any]]) -> None:
    profile = _changed(found)
    again = Profile.unpack(profile.pack(), DEFAULT_PROFILE)
    assert again.pack() == profile.pack()
    assert (again.values, again.dynamics) == (profile.values, profile.dynamics)
    assert again.revisions == profile.revisions


@given(changes)
def test_the_newest_sixteen_revisions_are_kept(found: list[tuple[ProfileValues, int, Any]]) -> None:
    profile = _changed(found)
    kept = range(max(len(found) - REVISIONS_KEPT, 0), len(found))
    assert [ident for ident, _ in profile.revisions] == [b"%012d" % n for n in kept]
    for n in range(len(found)):
        assert profile.knows(b"%012d" % n) == (n in kept)


def test_the_bytes_are_those_of_the_page() -> None:
    values = ProfileValues(baseline=(0.25, 0.0, -0.5), tau_hours=(1.5, 4.0, 4.0), max_displacement=(1.0, 2.0, 0.5))
    profile = _changed([(values, 1234, (0.125, 0.0, -0.125))])
    text = values.canonical()
    numbers = struct.pack(">12d", 0.125, 0.0, -0.125, 0.25, 0.0, -0.5, 1.5, 4.0, 4.0, 1.0, 2.0, 0.5)
    revision = b"%012d" % 0 + struct.pack(">q", 1234) + numbers
    assert profile.pack() == struct.pack(">I", len(text)) + text + b"\x01" + revision


def test_without_a_row_it_is_the_default() -> None:
    profile = Profile.unpack(None, DEFAULT_PROFILE)
    assert (profile.values, profile.revisions) == (DEFAULT_PROFILE, [])

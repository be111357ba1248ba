"""The stamp of the parameters guards every row: it must change with each of them, and only then."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import blake2b

import pytest

from moodstream.affect.params import PARAMS, STANDARD, Fold, FoldParams, revision_of, stamp_of
from moodstream.schemas.profile import DEFAULT_PROFILE, ProfileValues


def test_the_stamp_is_the_revision_and_a_hash_over_sorted_json() -> None:
    params = replace(PARAMS, revision=513)
    text = json.dumps(dict(sorted(asdict(params).items()))).replace('": ', '":').replace(', "', ',"')
    assert stamp_of(params) == b"\x02\x01" + blake2b(text.encode(), digest_size=6).digest()
    assert len(STANDARD.stamp) == 8


@pytest.mark.parametrize("name", list(asdict(PARAMS)))
def test_every_parameter_counts(name: str) -> None:
    value = getattr(PARAMS, name)
    assert stamp_of(replace(PARAMS, **{name: value + value or 1}))[2:] != STANDARD.stamp[2:]


def test_equal_parameters_have_one_stamp() -> None:
    assert stamp_of(FoldParams()) == STANDARD.stamp == Fold.of().stamp
    assert Fold.of(0, ProfileValues(tau_hours=(4.0, 4.0, 4.0))) == STANDARD


def test_a_fold_holds_what_an_operator_set() -> None:
    slow = DEFAULT_PROFILE.model_copy(update={"tau_hours": (6.0, 6.0, 6.0)})
    fold = Fold.of(7, slow)
    assert (fold.default_profile, fold.order, revision_of(fold.stamp)) == (slow, (1, 7), 7)
    assert fold.params.default_profile == slow.canonical().decode()
    assert fold.order > STANDARD.order

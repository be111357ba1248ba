"""The hash of the parameters guards every row: it must change with each of them, and only then."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import blake2b

import pytest

from moodstream.affect.params import PARAMS, PARAMS_HASH, FoldParams, params_hash


def test_the_hash_is_over_sorted_json() -> None:
    fields = dict(sorted(asdict(PARAMS).items()))
    text = json.dumps(fields).replace('": ', '":').replace(', "', ',"')
    assert blake2b(text.encode(), digest_size=8).digest() == PARAMS_HASH
    assert len(PARAMS_HASH) == 8


@pytest.mark.parametrize("name", list(asdict(PARAMS)))
def test_every_parameter_counts(name: str) -> None:
    value = getattr(PARAMS, name)
    assert params_hash(replace(PARAMS, **{name: value + value})) != PARAMS_HASH


def test_equal_parameters_have_one_hash() -> None:
    assert params_hash(FoldParams()) == PARAMS_HASH

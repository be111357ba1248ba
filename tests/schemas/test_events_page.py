"""docs/events.md is what publishers in other languages go by: its examples and tables are checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from moodstream.schemas import (
    ATTRIBUTE_KEYS,
    INPUT_TYPES,
    OCC_EMOTIONS,
    Limits,
    decode,
    encode,
    errors,
    parse,
    partition_of,
)
from moodstream.schemas import faults as rules
from moodstream.schemas.errors import MoodstreamError

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


def section(title):
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_an_event(example):
    event = parse(example)
    assert decode(*encode(event)).event == event


def test_every_kind_has_its_example_and_its_heading():
    assert [json.loads(example)["type"] for example in EXAMPLES] == list(INPUT_TYPES)
    assert re.findall(r"^### (\S+)$", PAGE, re.MULTILINE) == list(INPUT_TYPES)


def test_every_own_field_is_described():
    common = section("Common fields")
    for name, kind in INPUT_TYPES.items():
        text = PAGE.split(f"### {name}\n", 1)[1].split("\n##", 1)[0]
        for field in kind.model_fields:
            assert f"`{field}`" in text + common, (name, field)


def test_the_structured_example_is_read():
    raw = re.search(r'^    (\{"specversion".*?\}\})$', PAGE, re.DOTALL | re.MULTILINE)[1]
    decoded = decode(b"acme/support-7", raw.encode(), [("content-type", b"application/cloudevents+json")])
    assert decoded.event.event_id == "out-1"


def test_appraisals_and_emotions():
    assert section("Common fields").split("Emotions: ")[1].replace("\n", " ").rstrip(". ").split(", ") == list(
        OCC_EMOTIONS
    )
    for raw in re.findall(r"^    (\{.*\})$", section("Common fields"), re.MULTILINE):
        parse({**json.loads(EXAMPLES[2]), "appraisal": json.loads(raw)})


def test_the_keys_and_partitions_that_it_names():
    found = re.search(r"with 4 partitions, the key `(.*?)` belongs to partition (\d), `(.*?)` to partition (\d)", PAGE)
    for key, partition in ((found[1], found[2]), (found[3], found[4])):
        assert partition_of(key.encode(), 4) == int(partition)


def test_the_limits():
    table = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", section("Limits"), re.MULTILINE))
    table |= dict(zip(("batch_events", "batch_bytes"), ("500", "1048576"), strict=True))
    assert table == {name: str(value) for name, value in Limits().model_dump().items()}
    assert "| `batch_events`, `batch_bytes` | 500, 1048576 |" in PAGE


def test_the_reserved_keys():
    text = re.search(r"starts with\s+`ms-`, and (.*?)\.\n", section("Limits"), re.DOTALL)[1]
    assert text.replace("\n", " ").split(", ") == sorted(ATTRIBUTE_KEYS)


def test_the_codes_and_rules():
    text = section("What is rejected, and how")
    codes = {
        kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MoodstreamError)
    }
    assert set(re.findall(r"`(\w+)`", text.split("| rule |")[0].split("| code |")[1])) <= codes | set(
        Limits.model_fields
    ) | {"occurred_at"}
    told = set(re.findall(r"`(\w+)`", text.split("| rule |")[1]))
    assert set(rules._BY_TYPE.values()) | {rule for rule, _ in rules._BY_PATTERN.values()} <= told

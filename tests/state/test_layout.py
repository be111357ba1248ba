import pytest
from pydantic import ValidationError

from moodstream.schemas.identity import agent_key
from moodstream.state import rows
from moodstream.state.layout import Layout, format_key
from moodstream.state.settings import StateSettings

KEY = agent_key("a b", "c{d}/e")
LAYOUT = Layout("moodstream.", 3)
ID = b"0123456789ab"


def test_names_are_those_of_the_page() -> None:
    assert KEY == b"a%20b/c%7Bd%7D%2Fe"
    assert format_key("moodstream.") == b"moodstream.state:format"
    assert LAYOUT.meta == b"{moodstream.state:3}:meta"
    assert LAYOUT.agent(KEY) == b"{moodstream.state:3}:agent:" + KEY
    assert LAYOUT.memory(KEY, 2900) == b"{moodstream.state:3}:memory:" + KEY + b":2900"
    assert LAYOUT.ids(KEY) == b"{moodstream.state:3}:ids:" + KEY
    assert LAYOUT.buckets(KEY) == b"{moodstream.state:3}:buckets:" + KEY
    assert LAYOUT.tenants == b"{moodstream.state:3}:tenants"
    assert LAYOUT.agents("a%20b") == LAYOUT.agents(b"a%20b") == b"{moodstream.state:3}:agents:a%20b"


@pytest.mark.parametrize(
    ("suffix", "place"),
    [
        (rows.MOOD, (LAYOUT.agent(KEY), b"mood")),
        (rows.pair_suffix("x/y"), (LAYOUT.agent(KEY), b"pair/x/y")),
        (rows.memory_suffix(9, ID), (LAYOUT.memory(KEY, 9), ID)),
        (rows.shift_suffix(9, ID), (LAYOUT.memory(KEY, 9), b"s" + ID)),
    ],
)
def test_each_row_has_its_place(suffix: bytes, place: tuple[bytes, bytes]) -> None:
    assert LAYOUT.place(rows.row_key(KEY, suffix)) == place


def test_address_hides_user_and_password() -> None:
    settings = StateSettings(url="redis://anna:secret@cache.example:6380/2?health_check_interval=5")
    assert settings.address == "redis://cache.example:6380/2"


def test_other_schemes_are_refused_without_repeating_the_password() -> None:
    with pytest.raises(ValidationError) as caught:
        StateSettings(url="http://anna:secret@cache.example")
    assert "secret" not in str(caught.value.errors(include_input=False, include_url=False))

"""All settings in one model, put together from those of the rooms.

Later sources win: defaults, the TOML file (`./moodstream.toml`, or the one that `MOODSTREAM_CONFIG` names), variables
of the environment (`MOODSTREAM_STREAMS__PARTITIONS=8`), flags. The defaults are the addresses of a running
`moodstream up`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from moodstream.affect.settings import FoldSettings
from moodstream.agents.settings import WorkerSettings
from moodstream.cli.keeping import SweepSettings
from moodstream.query.settings import QuerySettings
from moodstream.schemas.errors import InvalidSettings
from moodstream.state.settings import StateSettings
from moodstream.streams.settings import StreamSettings

PREFIX = "MOODSTREAM_"
CONFIG_VARIABLE = "MOODSTREAM_CONFIG"
DEFAULT_FILE = "moodstream.toml"

LOOPBACK = "127.0.0.1"
BROKER_PORT = 9092
REDIS_PORT = 6379
HTTP_PORT = 8085


class UpSettings(BaseModel):
    """Ports of `moodstream up`, all on loopback."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    broker_port: int = Field(BROKER_PORT, ge=1, le=65_535)
    redis_port: int = Field(REDIS_PORT, ge=1, le=65_535)
    http_port: int = Field(HTTP_PORT, ge=1, le=65_535)


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True, frozen=True, extra="forbid"
    )

    streams: StreamSettings = Field(default_factory=StreamSettings)
    state: StateSettings = Field(default_factory=StateSettings)
    worker: WorkerSettings = Field(default_factory=WorkerSettings)
    fold: FoldSettings = Field(default_factory=FoldSettings)
    query: QuerySettings = Field(default_factory=QuerySettings)
    sweep: SweepSettings = Field(default_factory=SweepSettings)
    up: UpSettings = Field(default_factory=UpSettings)
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level that is logged")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: flags, environment, file."""
        del dotenv_settings, file_secret_settings
        path = config_file()
        files = (TomlConfigSettingsSource(settings_cls, path),) if path else ()
        return (init_settings, env_settings, *files)


def config_file() -> Path | None:
    """Give the TOML file to read, if there is one.

    Raises `InvalidSettings` when `MOODSTREAM_CONFIG` names a file that does not exist.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    path = Path(named or DEFAULT_FILE)
    if path.is_file():
        return path
    if named:
        raise InvalidSettings(f"there is no file {named}", hint=f"Correct --config or {CONFIG_VARIABLE}.", file=named)
    return None


def load(**flags: object) -> Settings:
    """Read the settings; `flags` are fields by name, nested ones as mappings, and None means "not given".

    Raises `InvalidSettings` naming the field, its variable and the rule.
    """
    try:
        return Settings(**_given(flags))  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        raise _invalid(error) from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"{config_file()} is not TOML: {error}", file=str(config_file())) from error
    except SettingsError as error:
        raise InvalidSettings(str(error)) from error


def _given(flags: Mapping[str, object]) -> dict[str, object]:
    given: dict[str, object] = {}
    for name, value in flags.items():
        kept = _given(value) if isinstance(value, Mapping) else value
        if kept is not None and kept != {}:
            given[name] = kept
    return given


def _invalid(error: ValidationError) -> InvalidSettings:
    """Name the first bad field; its value is left out, for it may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    field, variable = ".".join(path), PREFIX + "__".join(path).upper()
    message = first["msg"].removeprefix("Value error, ")
    return InvalidSettings(f"{field}: {message}", hint=f"Correct {variable}, the flag or the file.", field=field)

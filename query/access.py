"""What a path needs of the app it runs in."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from moodstream.query.settings import QuerySettings
from moodstream.state.reader import StateReader


def _reader(request: Request) -> StateReader:
    return cast("StateReader", request.app.state.reader)


def _settings(request: Request) -> QuerySettings:
    return cast("QuerySettings", request.app.state.settings)


Reader = Annotated[StateReader, Depends(_reader)]
Settings = Annotated[QuerySettings, Depends(_settings)]

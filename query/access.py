"""What a path needs of the app it runs in."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from moodstream.state.reader import StateReader


def _reader(request: Request) -> StateReader:
    return cast("StateReader", request.app.state.reader)


Reader = Annotated[StateReader, Depends(_reader)]

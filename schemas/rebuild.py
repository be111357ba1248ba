"""The event by which an operator has an agent's rows made anew."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from moodstream.schemas.base import Identified

_Offset = Annotated[int, Field(ge=0, le=2**62)]


class Rebuild(Identified):
    """Has all rows of the agent made from the log again, as of its place there; a row that is right stays as it is.

    It is no memory, moves nothing, and may be sent any number of times. An agent whose first events the log no longer
    has is left alone, unless `partial`: then its rows are made from what is left. `from_offset` spares the reading of
    what lies before it: nothing of the agent does.
    """

    type_name: ClassVar[str] = "rebuild"
    type: Literal["rebuild"] = "rebuild"

    partial: bool = False
    from_offset: _Offset | None = None

"""Settings of the worker itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class WorkerSettings(BaseModel):
    """What a worker may use. What it accepts is said by the limits of the streams."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("", max_length=200, description="name in logs and readiness; default: host and process id")
    cache_bytes: int = Field(96 << 20, ge=1 << 20, description="memory for decoded rows, over all partitions")
    migrate: tuple[Literal["restamp"], ...] = Field(
        (), description="what may be done with rows of an older fold that the log no longer covers"
    )
    stop_seconds: float = Field(8.0, gt=0, le=120, description="how long a graceful stop may take before it is cut off")

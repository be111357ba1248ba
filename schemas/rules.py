"""The default rules of appraisal: data in a profile, applied by `moodstream.affect`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from moodstream.schemas.base import Model
from moodstream.schemas.fields import Count, Delta3, Text

MAX_WORDS = 256


class AppraisalRules(Model):
    """How an event moves the mood when it brings no appraisal of its own.

    Deltas are (pleasure, arousal, dominance). `success` and `failure` list results, compared after
    `strip().casefold()`; `on_success` and `on_failure` are multiplied by the importance (1.0 when missing), `sentiment`
    by the sentiment shift. An answer counts as fast up to `fast_ms`, as slow from `slow_ms` on (milliseconds).
    """

    version: Literal[1] = 1
    success: list[Text] = Field(
        default=["success", "succeeded", "ok", "done", "completed", "passed", "resolved"], max_length=MAX_WORDS
    )
    failure: list[Text] = Field(
        default=["failure", "failed", "error", "timeout", "rejected", "aborted"], max_length=MAX_WORDS
    )
    on_success: Delta3 = (0.25, 0.10, 0.20)
    on_failure: Delta3 = (-0.25, 0.15, -0.20)
    responded_yes: Delta3 = (0.05, 0.02, 0.02)
    responded_no: Delta3 = (-0.05, -0.03, -0.03)
    continued_yes: Delta3 = (0.06, 0.02, 0.03)
    continued_no: Delta3 = (-0.03, -0.02, -0.02)
    sentiment: Delta3 = (0.20, 0.05, 0.05)
    fast_ms: Count = 30_000
    slow_ms: Count = 3_600_000
    fast: Delta3 = (0.02, 0.02, 0.0)
    slow: Delta3 = (-0.02, -0.01, 0.0)

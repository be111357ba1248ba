"""The default rules of appraisal: data in a profile, applied by `moodstream.affect`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from moodstream.schemas import faults
from moodstream.schemas.base import Model
from moodstream.schemas.fields import Count, Delta3, Text, Unit
from moodstream.schemas.wire_names import Emotion24

MAX_WORDS = 256


class Emotion(Model):
    """An appraisal as one of the 24 OCC emotions with an intensity in [0, 1] (Gebhard 2005)."""

    emotion: Emotion24
    intensity: Unit


def _kind(value: Any) -> str:  # noqa: ANN401
    return "<emotion>" if isinstance(value, dict | Emotion) else "<deltas>"


Shift = Annotated[
    Annotated[Delta3, Tag("<deltas>")] | Annotated[Emotion, Tag("<emotion>")],
    Discriminator(_kind),
]
"""What a rule does to the mood: three deltas, or an emotion with its intensity."""


class AppraisalRules(Model):
    """How an event moves the mood when it brings no appraisal of its own.

    A rule is a shift (pleasure, arousal, dominance), or an OCC emotion with its intensity. `success` and `failure` list
    results, compared after `strip().casefold()`; `on_success` and `on_failure` are multiplied by the importance (1.0
    when missing), `sentiment` by the sentiment shift. An answer counts as fast up to `fast_ms`, as slow from `slow_ms`
    on (milliseconds).
    """

    version: Literal[1] = 1
    success: list[Text] = Field(
        default=["success", "succeeded", "ok", "done", "completed", "passed", "resolved"], max_length=MAX_WORDS
    )
    failure: list[Text] = Field(
        default=["failure", "failed", "error", "timeout", "rejected", "aborted"], max_length=MAX_WORDS
    )
    on_success: Shift = (0.25, 0.10, 0.20)
    on_failure: Shift = (-0.25, 0.15, -0.20)
    responded_yes: Shift = (0.05, 0.02, 0.02)
    responded_no: Shift = (-0.05, -0.03, -0.03)
    continued_yes: Shift = (0.06, 0.02, 0.03)
    continued_no: Shift = (-0.03, -0.02, -0.02)
    sentiment: Shift = (0.20, 0.05, 0.05)
    fast_ms: Count = 30_000
    slow_ms: Count = 3_600_000
    fast: Shift = (0.02, 0.02, 0.0)
    slow: Shift = (-0.02, -0.01, 0.0)


faults.NAMES["rules"] = ", ".join(AppraisalRules.model_fields)

"""The body of `POST recall`: what is asked, of whom, and in whose mood."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from moodstream.affect.recall import Order
from moodstream.schemas.base import Embedding, Model
from moodstream.schemas.faults import broken
from moodstream.schemas.fields import Axis, Id, Instant, Text
from moodstream.schemas.limits import DEFAULT_LIMITS
from moodstream.schemas.wire_names import Domain

_QUESTION = Annotated[Text, Field(max_length=8192)]
_Attribute = Annotated[str, Field(max_length=8192)]


class GivenMood(Model):
    """A mood that the caller brings."""

    pleasure: Axis
    arousal: Axis
    dominance: Axis


class RecallBody(Model):
    """A question to the memories of some agents of one tenant."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    agents: list[Id] = Field(min_length=1, max_length=25)
    """Whose memories."""
    domains: list[Domain] = Field(default_factory=list)
    """Only these domains; none: all."""
    case_id: Id | None = None
    """Only memories of this case."""
    since: Instant | None = None
    """Not before this time."""
    until: Instant | None = None
    """Before this time."""
    attributes: dict[_Attribute, _Attribute] = Field(default_factory=dict, max_length=32)
    """Only memories that have all of these attributes."""
    question: _QUESTION | None = None
    """Scored by the words of the text. Not together with `embedding`."""
    embedding: Embedding | None = None
    """Scored by the angle. Candidates with an embedding of another model or length are an error."""
    order: Order = "relevance"
    """relevance: the whole score; salience: without mood and question; chronological: newest first."""
    mood: Literal["own", "none"] | GivenMood = "own"
    """The agent's own mood at `as_of`, none, or one that is given."""
    as_agent: Id | None = None
    """Whose mood, baseline, influence and domain weights apply; needed for a mood over several agents."""
    as_of: Instant | None = None
    """Clock of the query, default now: ages and mood are of then, later memories are not seen."""
    centred: bool = False
    """Compare the alignment with that of the agent's baseline, so that at rest the mood changes nothing."""
    k: int = Field(10, ge=1, le=1000)
    """How many memories to give."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.question is not None and self.embedding is not None:
            raise broken("embedding", "conflict", "give a question or an embedding, not both")
        allowed = DEFAULT_LIMITS.embedding_numbers
        if self.embedding is not None and len(self.embedding.values) > allowed:
            raise broken("embedding.values", "too_long", f"at most {allowed} numbers are allowed")
        if self.moody and self.as_agent is None and len(set(self.agents)) > 1:
            raise broken("as_agent", "missing", "whose mood is it, of several agents? Name one, or set mood to none")
        return self

    @property
    def moody(self) -> bool:
        """Whether a mood is used at all."""
        return self.mood != "none" and self.order != "salience"

    @property
    def whose(self) -> str | None:
        """The agent whose profile applies; None: of several agents nobody's."""
        if self.as_agent is not None:
            return self.as_agent
        return self.agents[0] if len(set(self.agents)) == 1 else None

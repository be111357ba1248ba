"""What an operator can change about the folds."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from moodstream.affect.params import Fold
from moodstream.schemas.profile import ProfileValues


class FoldSettings(BaseModel):
    """Parameters of the folds. A change makes other rows of the same log: docs/upgrades.md says how to roll it out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    revision: int = Field(0, ge=0, le=65_535, description="number of this set of parameters; raise it with each change")
    default_profile: ProfileValues = Field(
        default_factory=ProfileValues, description="profile of the agents that never set one"
    )

    @property
    def fold(self) -> Fold:
        """The fold that these settings describe."""
        return Fold.of(self.revision, self.default_profile)

"""Settings of the sweep: how long memories are kept."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from moodstream.schemas.wire_names import Domain

Days = float
_DAYS = Field(None, gt=0, le=36_500, description="how long memories are kept, in days; none = for ever")


class Keep(BaseModel):
    """How long memories are kept: of all domains, and of single ones. The shorter of the two counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep_days: Days | None = _DAYS
    domain_days: dict[Domain, Days] = Field({}, description="the same by domain")


class SweepSettings(Keep):
    """How long memories are kept, and how many. A tenant that is named has rules of its own alone."""

    tenants: dict[str, Keep] = Field({}, description="rules by tenant, in place of the general ones")
    memories_per_agent: int = Field(1_000_000, ge=1, description="most memories of one agent; the oldest go")
    every_hours: float = Field(24.0, gt=0, le=8_760, description="how often a sweep that runs on looks")

    def of(self, tenant: str) -> Keep:
        """The rules of a tenant."""
        return self.tenants.get(tenant, self)

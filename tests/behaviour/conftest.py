"""A running deployment for each behaviour test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.deployments import Deployment
from support.running import Running, running


@pytest.fixture
async def run(deployment: Deployment, tmp_path: Path) -> AsyncIterator[Running]:
    """Topics, a bus, a Redis client; workers are started by the test."""
    async with running(deployment, tmp_path) as one:
        yield one

from collections.abc import AsyncIterator

import httpx
import pytest

from moodstream.query.app import create_app
from moodstream.query.settings import QuerySettings
from moodstream.state.reader import StateReader
from support.stored import reader, stored

__all__ = ["reader", "stored"]


@pytest.fixture
async def client(reader: StateReader) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service, below `/v1/tenants/`."""
    app = create_app(QuerySettings(), reader)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service/v1/tenants/") as found:
        yield found

"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.support import Running, running_daemon


@pytest.fixture
def anyio_backend() -> str:
    """pygls and the transports are asyncio's."""
    return "asyncio"


@pytest.fixture
async def daemon(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Running]:
    async with running_daemon(tmp_path) as running:
        yield running

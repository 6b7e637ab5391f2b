"""Fixtures of the summarizers' tests."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The daemon's loop is asyncio's."""
    return "asyncio"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of whoever runs the tests know nothing of servers on loopback."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

"""Waking whoever waits for something to have changed."""

from __future__ import annotations

import anyio


class Waker:
    """Wakes all who wait at that moment and remembers nothing; they look for themselves."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def wake(self) -> None:
        """Lets all who wait go on."""
        self._event.set()
        self._event = anyio.Event()

    async def wait(self) -> None:
        """Waits for the next change. Look first: nothing may come in between."""
        await self._event.wait()

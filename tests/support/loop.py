"""An event loop that goes on between calls, for tests that are not coroutines themselves."""

from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

T = TypeVar("T")

PATIENCE = 20
"""Seconds after which a call counts as hanging."""


class Loop:
    """A loop in a thread of its own, with the contexts that were entered on it."""

    def __init__(self) -> None:
        self._starting = start_blocking_portal("asyncio")
        self._portal: BlockingPortal = self._starting.__enter__()
        self._entered: list[Any] = []

    def enter(self, context: AbstractAsyncContextManager[T]) -> T:
        """Enter a context until `close`."""
        wrapped = self._portal.wrap_async_context_manager(context)
        self._entered.append(wrapped)
        return wrapped.__enter__()

    def run(self, act: Awaitable[T]) -> T:
        """What a coroutine returns, run to its end."""

        async def wait() -> T:
            with anyio.fail_after(PATIENCE):
                return await act

        return self._portal.call(wait)

    def close(self) -> None:
        """Leave every context and end the loop."""
        while self._entered:
            self._entered.pop().__exit__(None, None, None)
        self._starting.__exit__(None, None, None)

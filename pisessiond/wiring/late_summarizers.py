"""Summarizers that are put together when somebody first asks for one.

A daemon starts far more often than it summarises, and they take a tenth of its start to load.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module

import anyio
from anyio import to_thread

from pisessiond.models.base import ModelName
from pisessiond.summarizers.base import Choice, Lend, Summarizer, Summarizers
from pisessiond.wiring.user_setup import Setup


class LateSummarizers:
    """A `Summarizers` that is another one, once it is needed."""

    def __init__(
        self, setup: Setup, agent_dir: str, environment: Mapping[str, str], until: AsyncExitStack
    ) -> None:
        """`until` closes what was opened."""
        self._given = setup, agent_dir, environment
        self._until = until
        self._made: Summarizers | None = None
        self._making = anyio.Lock()

    async def choose(
        self,
        name: str | None,
        session_model: ModelName | None,
        lend: Lend | None,
        *,
        to_write: bool = True,
    ) -> Summarizer:
        """As `Summarizers.choose`."""
        made = await self._make()
        return await made.choose(name, session_model, lend, to_write=to_write)

    async def choices(self, session_model: ModelName | None, lend: Lend | None) -> Sequence[Choice]:
        """As `Summarizers.choices`."""
        return await (await self._make()).choices(session_model, lend)

    async def _make(self) -> Summarizers:
        async with self._making:
            if self._made is None:
                await to_thread.run_sync(import_module, "pisessiond.wiring.summarizers")
                from pisessiond.wiring.summarizers import open_summarizers

                opened = open_summarizers(*self._given)
                self._made = await self._until.enter_async_context(opened)
        return self._made


@asynccontextmanager
async def late_summarizers(
    setup: Setup, agent_dir: str, environment: Mapping[str, str]
) -> AsyncIterator[Summarizers]:
    """All that can write summaries, until the daemon ends."""
    async with AsyncExitStack() as until:
        yield LateSummarizers(setup, agent_dir, environment, until)

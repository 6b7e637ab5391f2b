"""Summaries by the model of a client: an editor that offers `session/summarize` lends its own."""

from __future__ import annotations

from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.summarizers.base import Lend, Received, Written


class LentSummarizer:
    """Asks whichever client lends its model."""

    name = "client"
    model: ModelName | None = None
    facts: ModelFacts = UNKNOWN
    is_extract = False

    def __init__(self, lend: Lend) -> None:
        self._lend = lend

    async def write(self, task: SummaryTask, received: Received) -> Written:
        """What the client wrote.

        Raises:
            SummaryFailed: it did not answer, or wrote nothing.
        """
        return await self._lend(task, received)

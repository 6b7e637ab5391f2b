"""Summaries without a model, from the messages themselves (`core/extract.py`)."""

from __future__ import annotations

from anyio import to_thread

from pisessiond.core.extract import extract_summary
from pisessiond.core.javascript import utf16_length
from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.summarizers.base import Received, Written


class ExtractSummarizer:
    """Always there and never wrong about what was said, but understands nothing of it."""

    name = "extract"
    model: ModelName | None = None
    facts: ModelFacts = UNKNOWN
    is_extract = True

    async def write(self, task: SummaryTask, received: Received) -> Written:
        """The text; it does not fail."""
        text = await to_thread.run_sync(extract_summary, task, abandon_on_cancel=True)
        received(utf16_length(text))
        return Written(text)

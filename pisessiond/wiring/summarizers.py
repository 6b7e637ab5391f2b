"""Who writes summaries, put together from the user's settings for the daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pisessiond.models.base import ModelName
from pisessiond.models.endpoints import Wanted
from pisessiond.settings.config import AnySummarizer, CommandSummarizer, PiSummarizer
from pisessiond.settings.folder_settings import FileSettings
from pisessiond.summarizers.choosing import (
    ConfiguredSummarizers,
    Own,
    OwnModel,
    OwnPi,
    OwnProgram,
    Reach,
    SummarizerSettings,
)
from pisessiond.summarizers.http import Http, Limits
from pisessiond.summarizers.retrying import RetryPolicy
from pisessiond.wiring.model_access import model_access
from pisessiond.wiring.user_setup import Setup


@asynccontextmanager
async def open_summarizers(
    setup: Setup, agent_dir: str, environment: Mapping[str, str]
) -> AsyncIterator[ConfiguredSummarizers]:
    """All that can write summaries, until the daemon ends; then their connections are closed."""
    http, access = Http(), model_access(setup, agent_dir, environment)
    reach = Reach(
        settings=lambda: summarizer_settings(setup.settings),
        endpoints=access.endpoints,
        dry_endpoints=access.dry_endpoints,
        models=setup.models,
        http=http,
        agent_dir=Path(agent_dir),
        environment=environment,
    )
    try:
        yield ConfiguredSummarizers(reach)
    finally:
        await http.aclose()


def summarizer_settings(settings: FileSettings) -> SummarizerSettings:
    """What the files say now. It reads, so it belongs in a worker."""
    config, of_http = settings.config(), settings.http()
    return SummarizerSettings(
        use=config.summarizer.use,
        own={name: _own(table) for name, table in config.summarizers.items()},
        proxy=of_http.proxy,
        limits=Limits(connect=of_http.connect_seconds, idle=of_http.idle_seconds),
        retries=RetryPolicy.of(of_http.retry),
    )


def _own(table: AnySummarizer) -> Own:
    seconds, most = table.timeout_seconds, table.max_tokens
    if isinstance(table, CommandSummarizer):
        return OwnProgram(tuple(table.program), seconds, most)
    if isinstance(table, PiSummarizer):
        model = None if table.model is None else ModelName(*table.model.split("/", 1))
        return OwnPi(tuple(table.program), model, seconds, most)
    wanted = Wanted(
        "anthropic-messages" if table.kind == "anthropic" else "openai-completions",
        table.model,
        table.provider,
        table.base_url,
        table.key_env,
    )
    return OwnModel(wanted, seconds, most)

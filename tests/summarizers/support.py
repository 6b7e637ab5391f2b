"""A summarizer over HTTP and what stands around it, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from pisessiond.core.summary_task import Prompt, SummaryTask
from pisessiond.models.base import UNKNOWN, ModelFacts, ModelName
from pisessiond.models.endpoints import Api, Endpoint, Secret
from pisessiond.summarizers.base import Summarizer, SummaryFailed, Written
from pisessiond.summarizers.http import Http, Limits
from pisessiond.summarizers.http_model import HttpSummarizer, Way
from pisessiond.summarizers.retrying import Pacing, RetryPolicy
from tests.support.model_server import ModelServer, Script, model_server

APIS: Final[tuple[Api, ...]] = ("anthropic-messages", "openai-completions")
KEY: Final = "sk-test-0123456789abcdef"
TASK: Final = SummaryTask("history", (), max_tokens=1000)
SYSTEM: Final = "You write summaries of the work that was done here."
USER: Final = "The conversation: the frobnicator was rewritten from the ground up. Summarise."


def make_prompt(task: SummaryTask) -> Prompt:
    del task
    return Prompt(SYSTEM, USER)


@dataclass
class Clock:
    """Time that passes only when someone sleeps."""

    time: float = 1_000_000_000.0
    sleeps: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds

    @property
    def pacing(self) -> Pacing:
        return Pacing(now=lambda: self.time, sleep=self.sleep, chance=lambda: 0.0)


@dataclass
class Desk:
    """One summarizer at one server."""

    api: Api
    server: ModelServer
    http: Http
    clock: Clock = field(default_factory=Clock)
    limits: Limits = field(default_factory=Limits)
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    facts: ModelFacts = UNKNOWN
    proxy: str | None = None
    received: list[int] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    """Other members of the endpoint."""
    real_time: bool = False

    @property
    def endpoint(self) -> Endpoint:
        is_anthropic = self.api == "anthropic-messages"
        plain = Endpoint(
            api=self.api,
            base_url=self.server.url if is_anthropic else self.server.openai_url,
            model="the-model",
            key=Secret(KEY, "TEST_API_KEY"),
            auth="x-api-key" if is_anthropic else "bearer",
        )
        return replace(plain, **self.more)

    @property
    def summarizer(self) -> HttpSummarizer:
        """A new one each time; it keeps the contract of `Summarizer`, as `write` shows."""
        pacing = Pacing() if self.real_time else self.clock.pacing
        way = Way(self.http, self.proxy, self.limits, self.policy, pacing)
        return HttpSummarizer(
            ModelName("prov", "the-model"), self.endpoint, self.facts, make_prompt, way
        )

    async def write(self, task: SummaryTask = TASK) -> Written:
        summarizer: Summarizer = self.summarizer
        return await summarizer.write(task, self.received.append)

    async def failure(self, task: SummaryTask = TASK) -> SummaryFailed:
        """How it fails; every sentence is looked at for what must not stand in it."""
        with pytest.raises(SummaryFailed) as caught:
            await self.write(task)
        failure = caught.value
        sentence = str(failure)
        assert failure.summarizer == "prov/the-model"
        assert KEY not in sentence
        assert "frobnicator" not in sentence
        assert "\n" not in sentence
        assert sentence.endswith(".")
        assert len(sentence) < 500
        assert KEY not in repr(failure.__cause__)
        assert failure.__cause__ is None
        return failure


@asynccontextmanager
async def desk(
    api: Api, script: Script, *, tls: bool = False, **members: Any
) -> AsyncIterator[Desk]:
    """A summarizer before a server that does what the script says."""
    http = Http()
    async with model_server(script, tls=tls) as server:
        try:
            yield Desk(api, server, http, **members)
        finally:
            await http.aclose()

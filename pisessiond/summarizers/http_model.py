"""Summaries by a model over HTTP: Anthropic's Messages and OpenAI's Chat Completions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import msgspec

from pisessiond.core.javascript import well_formed
from pisessiond.core.summary_task import Prompt, SummaryTask
from pisessiond.models.base import ModelFacts, ModelName
from pisessiond.models.costs import cost_of
from pisessiond.models.endpoints import Endpoint
from pisessiond.summarizers import anthropic, openai
from pisessiond.summarizers.answers import Answer
from pisessiond.summarizers.base import FailureReason, Received, SummaryFailed, Written
from pisessiond.summarizers.http import Http, Limits
from pisessiond.summarizers.http_failures import Asked
from pisessiond.summarizers.http_reading import Call, ask
from pisessiond.summarizers.retrying import (
    Failure,
    Pacing,
    RetryPolicy,
    spell_seconds,
    with_retries,
)

MakePrompt = Callable[[SummaryTask], Prompt]


@dataclass(frozen=True)
class Way:
    """How models are reached: what all of them share."""

    http: Http
    proxy: str | None = None
    """Goes before those of the environment."""
    limits: Limits = field(default_factory=Limits)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    pacing: Pacing = field(default_factory=Pacing)


class HttpSummarizer:
    """A model that is asked over HTTP; a `Summarizer`."""

    is_extract = False

    def __init__(
        self,
        model: ModelName,
        endpoint: Endpoint,
        facts: ModelFacts,
        make_prompt: MakePrompt,
        way: Way,
        *,
        name: str | None = None,
    ) -> None:
        """`name` is the one it was chosen by, where that is not the model's."""
        self.name = str(model) if name is None else name
        self.model: ModelName | None = model
        self.facts = facts
        self._endpoint = endpoint
        self._make_prompt = make_prompt
        self._way = way

    async def write(self, task: SummaryTask, received: Received) -> Written:
        """The text.

        Raises:
            SummaryFailed: none that could be used came.
        """
        teller = _Teller(received)
        try:
            # A long conversation takes longer to put into words than the loop may stand still.
            call = await anyio.to_thread.run_sync(self._call, task, teller, abandon_on_cancel=True)
            with anyio.move_on_after(_seconds(self._way.limits.whole)):
                return await self._ask(call, teller)
            raise self._too_slow(call.asked)
        except Failure as failure:
            raise SummaryFailed(self.name, failure.reason, failure.sentence) from None

    async def _ask(self, call: Call, teller: _Teller) -> Written:
        client = await self._way.http.client(self._way.proxy)

        async def attempt() -> Written:
            teller.start_over()
            return self._checked(call.asked, await ask(client, call))

        return await with_retries(attempt, self._way.retries, self._way.pacing, self.name)

    def _call(self, task: SummaryTask, received: Received) -> Call:
        endpoint, made = self._endpoint, self._make_prompt(task)
        prompt = Prompt(well_formed(made.system), well_formed(made.user))
        limit = min(task.max_tokens, self.facts.max_output or task.max_tokens)
        asked = Asked(self.name, _host(self.name, endpoint.base_url), endpoint, prompt, limit)
        is_anthropic = endpoint.api == "anthropic-messages"
        wire = anthropic if is_anthropic else openai
        return Call(
            asked=asked,
            url=_join(endpoint.base_url, wire.PATH),
            headers=_headers(asked, wire.HEADERS),
            content=msgspec.json.encode(wire.body(endpoint, prompt, limit)),
            new_answer=anthropic.MessagesAnswer if is_anthropic else openai.CompletionAnswer,
            limits=self._way.limits,
            received=received,
            now=self._way.pacing.now,
        )

    def _checked(self, asked: Asked, answer: Answer) -> Written:
        failure = _unusable(asked, answer, self.facts)
        if failure is not None:
            raise failure
        return Written(answer.text, self._usage(answer), self.model)

    def _usage(self, answer: Answer) -> dict[str, Any] | None:
        if answer.usage is None:
            return None
        cost: dict[str, Any] = dict(cost_of(self.facts.price, answer.usage))
        # pi 1.6.0 takes the total from OpenRouter alone (`applyOpenRouterReportedCost`).
        is_reported = answer.reported_cost is not None and self._is_openrouter()
        if is_reported:
            cost["total"] = answer.reported_cost
        cost["totalFromProvider"] = is_reported
        return {**answer.usage, "cost": cost}

    def _is_openrouter(self) -> bool:
        is_named = self.model is not None and self.model.provider == "openrouter"
        return is_named or "openrouter.ai" in self._endpoint.base_url

    def _too_slow(self, asked: Asked) -> Failure:
        limit = spell_seconds(_seconds(self._way.limits.whole))
        return Failure(
            "timeout",
            f"{asked.who} was not done within {limit}. "
            "Try again later, or name another summarizer.",
        )


class _Teller:
    """Tells how much has come, and that it begins anew when another try does."""

    def __init__(self, received: Received) -> None:
        self._received = received
        self._told = 0

    def __call__(self, characters: int) -> None:
        self._told = characters
        self._received(characters)

    def start_over(self) -> None:
        if self._told:
            self(0)


def _unusable(asked: Asked, answer: Answer, facts: ModelFacts) -> Failure | None:
    """Why an answer is no summary; None when it is one."""
    who, stop = asked.who, answer.stop
    another = "Name another summarizer, or give the summary."
    used = answer.usage or {}
    taken_in = used.get("input", 0) + used.get("cacheRead", 0)
    said_nothing = not answer.text
    reason: FailureReason
    if answer.calls_tool or stop == "toolCall":
        reason, sentence = "toolCall", f"{who} called a tool instead of writing. {another}"
    elif answer.refuses or stop == "refusal":
        reason, sentence = "refusal", f"{who} declined to write the summary. {another}"
    elif stop == "overflow" or (
        # A window that is full of input is told as a limit of length by some (pi 1.6.0, overflow).
        stop == "length"
        and said_nothing
        and facts.window is not None
        and taken_in >= facts.window * 0.99
    ):
        reason = "overflow"
        sentence = f"The text to summarise is more than {who} takes. Name one with a larger window."
    elif stop == "length":
        reason = "length"
        most = facts.max_output
        by_itself = most is not None and asked.max_tokens >= most
        raised = "" if by_itself else "Raise `reserveTokens` in pi's settings, or name"
        sentence = (
            f"{who} was cut at {asked.max_tokens} tokens, so the summary is not whole. "
            f"{raised or 'It may write no more; name'} another summarizer."
        )
    elif stop != "whole":
        reason = "error"
        sentence = f"{who} stopped for another reason than having finished. {another}"
    elif said_nothing:
        reason, sentence = "empty", f"{who} answered without any text. {another}"
    else:
        return None
    return Failure(reason, sentence, is_transient=stop == "broken")


def _headers(asked: Asked, of_format: dict[str, str]) -> dict[str, str]:
    """The headers of a request; the user's own stand over the usual ones.

    Raises:
        Failure: a key or a header holds what no header may.
    """
    endpoint = asked.endpoint
    headers = {"content-type": "application/json", "accept": "application/json", **of_format}
    if (key := endpoint.key) is not None:
        text = key.reveal().strip()
        if not _is_sendable(text):
            raise Failure(
                "auth",
                f"The key of {asked.who} from {key.source} holds characters that no key has. "
                "Look at the key there.",
            )
        if endpoint.auth == "x-api-key":
            headers["x-api-key"] = text
        else:
            headers["authorization"] = f"Bearer {text}"
    for name, value in endpoint.headers.items():
        if not (_is_sendable(value) and name.isascii() and name.replace("-", "").isalnum()):
            raise Failure(
                "error", f"A header for {asked.who} cannot be sent. Look at its settings."
            )
        headers[name.lower()] = value.strip()
    return headers


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _join(base_url: str, path: str) -> str:
    """The address of a call; a query of the base URL stays behind the path."""
    base, mark, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}{mark}{query}"


def _host(name: str, base_url: str) -> str:
    """Host and port of a URL, without user, path and query.

    Raises:
        Failure: it is no URL over HTTP.
    """
    try:
        parts = urlsplit(base_url)
        # Reading it looks whether it is one: 99999 is not.
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Failure(
            "error",
            f"The base URL of {name} is not one like https://host/path. Look at its settings.",
        )
    return parts.netloc.rpartition("@")[2]


def _seconds(limit: float | None) -> float:
    return math.inf if limit is None else limit

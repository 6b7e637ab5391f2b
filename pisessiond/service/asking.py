"""Asking clients before something is done, and asking one to lend its model.

Whoever has the session open and offers it is asked. Who does not answer in time counts as having
nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import anyio

from pisessiond.core.given_usage import complete_usage
from pisessiond.core.javascript import trim, utf16_length
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask
from pisessiond.models.base import ModelName
from pisessiond.service.errors import OperationCancelled
from pisessiond.service.operations import Operation
from pisessiond.service.subscribers import Absent, Subscriber
from pisessiond.service.types import AnyOrigin, Origin
from pisessiond.summarizers.base import Lend, Received, SummaryFailed, Written

WILL_COMPACT: Final = "session/willCompact"
WILL_NAVIGATE: Final = "session/willNavigate"
SUMMARIZE: Final = "session/summarize"

WILL_SECONDS: Final = 5.0
"""How long clients have to say what they think of what is about to be done."""

LEND_SECONDS: Final = 600.0
"""How long a client has to write a summary."""


@dataclass(frozen=True, slots=True)
class Word:
    """What the clients said together, none of them against it."""

    summary: str | None = None
    details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    """All three of the first who gave a summary."""
    instructions: str | None = None
    label: str | None = None
    """Each of the first who gave one."""


def offering(subscribers: Iterable[Subscriber], method: str) -> list[Subscriber]:
    """Those who answer such a request, in the order in which they subscribed."""
    return [one for one in subscribers if one.offers(method)]


async def ask_all(
    subscribers: Iterable[Subscriber], method: str, params: dict[str, Any], operation: Operation
) -> Word:
    """What those who offer it say of an operation, all being asked at once.

    Raises:
        OperationCancelled: one does not want it; the first decides, and nobody else is waited for.
    """
    asked = offering(subscribers, method)
    answers: list[dict[str, Any]] = [{} for _ in asked]
    cancelled_by: list[str] = []

    async with anyio.create_task_group() as tasks:

        async def ask(at: int, subscriber: Subscriber) -> None:
            try:
                answers[at] = await subscriber.ask(method, params, WILL_SECONDS)
            except Absent:
                return
            if answers[at].get("cancel"):
                cancelled_by.append(subscriber.name)
                tasks.cancel_scope.cancel()

        for at, subscriber in enumerate(asked):
            tasks.start_soon(ask, at, subscriber)
    if cancelled_by:
        raise OperationCancelled(operation.word, cancelled_by[0])
    return _together(answers)


def _together(answers: list[dict[str, Any]]) -> Word:
    written = next((one for one in answers if trim(one.get("summary") or "")), {})
    return Word(
        summary=written.get("summary"),
        details=written.get("details"),
        usage=complete_usage(written.get("usage")),
        instructions=_first(answers, "custom_instructions"),
        label=_first(answers, "label"),
    )


def _first(answers: list[dict[str, Any]], name: str) -> str | None:
    return next((one[name] for one in answers if one.get(name) is not None), None)


def lender(
    subscribers: Iterable[Subscriber], origin: AnyOrigin, session: str, operation_id: str
) -> Lend | None:
    """Asks the client who wants the summary for it, else another; None when none offers it.

    Args:
        subscribers: whoever has the session open.
        origin: who wants the summary.
        session: its handle.
        operation_id: what the summary is for.
    """
    lenders = offering(subscribers, SUMMARIZE)
    if not lenders:
        return None
    own = origin.client_id if isinstance(origin, Origin) else None
    chosen = next((one for one in lenders if one.client_id == own), lenders[0])

    async def lend(task: SummaryTask, received: Received) -> Written:
        prompt = make_prompt(task)
        params = {
            "session": session,
            "operation_id": operation_id,
            "kind": task.kind,
            "system": prompt.system,
            "prompt": prompt.user,
            "max_tokens": task.max_tokens,
        }
        try:
            answer = await chosen.ask(SUMMARIZE, params, LEND_SECONDS)
        except Absent as error:
            why = f": {error.said}" if error.said else "; try again."
            sentence = f"{chosen.name} was asked for the summary and gave none{why}"
            raise SummaryFailed("client", "client", sentence) from error
        written = _written(answer, chosen.name)
        received(utf16_length(written.text))
        return written

    return lend


def _written(answer: dict[str, Any], client: str) -> Written:
    text = trim(answer["summary"])
    if not text:
        sentence = f"{client} answered an empty summary; try again or name another summarizer."
        raise SummaryFailed("client", "empty", sentence)
    provider, slash, model = (answer.get("model") or "").partition("/")
    name = ModelName(provider, model) if slash and provider and model else None
    return Written(text, complete_usage(answer.get("usage")), name)

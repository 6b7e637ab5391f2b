"""What the daemon asks of one client: `session/summarize`, `session/willCompact`, and so on.

Whatever goes wrong with an answer comes to the same for who asked: there is none (`Absent`). No
answer is waited for longer than the table of the protocol says.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
from pydantic import ValidationError

from pisessiond.core.preview import clean_line
from pisessiond.protocol.lifecycle_models import CancelParams
from pisessiond.protocol.methods import ASKED, CANCEL
from pisessiond.protocol.table import Asked
from pisessiond.protocol.wire import MAX_ASKED, MAX_MESSAGE_BYTES
from pisessiond.server import conversion
from pisessiond.server.envelope import Message, notification, request
from pisessiond.service.subscribers import Absent

if TYPE_CHECKING:
    from pisessiond.server.outbound import Outbound

log = logging.getLogger(__name__)

_PREFIX: Final = "pd:"
"""Begins our ids. pygls, which may ask the same client something, has UUIDs for its own."""


@dataclass(slots=True)
class _Waiting:
    ended: anyio.Event = field(default_factory=anyio.Event)
    answer: dict[str, Any] | None = None
    """The whole response; None also when it was ended without one."""


class Asking:
    """The requests that one client has not answered yet."""

    def __init__(self, outbound: Outbound, *, number: int, begun: Callable[[], None]) -> None:
        """Sends through `outbound`.

        Args:
            outbound: The client's queue.
            number: The connection's, for the log.
            begun: Told whenever something is asked.
        """
        self._outbound = outbound
        self._number = number
        self._begun = begun
        self._offered: frozenset[str] = frozenset()
        self._waiting: dict[str, _Waiting] = {}
        self._numbers = itertools.count(1)
        self._closed = False

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is waited for."""
        return any(not waiting.ended.is_set() for waiting in self._waiting.values())

    @property
    def is_closed(self) -> bool:
        """Whether no answer can come any more."""
        return self._closed

    def offer(self, methods: Iterable[str]) -> None:
        """Takes what the client says it answers; names nobody here asks by mean nothing."""
        self._offered = frozenset(methods) & ASKED.keys()

    def offers(self, method: str) -> bool:
        """Whether the client answers this."""
        return method in self._offered and not self._closed

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What the client answers, checked; see `service.subscribers.Subscriber.ask`.

        Args:
            method: One of the table.
            params: Members of its parameters, in values of the service.
            seconds: How long to wait; never longer than the table says.

        Raises:
            Absent: There is no answer; the sentence says why.
        """
        if not self.offers(method):
            raise Absent(f"The client does not answer {method}.")
        if len(self._waiting) >= MAX_ASKED:
            raise Absent(f"The client has {MAX_ASKED} requests to answer already.")
        asked = ASKED[method]
        request_id = f"{_PREFIX}{next(self._numbers)}"
        body = request(request_id, method, conversion.asked_params(asked, params))
        if len(body) > MAX_MESSAGE_BYTES:
            raise Absent(f"What {method} asks is larger than a message may be.")
        answer = await self._answer(request_id, body, min(seconds, asked.seconds))
        if answer is None:
            raise Absent(f"The client did not answer {method} in time, or is gone.")
        return self._checked(asked, answer)

    def take(self, message: Message) -> bool:
        """Hands an answer to who waits for it; False when it is none of ours."""
        if not isinstance(message.id, str) or not message.id.startswith(_PREFIX):
            return False
        if (waiting := self._waiting.get(message.id)) is not None:
            waiting.answer = message.raw
            waiting.ended.set()
        return True

    def give_up(self) -> None:
        """Ends all waiting: the answers cannot be reached any more."""
        for waiting in self._waiting.values():
            waiting.ended.set()

    def close(self) -> None:
        """Ends all waiting for good: no answer can come."""
        self._closed = True
        self.give_up()

    async def _answer(self, request_id: str, body: bytes, seconds: float) -> dict[str, Any] | None:
        waiting = self._waiting[request_id] = _Waiting()
        self._outbound.put(body)
        self._begun()
        try:
            with anyio.move_on_after(seconds):
                await waiting.ended.wait()
            return waiting.answer
        finally:
            del self._waiting[request_id]
            if waiting.answer is None and not self._closed:
                self._outbound.put(notification(CANCEL.name, CancelParams(id=request_id)))

    def _checked(self, asked: Asked[Any, Any], answer: dict[str, Any]) -> dict[str, Any]:
        why, said = "an error", _said(answer.get("error"))
        if answer.get("error") is None:
            # Null is what a handler that returns nothing answers in many languages.
            given = {} if answer.get("result") is None else answer["result"]
            try:
                model = asked.result.model_validate(given, by_alias=True, by_name=False)
            except ValidationError:
                why, said = "something else than it asks for", ""
            else:
                plain: dict[str, Any] = model.model_dump(exclude_unset=True)
                return plain
        log.info("client %d answered %s with %s", self._number, asked.name, why)
        raise Absent(f"The client answered {asked.name} with {why}.", said)


def _said(error: Any) -> str:
    """What an error says, in one line; empty where it says nothing that can be read."""
    message = error.get("message") if isinstance(error, dict) else None
    return clean_line(message) if isinstance(message, str) else ""

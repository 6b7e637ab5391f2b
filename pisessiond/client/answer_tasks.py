"""The daemon's requests on one connection, each answered by a task, for programs on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pisessiond.client import framing
from pisessiond.client.answering import Handlers, answer_of, refusal_of


class AnswerTasks:
    """The requests of one connection that are being answered, each by a task of its own."""

    def __init__(self, handlers: Handlers, send: Callable[[bytes], None]) -> None:
        self._handlers = handlers
        self._send = send
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    def take(self, message: dict[str, Any]) -> None:
        """Begins to answer a request, or refuses one that nobody here answers."""
        number, method = message["id"], str(message["method"])
        if method not in self._handlers or not isinstance(number, str | int):
            self._send(framing.unknown_method(number, method))
            return
        answering = self._answer(number, method, message.get("params") or {})
        task = asyncio.create_task(answering, name=f"answer to {method}")
        self._tasks[number] = task

    def cancel(self, number: Any) -> None:
        """Ends what answers a request, since the daemon waits no longer."""
        task = self._tasks.get(number) if isinstance(number, str | int) else None
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def aclose(self) -> None:
        """Ends all of them and waits for that."""
        self.cancel_all()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _answer(self, number: str | int, method: str, params: Any) -> None:
        try:
            self._send(answer_of(number, await self._handlers[method](params)))
        except asyncio.CancelledError:
            self._send(framing.refusal(number, framing.CANCELLED, "cancelled"))
            raise
        except Exception as error:  # noqa: BLE001
            self._send(refusal_of(number, method, error))
        finally:
            del self._tasks[number]

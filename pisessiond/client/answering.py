"""Requests that a daemon sends to its client, and how they are answered. It touches no socket.

A client says with `connect(requests={"session/summarize": lend, …})` what it answers; everything
else is refused, which the daemon takes for no answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from pisessiond.client import framing
from pisessiond.client.errors import RpcFailure

Handlers: TypeAlias = Mapping[str, Callable[[Any], Awaitable[Any]]]
"""By method, what answers it: given the parameters it returns the result as the wire spells it."""

BlockingHandlers: TypeAlias = Mapping[str, Callable[[Any], Any]]
"""As `Handlers`, for clients without a loop."""


def answer_of(number: Any, result: Any) -> bytes:
    """The frame that answers a request; None stands for nothing to say."""
    try:
        return framing.response(number, {} if result is None else result)
    except RpcFailure as failure:
        return framing.refusal(number, failure.code, failure.message)


def refusal_of(number: Any, method: str, error: BaseException) -> bytes:
    """The frame that says a handler failed. The daemon is told the class and no more."""
    if isinstance(error, RpcFailure):
        return framing.refusal(number, error.code, error.message)
    if isinstance(error, Exception):
        # The daemon goes on as if nobody had been asked: here alone the fault can be seen.
        import logging

        logging.getLogger(__name__).error("the answer to %s failed", method, exc_info=error)
    return framing.refusal(number, framing.INTERNAL_ERROR, type(error).__name__)

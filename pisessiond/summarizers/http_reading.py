"""One try to get an answer over HTTP: a request goes out, its response becomes an `Answer`.

Whatever goes wrong comes out as `Failure`, which says whether another try may help.
"""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.summarizers.answers import Answer, NotUnderstood, ProviderError, TextTooLong
from pisessiond.summarizers.base import Received
from pisessiond.summarizers.http import Limits
from pisessiond.summarizers.http_failures import Asked, failure_of
from pisessiond.summarizers.retrying import Failure, requested_wait, spell_seconds
from pisessiond.summarizers.sse import Event, EventStream, StreamTooLarge

if TYPE_CHECKING:
    import httpx

PROXY_WANTS_LOGIN: Final = 407

MAX_BODY: Final = 8 << 20
"""The largest answer in bytes that does not come as a stream."""

MAX_ERROR: Final = 64 << 10
"""So much of an error is read; what it is about stands at its beginning."""

AFTERWORD: Final = 5.0
"""Seconds of silence that are waited, once the text is whole, for the usage behind it."""

FAREWELL: Final = 0.2
"""Seconds that are waited for the end of a body in which nothing more will come, so that the
connection can be used again."""


@dataclass(frozen=True)
class Call:
    """A request, ready to be sent any number of times."""

    asked: Asked
    url: str
    headers: Mapping[str, str]
    content: bytes
    new_answer: Callable[[], Answer]
    limits: Limits
    received: Received
    now: Callable[[], float]
    """Seconds since 1970."""


async def ask(client: httpx.AsyncClient, call: Call) -> Answer:
    """The answer to one request, which is at its end.

    Raises:
        Failure: none came.
    """
    import httpx

    limits = call.limits
    timeout = httpx.Timeout(limits.idle, connect=limits.connect, pool=limits.connect)
    answer = call.new_answer()
    try:
        async with client.stream(
            "POST", call.url, content=call.content, headers=call.headers, timeout=timeout
        ) as response:
            if not response.is_success:
                raise await _refusal(call, response)
            await _read(call, response, answer)
    except httpx.TimeoutException as error:
        if answer.stop is None:
            raise _timeout(call, error) from None
    except httpx.InvalidURL:
        raise _cannot_ask(call.asked) from None
    except httpx.HTTPError as error:
        # What went wrong after the end of the text takes nothing from it.
        if answer.stop is None:
            raise _connection_failure(call, error) from None
    except ExceptionGroup as error:
        if error.split(OverflowError)[1] is not None:
            raise
        # anyio's way to say that a port is too large; that of the base URL was looked at before.
        raise _proxy_refused(call.asked.who) from None
    except ProviderError as error:
        raise failure_of(call.asked, error.body) from None
    except (NotUnderstood, StreamTooLarge):
        raise _not_understood(call.asked) from None
    except TextTooLong:
        raise Failure(
            "length", f"{call.asked.who} does not come to an end. Name another summarizer."
        ) from None
    return answer


async def _read(call: Call, response: httpx.Response, answer: Answer) -> None:
    # Closed by hand, as the garbage collector would do it later and in a task of its own.
    async with aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_bytes())) as pieces:
        await _read_pieces(call, pieces, answer)


async def _read_pieces(call: Call, pieces: AsyncIterator[bytes], answer: Answer) -> None:
    start = await _first_bytes(pieces)
    if start.lstrip()[:1] in (b"{", b"["):
        # Whatever its content type: an error with status 200, or a server that does not stream.
        await _read_whole(call, start, pieces, answer)
    elif start.lstrip()[:1] == b"<":
        raise NotUnderstood("the answer is a page")
    else:
        await _read_stream(call, start, pieces, answer)


async def _first_bytes(pieces: AsyncIterator[bytes]) -> bytes:
    """The beginning of a body, up to the first byte that is no space."""
    start = b""
    async for piece in pieces:
        start += piece
        if start.strip() or len(start) > MAX_ERROR:
            break
    return start


async def _read_stream(
    call: Call, start: bytes, pieces: AsyncIterator[bytes], answer: Answer
) -> None:
    stream = EventStream()
    with anyio.CancelScope() as scope:
        for event in stream.feed(start):
            _take(call, answer, event)
        while True:
            patience = anyio.current_time() + _patience(answer)
            # After the end it runs once; before that, anew with each piece, since some servers
            # give every piece a reason to have ended.
            scope.deadline = min(scope.deadline, patience) if answer.is_over else patience
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                break
            for event in stream.feed(piece):
                _take(call, answer, event)
    if not answer.is_over and answer.stop is None and (last := stream.rest()) is not None:
        # Torn in the middle it is no JSON, and that the connection ended is told below.
        with suppress(NotUnderstood):
            _take(call, answer, last)
    _end_of_stream(call, answer)


def _patience(answer: Answer) -> float:
    """How long to read on."""
    if answer.is_over:
        return FAREWELL
    return math.inf if answer.stop is None else AFTERWORD


def _take(call: Call, answer: Answer, event: Event) -> None:
    if answer.is_over:
        return
    before = answer.received
    answer.take(event)
    if answer.received != before:
        call.received(answer.received)


def _end_of_stream(call: Call, answer: Answer) -> None:
    if answer.stop is not None:
        return
    if not answer.said_something:
        raise NotUnderstood("the body holds no event of this format")
    if not call.asked.endpoint.supports_finish_reason:
        answer.stop = "toolCall" if answer.calls_tool else "whole"
        return
    if answer.is_over:
        raise Failure(
            "protocol",
            f"{call.asked.who} ended without saying why, so the summary may be cut. If it never "
            "says, set compat.supportsFinishReason to false in models.json.",
        )
    raise _cut(call)


async def _read_whole(
    call: Call, start: bytes, pieces: AsyncIterator[bytes], answer: Answer
) -> None:
    data = bytearray(start)
    async for piece in pieces:
        data += piece
        if len(data) > MAX_BODY:
            raise StreamTooLarge("the body is too large")
    try:
        body = parse_json(bytes(data))
    except NotJson:
        raise NotUnderstood("the body is no JSON") from None
    if isinstance(body, list):
        # Google's compatible server wraps its errors so.
        raise ProviderError(body)
    assert isinstance(body, dict)
    answer.take_whole(body)
    answer.is_over = True
    call.received(answer.received)
    if answer.stop is None:
        answer.stop = "whole"


async def _refusal(call: Call, response: httpx.Response) -> Failure:
    """What a response with another status than success means."""
    if response.is_redirect:
        # Never followed: the key would go along.
        return Failure(
            "protocol",
            f"{call.asked.who} sends elsewhere (status {response.status_code}), which is not "
            "followed because of the key. Look at the base URL.",
        )
    if response.status_code == PROXY_WANTS_LOGIN:
        return _proxy_refused(call.asked.who)
    data = await _error_body(response)
    try:
        body: Any = parse_json(data)
    except NotJson:
        text = data.decode("utf-8", "replace")
        # A page of a proxy or a load balancer says nothing in its first line.
        body = None if text.lstrip().startswith("<") else text
    status, headers = response.status_code, response.headers
    failure = failure_of(call.asked, body, status=status, wait=requested_wait(headers, call.now()))
    # Both SDKs of the providers obey this header, which is more exact than the status.
    if headers.get("x-should-retry") == "false":
        failure.is_transient = False
    return failure


async def _error_body(response: httpx.Response) -> bytes:
    """The beginning of an error; what of it does not come in time or at all changes nothing."""
    import httpx

    data = b""
    with anyio.move_on_after(AFTERWORD), suppress(httpx.HTTPError):
        async for piece in response.aiter_bytes():
            data += piece
            if len(data) > MAX_ERROR:
                break
    return data


def _timeout(call: Call, error: httpx.TimeoutException) -> Failure:
    import httpx

    who, limits = call.asked.who, call.limits
    if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        waited = spell_seconds(limits.connect or 0)
        return Failure(
            "timeout",
            f"{who} could not be reached within {waited}. Look at the network and the base URL.",
            is_transient=True,
        )
    return Failure(
        "timeout",
        f"{who} said nothing for {spell_seconds(limits.idle or 0)}. "
        "Try again later, or name another summarizer.",
    )


def _connection_failure(call: Call, error: httpx.HTTPError) -> Failure:
    import httpx

    who = call.asked.who
    if isinstance(error, httpx.ProxyError):
        return _proxy_refused(who)
    if isinstance(error, httpx.ConnectError):
        return _not_reached(who, error)
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return _cannot_ask(call.asked)
    if isinstance(error, httpx.RemoteProtocolError) and not _is_end(error):
        return _not_understood(call.asked)
    return _cut(call)


def _is_end(error: httpx.RemoteProtocolError) -> bool:
    """Whether the server only left too early; httpx tells it by its words alone."""
    return any(word in str(error) for word in ("closed connection", "disconnected"))


def _proxy_refused(who: str) -> Failure:
    return Failure(
        "connection", f"The proxy before {who} refused. Look at the proxy's address and login."
    )


def _cannot_ask(asked: Asked) -> Failure:
    return Failure("error", f"{asked.who} cannot be asked. Look at its base URL and headers.")


def _not_reached(who: str, error: BaseException) -> Failure:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure(
                "connection",
                f"The certificate of {who} is not trusted ({cause.verify_message}). "
                "Look at the base URL, or name the certificate's issuer in SSL_CERT_FILE.",
            )
        if isinstance(cause, ssl.SSLError):
            return Failure(
                "connection", f"{who} does not speak TLS as it should. Look at the base URL."
            )
    return Failure(
        "connection",
        f"{who} could not be reached ({_spell_cause(causes)}). "
        "See that it runs, and look at the network, the proxy and the base URL.",
        is_transient=True,
    )


def _causes(error: BaseException | None) -> list[BaseException]:
    """An error and what lies behind it, groups unfolded: several addresses may have been tried."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                found += _causes(one)
        error = error.__cause__ or error.__context__
    return found


def _spell_cause(causes: list[BaseException]) -> str:
    for cause in causes:
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        if isinstance(cause, socket.gaierror):
            return "its name is not known"
    return "no connection"


def _cut(call: Call) -> Failure:
    return Failure(
        "connection",
        f"The connection to {call.asked.who} ended before the answer did. "
        "Try again, or name another summarizer.",
        is_transient=True,
    )


def _not_understood(asked: Asked) -> Failure:
    return Failure(
        "protocol",
        f"{asked.who} did not answer as {asked.endpoint.api} does. "
        "Look at its base URL and at the kind of its API.",
    )

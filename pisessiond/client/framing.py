"""JSON-RPC messages as bytes, in LSP's framing, and back. It touches no socket.

A frame is a header block (`Content-Length: n` and what else there may be, each line ended by
CR LF), an empty line, and n bytes of JSON in UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pisessiond.client.errors import ConnectionLost, RpcFailure

MAX_HEADER = 8 * 1024
"""Bytes of a header block, the protocol's limit."""
MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of a message, the protocol's limit."""

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANCELLED = -32800


def encode_message(message: dict[str, Any]) -> bytes:
    """The frame of one message.

    The JSON is plain ASCII, since only so a lone surrogate, which session files do hold, survives.

    Raises:
        RpcFailure: It holds what JSON has no word for (NaN, Infinity), or is nested too deep.
    """
    try:
        body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (ValueError, RecursionError) as error:
        reason = (
            "nested too deep" if isinstance(error, RecursionError) else "no JSON (NaN, Infinity)"
        )
        told = {"kind": "InvalidParams", "path": ""}
        raise RpcFailure(INVALID_PARAMS, f"What was to be sent is {reason}.", told) from error
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def request(number: int, method: str, params: Any) -> bytes:
    """The frame of a request. No parameters are an empty object: never null, never absent."""
    members = {} if params is None else params
    return encode_message({"jsonrpc": "2.0", "id": number, "method": method, "params": members})


def notification(method: str, params: Any) -> bytes:
    return encode_message({"jsonrpc": "2.0", "method": method, "params": params})


def response(number: Any, result: Any) -> bytes:
    """The frame that answers a request of the daemon's."""
    return encode_message({"jsonrpc": "2.0", "id": number, "result": result})


def refusal(number: Any, code: int, sentence: str) -> bytes:
    """The frame that answers a request of the daemon's with an error."""
    error = {"code": code, "message": sentence}
    return encode_message({"jsonrpc": "2.0", "id": number, "error": error})


def unknown_method(number: Any, method: str) -> bytes:
    """The frame that answers a request of the daemon's which this client cannot serve."""
    return refusal(number, METHOD_NOT_FOUND, f"this client does not answer {method}")


def failure_of(error: Any) -> RpcFailure:
    """The error member of a reply as an exception."""
    if not isinstance(error, dict):
        return RpcFailure(-32603, "the daemon answered with an error that says nothing")
    return RpcFailure(error.get("code", -32603), str(error.get("message", "")), error.get("data"))


class FrameReader:
    """Collects bytes as they come and gives the messages that are complete.

    After a `ConnectionLost` the stream has no known place any more and must be closed.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        # Where the search for the end of a header goes on, so that bytes are looked at once.
        self._searched = 0

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yields each message that `data` completes.

        Raises:
            ConnectionLost: What came is no frame, no JSON, or beyond the protocol's limits.
        """
        self._buffer += data
        while True:
            if self._length is None and not self._take_header():
                return
            assert self._length is not None
            if len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = None
            yield _parse(body)

    def _take_header(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", self._searched)
        if end < 0:
            if len(self._buffer) > MAX_HEADER:
                raise ConnectionLost("what answers there sends no frames; is it a daemon?")
            self._searched = max(0, len(self._buffer) - 3)
            return False
        self._length = _content_length(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        self._searched = 0
        return True


def _content_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            # A number of thousands of digits would cost more to read than the limit allows.
            length = int(value) if len(value) < 20 else MAX_MESSAGE + 1
            if length > MAX_MESSAGE:
                raise ConnectionLost("the daemon announced a message beyond the protocol's limit")
            return length
    raise ConnectionLost("what answers there sends no frames; is it a daemon?")


def _parse(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise ConnectionLost("the daemon sent a message that is no JSON") from error
    if not isinstance(message, dict):
        raise ConnectionLost("the daemon sent a message that is no object")
    return message

"""JSON-RPC 2.0 messages: bytes to checked parts, and parts to bytes. No I/O.

What clients put inside `params` stays plain JSON; only the outermost object is looked at, so a
member named `jsonrpc` inside an entry means nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, Protocol, TypeAlias

import msgspec
import pydantic_core
from pydantic import BaseModel

from pisessiond.protocol.errors import RpcError

RequestId: TypeAlias = str | int


class HasWire(Protocol):
    """A result or params that knows its JSON text."""

    def to_wire(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RawJson:
    """JSON text that is there already; it is put into a message untouched."""

    data: bytes

    def to_wire(self) -> bytes:
        return self.data


@dataclass(frozen=True, slots=True)
class Message:
    """What a client sent, its shape checked."""

    id: RequestId | None
    """None for a notification."""
    method: str | None
    """None for a response."""
    params: dict[str, Any] | list[Any] | None
    raw: dict[str, Any]
    """The whole object."""


class BadMessage(Exception):
    """What came is no message; the error says so and `id` may tell which."""

    def __init__(
        self,
        kind: Literal["ParseError", "InvalidRequest", "InvalidParams"],
        reason: str,
        request_id: RequestId | None = None,
    ) -> None:
        super().__init__(reason)
        self.error = RpcError(kind, reason)
        self.id = request_id


def parse_message(body: bytes) -> Message:
    """The message in a body.

    Raises:
        BadMessage: It is no JSON, or no single JSON-RPC 2.0 message.
    """
    raw = _parse_json(body)
    if isinstance(raw, list):
        raise BadMessage("InvalidRequest", "Batches are not accepted; send single messages.")
    if not isinstance(raw, dict):
        raise BadMessage("InvalidRequest", "A message must be a JSON object.")
    given = raw.get("id")
    # `type` rather than isinstance: true and false are integers to Python.
    request_id: RequestId | None = given if type(given) in (int, str) else None
    method = raw.get("method")
    if raw.get("jsonrpc") != "2.0":
        raise BadMessage("InvalidRequest", 'The member jsonrpc must be "2.0".', request_id)
    if "method" in raw and type(method) is not str:
        raise BadMessage("InvalidRequest", "The method must be a string.", request_id)
    if method is None:
        return _response_message(raw, request_id)
    if "id" in raw and request_id is None:
        raise BadMessage("InvalidRequest", "The id must be a string or an integer.")
    params = raw.get("params")
    if params is not None and not isinstance(params, dict | list):
        raise BadMessage("InvalidParams", "The params must be an object.", request_id)
    return Message(request_id, method, params, raw)


def _response_message(raw: dict[str, Any], request_id: RequestId | None) -> Message:
    if "result" not in raw and "error" not in raw:
        raise BadMessage("InvalidRequest", "Neither a request nor a response.", request_id)
    # An error answer to what the daemon could not be understood in carries a null id.
    if request_id is None and not (raw.get("id", 0) is None and "error" in raw):
        raise BadMessage("InvalidRequest", "The id must be a string or an integer.")
    return Message(request_id, None, None, raw)


def _parse_json(body: bytes) -> Any:
    try:
        return pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError:
        pass
    # JavaScript writes half a surrogate pair as an escape where a string was cut in the middle
    # of one. The quick parser refuses that, as it does deep nesting; the slow one takes both.
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise BadMessage("ParseError", "The body is nested too deep.") from None
    except ValueError:
        # The parser's own message may quote the text; this one cannot.
        raise BadMessage("ParseError", "The body is not JSON in UTF-8.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def encode(value: Any) -> bytes:
    """The JSON text of a plain value, in UTF-8, lone surrogates as escapes."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return _encode_slowly(value)


def _encode_result(value: HasWire | None) -> bytes:
    if value is None:
        return b"null"
    if isinstance(value, RawJson):
        return value.data
    try:
        return value.to_wire()
    except pydantic_core.PydanticSerializationError:
        assert isinstance(value, BaseModel)
        return _encode_slowly(value.model_dump(mode="python", by_alias=True, exclude_unset=True))


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _encode_slowly(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def response(request_id: RequestId, result: HasWire | None) -> bytes:
    """The answer to a request."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), _encode_result(result))


def error_response(request_id: RequestId | None, error: RpcError) -> bytes:
    """The refusal of a request; a null id when it is not known which."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(request_id), encode(error.to_wire()))


def notification(method: str, params: HasWire) -> bytes:
    """What the daemon tells unasked."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), _encode_result(params))


def request(request_id: RequestId, method: str, params: HasWire) -> bytes:
    """What the daemon asks of a client."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (
        encode(request_id),
        encode(method),
        _encode_result(params),
    )


def encode_result(result: HasWire | None) -> RawJson:
    """A result as the JSON text that `response` would put in."""
    return RawJson(_encode_result(result))

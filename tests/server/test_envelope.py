"""Messages to parts, and parts to messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pisessiond.protocol.errors import RpcError
from pisessiond.protocol.session_models import CloseParams
from pisessiond.server import envelope
from pisessiond.server.envelope import BadMessage, RawJson, parse_message


def bad(body: bytes | str) -> BadMessage:
    with pytest.raises(BadMessage) as caught:
        parse_message(body.encode() if isinstance(body, str) else body)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"{}{}",
        b"nul",
        b"\xff\xfe{\x00}\x00",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"x"}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xed\xa0\xbd"}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xc0\xaf"}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":01}}',
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0","method":"x",}',
        "{}".encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    error = bad(body)
    assert (error.error.code, error.id) == (-32700, None)


@pytest.mark.parametrize(
    ("body", "request_id"),
    [
        ("[]", None),
        ('[{"jsonrpc":"2.0","id":1,"method":"x"}]', None),
        ("5", None),
        ("null", None),
        ('"x"', None),
        ("{}", None),
        ('{"id":1,"method":"x"}', 1),
        ('{"jsonrpc":"1.0","id":"a","method":"x"}', "a"),
        ('{"jsonrpc":2.0,"id":1,"method":"x"}', 1),
        ('{"jsonrpc":"2.0","id":1,"method":5}', 1),
        ('{"jsonrpc":"2.0","id":1,"method":null}', 1),
        ('{"jsonrpc":"2.0","id":1,"method":["x"]}', 1),
        ('{"jsonrpc":"2.0","id":{},"method":"x"}', None),
        ('{"jsonrpc":"2.0","id":[1],"method":"x"}', None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"x"}', None),
        ('{"jsonrpc":"2.0","id":true,"method":"x"}', None),
        ('{"jsonrpc":"2.0","id":null,"method":"x"}', None),
        ('{"jsonrpc":"2.0","id":1}', 1),
        ('{"jsonrpc":"2.0","result":1}', None),
    ],
)
def test_what_is_no_message_is_an_invalid_request(body: str, request_id: object) -> None:
    error = bad(body)
    assert (error.error.code, error.id) == (-32600, request_id)


@pytest.mark.parametrize("params", ["5", '"x"', "true"])
def test_params_are_an_object_or_a_list(params: str) -> None:
    error = bad(f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}')
    assert (error.error.code, error.id) == (-32602, 1)


@pytest.mark.parametrize(
    "params",
    [
        {"from": 1, "class": 2, "_x": 3, "a-b": 4, "type_name": "1 bad"},
        {"entry": {"jsonrpc": "2.0", "id": 5, "method": "exit"}},
        {"n": 123456789012345678901234567890, "s": "\u2028\0"},
        {"half": "\ud83d", "\ude00": 1},
        [1, None],
    ],
)
def test_params_come_as_they_are(params: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": params}).encode()
    assert parse_message(body).params == params


def test_deep_params_are_taken() -> None:
    deep = '{"jsonrpc":"2.0","method":"x","params":' + '{"a":' * 500 + "1" + "}" * 501
    assert parse_message(deep.encode()).method == "x"


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc":"2.0","id":1,"result":null}',
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}',
    ],
)
def test_a_response_has_no_method(body: str) -> None:
    assert parse_message(body.encode()).method is None


def test_a_lone_surrogate_goes_out_as_the_escape_it_came_as() -> None:
    assert envelope.encode({"a": "é\ud83d", "\ude00": "😀"}) == (
        '{"a":"é\\ud83d","\\ude00":"😀"}'.encode()
    )
    sent = envelope.response(1, CloseParams(session="\ud83d"))
    assert sent == b'{"jsonrpc":"2.0","id":1,"result":{"session":"\\ud83d"}}'


def test_raw_json_is_put_in_untouched() -> None:
    sent = envelope.response("é", RawJson(b'{"a": 5e-06 }'))
    assert sent == '{"jsonrpc":"2.0","id":"é","result":{"a": 5e-06 }}'.encode()


def test_a_result_of_nothing_is_null() -> None:
    assert envelope.response(1, None) == b'{"jsonrpc":"2.0","id":1,"result":null}'


def test_an_error_carries_code_kind_and_data() -> None:
    error = RpcError("LeafMoved", "moved", leaf="é", rev=3)
    assert json.loads(envelope.error_response(None, error)) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": 1009,
            "message": "moved",
            "data": {"kind": "LeafMoved", "leaf": "é", "rev": 3},
        },
    }

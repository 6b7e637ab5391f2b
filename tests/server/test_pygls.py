"""What is expected of pygls, one contract each: when one breaks, a new pygls behaves otherwise."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import weakref
from typing import Any, cast

import pytest
from lsprotocol import types as lsp

from pisessiond.core.problems import Problem
from pisessiond.core.rows.outline import MAX_DEPTH
from pisessiond.protocol.errors import RpcError
from pisessiond.server.envelope import Message
from pisessiond.server.lsp.capabilities import FEATURES, editor_view, lsp_capabilities
from pisessiond.server.lsp.converter import prepare, shared_converter
from pisessiond.server.lsp.documents import Documents
from pisessiond.server.lsp.server import PiProtocol, PiServer
from pisessiond.service.problem_places import LocatedProblem


class Made:
    """A server whose writings are kept."""

    def __init__(self, capabilities: dict[str, Any] | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        documents = Documents(cast("Any", None), lambda document: None, lambda: None)
        capabilities = capabilities or {}
        params = {"capabilities": capabilities, "initializationOptions": {"a": {"b": 1}}}
        self.server = PiServer(self.put, documents, editor_view(capabilities), params)

    def put(self, body: bytes) -> None:
        self.sent.append(json.loads(body))

    def feed(self, prepared: Any = None, **raw: Any) -> list[dict[str, Any]]:
        raw = {"jsonrpc": "2.0", **raw}
        message = Message(raw.get("id"), raw.get("method"), raw.get("params"), raw)
        self.server.answer(self.server.read(message), prepared)
        sent, self.sent = self.sent, []
        return sent


def test_a_server_is_made_without_a_loop_and_answers_nothing_to_initialize() -> None:
    assert Made().sent == []


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"general": {"positionEncodings": ["utf-8", "utf-16"]}},
        {"general": {"positionEncodings": ["utf-16", "utf-32"]}},
        {"general": {"positionEncodings": ["utf-7"]}},
        {"general": {}},
        {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}},
    ],
)
def test_what_we_announce_is_what_pygls_would(capabilities: dict[str, Any]) -> None:
    announced = shared_converter().unstructure(Made(capabilities).server.server_capabilities)
    for name, ours in lsp_capabilities(capabilities).items():
        # Commands never reach pygls: it answers that they are cancelled, and lets them run.
        assert name == "executeCommandProvider" or announced[name] == ours, name


def test_every_method_that_goes_to_pygls_has_a_feature_there() -> None:
    manager = Made().server.protocol.fm
    assert set(FEATURES) <= {*manager.features, *manager.builtin_features}


@pytest.mark.parametrize("method", sorted(FEATURES))
def test_a_feature_hands_over_within_the_call_what_was_fetched(method: str) -> None:
    made = Made()
    place = {"line": 0, "character": 0}
    params = {
        "textDocument": {"uri": "file:///s"},
        "position": place,
        "range": {"start": place, "end": place},
        "context": {"diagnostics": [], "includeDeclaration": True},
    }
    (answer,) = made.feed(None, id="x", method=method, params=params)
    assert answer == {"id": "x", "jsonrpc": "2.0", "result": None}
    hover = lsp.Hover(contents=lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value="text"))
    if method == "textDocument/hover":
        (answer,) = made.feed(hover, id="y", method=method, params=params)
        assert answer["result"]["contents"]["value"] == "text"
    assert made.server._prepared is None


def test_no_future_stays_behind() -> None:
    made = Made()
    for number in range(50):
        params = {"textDocument": {"uri": f"file:///{number}"}}
        made.feed([], id=number, method="textDocument/documentSymbol", params=params)
    assert made.server.protocol._request_futures == {}


def test_symbols_as_deep_as_we_nest_them_are_encoded() -> None:
    place = lsp.Position(line=0, character=0)
    where = lsp.Range(start=place, end=place)
    symbol = None
    for _ in range(MAX_DEPTH + 1):
        symbol = lsp.DocumentSymbol(
            name="x",
            kind=lsp.SymbolKind.Class,
            range=where,
            selection_range=where,
            children=[symbol] if symbol else None,
        )
    params = {"textDocument": {"uri": "file:///s"}}
    (answer,) = Made().feed([symbol], id=1, method="textDocument/documentSymbol", params=params)
    depth, inside = 0, answer["result"]
    while inside:
        depth, inside = depth + 1, inside[0].get("children")
    assert depth == MAX_DEPTH + 1


def test_exit_does_not_end_the_process() -> None:
    assert Made().feed(method="exit") == []


@pytest.mark.parametrize("params", [{"type_name": "1 bad"}, {"jsonrpc": 1}, None, [1]])
def test_unknown_methods_are_answered_whatever_their_params(params: object) -> None:
    raw = {"params": params} if params is not None else {}
    (answer,) = Made().feed(id=1, method="no/such", **raw)
    assert answer["error"]["code"] == -32601


def test_params_that_are_not_lsps_raise_before_anything_is_sent() -> None:
    made = Made()
    with pytest.raises(RpcError) as caught:
        made.feed(id=1, method="textDocument/documentSymbol", params={"textDocument": {}})
    assert caught.value.kind == "InvalidParams"
    assert made.sent == []


def test_an_answer_that_cannot_be_encoded_is_an_error_answer() -> None:
    made = Made()

    @made.server.feature("test/set")
    def feature(server: PiServer, params: object) -> object:
        return {"x": {1, 2}}

    (answer,) = made.feed(id=9, method="test/set", params={})
    assert (answer["id"], answer["error"]["code"]) == (9, -32603)


def test_a_closed_server_is_let_go() -> None:
    made = Made()
    made.feed(id=1, method="textDocument/documentSymbol", params={"textDocument": {"uri": "a"}})
    gone = weakref.ref(made.server)
    protocol = weakref.ref(made.server.protocol)
    del made
    gc.collect()
    assert gone() is None
    assert protocol() is None


def test_what_is_encoded_in_a_worker_is_what_pygls_would_answer() -> None:
    place = lsp.Position(line=0, character=0)
    where = lsp.Range(start=place, end=place)
    kind = lsp.SymbolKind.Class
    symbol = lsp.DocumentSymbol(name="x", kind=kind, range=where, selection_range=where)
    asked: dict[str, Any] = {"id": 1, "method": "textDocument/documentSymbol"}
    asked["params"] = {"textDocument": {"uri": "file:///s"}}
    (answer,) = Made().feed([symbol], **asked)
    assert json.loads(prepare([symbol]).data) == answer["result"]


def test_the_converter_is_shared() -> None:
    assert shared_converter() is shared_converter()
    assert Made().server.protocol._converter is shared_converter()


def test_types_are_looked_up_without_a_cache() -> None:
    for name in ("get_message_type", "get_result_type"):
        assert not hasattr(getattr(PiProtocol, name), "cache_info")
    protocol = Made().server.protocol
    assert protocol.get_message_type("textDocument/didOpen") is lsp.DidOpenTextDocumentNotification
    assert protocol.get_result_type("shutdown") is lsp.ShutdownResponse
    assert protocol.get_message_type("session/open") is None


class Records(logging.Handler):
    """Keeps what reaches it. (pytest's own catches what is kept from the root on purpose.)"""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


def test_pygls_logs_no_text() -> None:
    made = Made()
    root, records = logging.getLogger(), Records()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        with pytest.raises(RpcError):
            made.feed(id=1, method="textDocument/documentSymbol", params={"a": "secret"})
        made.feed(id=2, method="secret", params={"a": "secret"})
        made.server.publish("file:///secret", [LocatedProblem(Problem("badLine", "secret"), None)])
    finally:
        root.setLevel(level)
        root.removeHandler(records)
    assert any("pygls.protocol.json_rpc line" in text for text in records.texts)
    assert not any("secret" in text for text in records.texts)


def test_no_task_is_started(anyio_backend: str) -> None:
    async def main() -> int:
        made = Made()
        params = {"textDocument": {"uri": "a"}}
        made.feed(id=1, method="textDocument/documentSymbol", params=params)
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_an_answer_to_a_request_of_pyglss_reaches_it_and_others_do_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = Made()
    future = made.server.protocol.send_request("workspace/workspaceFolders")
    (asked,) = made.sent

    def answer(request_id: object, **more: Any) -> None:
        raw = {"jsonrpc": "2.0", "id": request_id, **more}
        made.server.take_answer(Message(cast("Any", request_id), None, None, raw))

    with caplog.at_level(logging.DEBUG):
        for other in ("pd:1", 1, "x"):
            answer(other, result=None)
        assert not future.done()
        answer(asked["id"], result=[{"uri": "file:///a", "name": "a"}])
        answer(asked["id"], result=[])
    assert future.result()[0].name == "a"
    assert made.server.protocol.unanswered == set()
    assert caplog.text == ""


def test_an_answer_that_pygls_cannot_read_spoils_nothing() -> None:
    made = Made()
    made.server.protocol.send_request("workspace/workspaceFolders")
    (asked,) = made.sent
    raw = {"jsonrpc": "2.0", "id": asked["id"], "result": "none"}
    made.server.take_answer(Message(asked["id"], None, None, raw))
    assert made.feed(id=1, method="no/such")[-1]["error"]["code"] == -32601

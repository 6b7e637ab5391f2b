"""The converter between LSP's types and JSON that all connections share, and what pygls may log."""

from __future__ import annotations

import logging
import threading
from typing import Any

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    default_converter,
)

from pisessiond.server.envelope import RawJson, encode

log = logging.getLogger(__name__)


def prepare(values: list[Any]) -> RawJson:
    """A long list of LSP's types as the JSON of an answer; for workers.

    pygls encodes on the event loop, where thousands of symbols would keep everybody waiting.
    """
    return RawJson(encode(shared_converter().unstructure(values)))


class _Quiet(logging.Handler):
    """Keeps conversation text out of the log.

    pygls logs whole params of requests that fail, and whole bodies it sends; only where in pygls
    something went wrong is passed on.
    """

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        log.log(
            record.levelno,
            "%s line %d%s",
            record.name,
            record.lineno,
            f": {kind.__name__}" if kind else "",
        )


def _hold_log() -> None:
    held = logging.getLogger("pygls")
    held.setLevel(logging.WARNING)
    held.propagate = False
    held.handlers = [_Quiet()]


def _generic(given: dict[str, Any], cls: type[Any]) -> Any:
    """A message of a method LSP does not have, its params left as they are.

    pygls turns them into a new class for each object, which loses names, leaks, and fails
    without an answer when there are no params.
    """
    members = {"params": None} if cls is not JsonRPCResponseMessage else {"result": None}
    wanted = ("id", "jsonrpc", "method", "params", "result")
    known = {one.name for one in cls.__attrs_attrs__}
    return cls(**{**members, **{k: given[k] for k in wanted if k in given and k in known}})


_converter: Converter | None = None
_converter_lock = threading.Lock()


def shared_converter() -> Converter:
    """The one converter of all connections: each costs 54 to 129 ms to make and 80 KB to keep."""
    global _converter  # noqa: PLW0603
    with _converter_lock:
        if _converter is None:
            _hold_log()
            made: Converter = default_converter()  # type: ignore[no-untyped-call]
            for cls in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
                made.register_structure_hook(cls, _generic)
            # cattrs writes its code for a type at first use, which is 66 ms for this one.
            made.structure({"capabilities": {}}, lsp.InitializeParams)
            _converter = made
        return _converter

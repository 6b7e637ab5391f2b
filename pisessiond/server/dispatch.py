"""Which function answers which method: the handlers bound to the table of the protocol."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from pisessiond.protocol import methods, pi_methods
from pisessiond.protocol.conversion import from_validation
from pisessiond.protocol.errors import invalid_params
from pisessiond.protocol.table import Method
from pisessiond.protocol.wire import WireModel
from pisessiond.server.envelope import RawJson
from pisessiond.server.handlers import (
    acts,
    context,
    daemon,
    files,
    lifecycle,
    live,
    pi,
    search,
    sessions,
    tree,
)

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection

P = TypeVar("P", bound=WireModel)
R = TypeVar("R", bound=BaseModel)
Answer: TypeAlias = R | RawJson | None


@dataclass(frozen=True, slots=True)
class Handler:
    """A method and the function that answers it."""

    method: Method[Any, Any]
    call: Callable[[Any, Any], Any]
    is_async: bool
    """A plain function runs at once, between two messages, and nothing can come in between."""

    def take(self, params: dict[str, Any] | list[Any] | None) -> WireModel:
        """The parameters as their model.

        Raises:
            RpcError: InvalidParams, naming the member.
        """
        if isinstance(params, list):
            raise invalid_params("", "send them by name, as an object")
        model: type[WireModel] = self.method.params
        try:
            # By alias only: a snake_case name is no parameter of the protocol.
            return model.__pydantic_validator__.validate_python(  # type: ignore[no-any-return]
                params if params is not None else {}, by_alias=True, by_name=False
            )
        except ValidationError as error:
            raise from_validation(error) from None


def _bind(
    method: Method[P, R],
    call: Callable[[Connection, P], Answer[R]] | Callable[[Connection, P], Awaitable[Answer[R]]],
) -> Handler:
    return Handler(method, call, inspect.iscoroutinefunction(call))


_ROWS: Final = (
    _bind(methods.INITIALIZE, lifecycle.initialize),
    _bind(methods.INITIALIZED, lifecycle.initialized),
    _bind(methods.SHUTDOWN, lifecycle.shutdown),
    _bind(methods.EXIT, lifecycle.exit_connection),
    _bind(methods.CANCEL, lifecycle.cancel),
    _bind(methods.STATUS, daemon.status),
    _bind(methods.DAEMON_SHUTDOWN, daemon.shutdown),
    _bind(methods.CREATE, sessions.create),
    _bind(methods.OPEN, sessions.open_session),
    _bind(methods.CLOSE, sessions.close),
    _bind(methods.SYNC, sessions.sync),
    _bind(methods.LIST, sessions.list_sessions),
    _bind(methods.SEARCH, search.search),
    _bind(methods.TREE, tree.tree),
    _bind(methods.ROWS, tree.rows),
    _bind(methods.BRANCHES, tree.branches),
    _bind(methods.GRAPH, tree.graph),
    _bind(methods.ENTRIES, tree.entries),
    _bind(methods.CONTEXT, context.context),
    _bind(methods.CONTEXT_SIZE, context.context_size),
    _bind(methods.STATS, context.stats),
    _bind(methods.COMPARE, context.compare),
    _bind(methods.SUMMARIZERS, context.summarizers),
    _bind(methods.CHECK, context.check),
    _bind(methods.EXPORT, files.export),
    _bind(methods.IMPORT, files.import_copy),
    _bind(methods.DELETE, files.delete),
    _bind(methods.APPEND, acts.append),
    _bind(methods.NAVIGATE, acts.navigate),
    _bind(methods.COMPACT, acts.compact),
    _bind(methods.CANCEL_OPERATION, acts.cancel_operation),
    _bind(methods.FORK, acts.fork),
    _bind(methods.CLONE, acts.clone),
    _bind(methods.LABEL, acts.label),
    _bind(methods.RENAME, acts.rename),
    _bind(methods.EDIT_CONTEXT, acts.edit_context),
    _bind(methods.PROMPT, live.prompt),
    _bind(methods.ABORT, live.abort),
    _bind(methods.REREAD, live.reread),
    _bind(pi_methods.ATTACH, pi.attach),
    _bind(pi_methods.DETACHED, pi.detached),
    _bind(pi_methods.DID_CHANGE, pi.did_change),
    _bind(pi_methods.DID_STATE, pi.did_state),
    _bind(pi_methods.WILL_NAVIGATE, pi.will_navigate),
    _bind(pi_methods.WILL_COMPACT, pi.will_compact),
)

HANDLERS: Final[dict[str, Handler]] = {row.method.name: row for row in _ROWS}
"""By method. That it holds each method of the table once is kept true by a test."""

BEFORE_INITIALIZE: Final = frozenset(
    method.name
    for method in (
        methods.INITIALIZE,
        methods.EXIT,
        methods.CANCEL,
        methods.STATUS,
        methods.DAEMON_SHUTDOWN,
    )
)
"""What is answered on a fresh connection; everything else gets -32002."""

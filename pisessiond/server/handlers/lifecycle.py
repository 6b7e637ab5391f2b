"""The life of one connection: initialize, initialized, shutdown, exit, $/cancelRequest."""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING

from pisessiond.protocol.errors import RpcError, unauthorized
from pisessiond.protocol.lifecycle_models import (
    Announcement,
    CancelParams,
    ClientOptions,
    InitializeParams,
    InitializeResult,
    Limits,
    NoParams,
    Null,
)
from pisessiond.protocol.methods import METHODS
from pisessiond.protocol.wire import (
    MAX_ANSWER_BYTES,
    MAX_CLIENTS,
    MAX_HEADER_BYTES,
    MAX_IN_FLIGHT,
    MAX_MESSAGE_BYTES,
    MAX_TREE_NODES,
    SUPPORTED_VERSIONS,
)
from pisessiond.server import pi_conversion
from pisessiond.server.identity import Client, plain_lsp_client
from pisessiond.server.lsp.capabilities import lsp_capabilities

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


def initialize(connection: Connection, params: InitializeParams) -> InitializeResult:
    """Agrees on a version and takes the client's name.

    The LSP half's capabilities are answered without loading it: scripts and the command line
    never need it, and it takes a quarter of a second and 20 MB.
    """
    if connection.phase != "new":
        raise RpcError("InvalidRequest", "initialize was already called on this connection.")
    given = params.initialization_options
    options = given.pisessiond if given is not None else None
    _admit(connection, options)
    said = None if options is None else options.pi
    version = max(SUPPORTED_VERSIONS) if options is None else _common_version(options)
    if options is None:
        client = plain_lsp_client(params.client_info)
    else:
        _check_agent_dir(connection, options)
        client = Client(
            id=options.client.id,
            name=options.client.name,
            cwd=options.cwd,
            session_dir=options.session_dir,
        )
    capabilities = lsp_capabilities(params.capabilities)
    announcement = Announcement(
        protocol_version=version,
        build=connection.state.about.version,
        limits=Limits(
            message=MAX_MESSAGE_BYTES,
            header=MAX_HEADER_BYTES,
            in_flight=MAX_IN_FLIGHT,
            clients=MAX_CLIENTS,
            answer=MAX_ANSWER_BYTES,
            tree_nodes=MAX_TREE_NODES,
        ),
        methods=[
            name
            for name, method in METHODS.items()
            if "/" in name
            and not name.startswith("$")
            and (method.kind != "pi" or said is not None)
        ],
    )
    capabilities["experimental"] = {"pisessiond": announcement.model_dump(by_alias=True)}
    pi = None if said is None else pi_conversion.process(said, connection.peer_pid)
    connection.begin(client, params, pi)
    connection.asking.offer(options.requests if options is not None else ())
    return InitializeResult(
        capabilities=capabilities,
        server_info={"name": "pisessiond", "version": connection.state.about.version},
    )


def _admit(connection: Connection, options: ClientOptions | None) -> None:
    """Lets a client in, or ends its connection."""
    if connection.must_show_token:
        shown = options.token if options is not None else None
        token = connection.state.about.token
        if not (shown and token and hmac.compare_digest(shown.encode(), token.encode())):
            connection.close_soon()
            raise unauthorized()
    known = sum(other.phase != "new" for other in connection.state.connections)
    if known >= MAX_CLIENTS:
        connection.close_soon()
        raise RpcError(
            "Overloaded",
            f"The daemon has {known} clients, and takes no more; close some, then try again.",
        )


def _common_version(options: ClientOptions) -> int:
    common = set(options.protocol_versions) & set(SUPPORTED_VERSIONS)
    if not common:
        raise RpcError(
            "VersionUnsupported",
            f"No common protocol version; this daemon speaks {list(SUPPORTED_VERSIONS)}. "
            "Bring client and daemon to the same release.",
            supported=list(SUPPORTED_VERSIONS),
        )
    return max(common)


def _check_agent_dir(connection: Connection, options: ClientOptions) -> None:
    about = connection.state.about
    if about.agent_dir is None or options.agent_dir is None:
        return
    if os.path.realpath(options.agent_dir) != os.path.realpath(about.agent_dir):
        raise RpcError(
            "WrongAgentDir",
            "This daemon serves another agent folder; start one for yours.",
            address=about.address,
        )


def initialized(_connection: Connection, _: NoParams) -> None:
    """Nothing waits for it."""


def shutdown(connection: Connection, _: NoParams) -> Null:
    """Lets only `exit` pass from now on. Requests at work go on to their answers."""
    connection.phase = "shut"
    return Null(None)


def exit_connection(connection: Connection, _: NoParams) -> None:
    """Ends this connection; the daemon and the other clients go on."""
    connection.exited_early = connection.phase != "shut"
    connection.close_soon()


def cancel(connection: Connection, params: CancelParams) -> None:
    """Cancels a request of this client; one that has ended already is no error."""
    connection.requests.cancel(params.id)

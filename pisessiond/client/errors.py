"""What can go wrong between a client and its daemon: one small family of errors."""

from __future__ import annotations

from typing import Any, Literal


class ClientError(Exception):
    """The base of all that the client raises by itself."""


class NoDaemon(ClientError):
    """Nobody answers at the address, or there is no address to try."""


class Unsafe(NoDaemon):
    """The state folder, or what lies in it, is not private to this user."""


class NotRunning(NoDaemon):
    """There is no daemon at the one address, and none was to be started."""


class ConnectionLost(ClientError):
    """The connection ended while something was still expected of it."""


class RpcFailure(ClientError):
    """The daemon refused a request; nothing was changed."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        """The JSON-RPC code."""
        self.message = message
        """A sentence for people: what happened and what they can do."""
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        """Members that belong to the kind, such as `leaf` and `rev` of `LeafMoved`."""

    @property
    def kind(self) -> str:
        """The stable word of the protocol (`EntryNotFound`, …), made from the code if it has none.

        Plain JSON-RPC errors, such as an unknown method, may carry no word of their own.
        """
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else _JSON_RPC_KINDS.get(self.code, "Error")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind}, {self.code}, {self.message!r})"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a request was at work: it was cancelled, and this says what became of it."""

    def __init__(
        self,
        outcome: Literal["cancelled", "done", "unknown"],
        result: Any = None,
        failure: RpcFailure | None = None,
    ) -> None:
        super().__init__()
        self.outcome = outcome
        """`cancelled`: nothing was changed. `done`: it was too late for that. `unknown`: the daemon
        said nothing in time."""
        self.result = result
        """What it answered; where it was done."""
        self.failure = failure
        """What the daemon said of the cancelling, or why the request failed anyway."""


def no_daemon(path: str, error: OSError) -> NoDaemon:
    """Why no connection to a socket could be made, and what to do."""
    if isinstance(error, PermissionError):
        return NoDaemon(f"the socket {path} belongs to someone else")
    if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
        start = f"pisessiond serve --socket {path}"
        return NoDaemon(f"no daemon listens on {path}; start one with: {start}")
    return NoDaemon(f"no connection to {path}: {error.strerror or error}")


_JSON_RPC_KINDS = {
    -32700: "ParseError",
    -32600: "InvalidRequest",
    -32601: "MethodNotFound",
    -32602: "InvalidParams",
    -32603: "InternalError",
    -32002: "NotInitialized",
    -32800: "Cancelled",
}

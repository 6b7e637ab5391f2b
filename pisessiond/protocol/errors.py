"""The kinds of errors on the wire, their JSON-RPC codes, and the exception that carries one.

This is the only table of codes. A client decides by `data.kind`, which is stable; the message
says what happened and what to do, and holds no stack trace and no content of a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

ErrorKind = Literal[
    "ParseError",
    "InvalidRequest",
    "MethodNotFound",
    "InvalidParams",
    "InternalError",
    "NotInitialized",
    "Cancelled",
    "EntryNotFound",
    "SessionNotFound",
    "AmbiguousSession",
    "SessionExists",
    "NotASession",
    "InvalidEntry",
    "DuplicateEntry",
    "NotOnBranch",
    "LeafMoved",
    "Busy",
    "NothingToCompact",
    "CannotShrink",
    "SummaryFailed",
    "BadSetting",
    "NoSummarizer",
    "AmbiguousOwner",
    "Unsupported",
    "SessionChanged",
    "PiUnknown",
    "ReadOnly",
    "Unreadable",
    "Degraded",
    "FileChanged",
    "TooLarge",
    "Overloaded",
    "Unauthorized",
    "VersionUnsupported",
    "WrongAgentDir",
]


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One line of the table."""

    code: int
    """JSON-RPC code."""
    meaning: str
    """When it is answered."""
    data: tuple[str, ...] = ()
    """Members of `data` beside `kind`."""


# JSON-RPC keeps -32768 to -32000 for itself and LSP -32899 to -32800; ours are plain positive
# numbers, so that no library takes one for something else.
ERRORS: Final[dict[ErrorKind, ErrorRow]] = {
    "ParseError": ErrorRow(-32700, "The body is not JSON in UTF-8."),
    "InvalidRequest": ErrorRow(-32600, "Not a JSON-RPC 2.0 message, or one not allowed now."),
    "MethodNotFound": ErrorRow(-32601, "No such method.", ("method",)),
    "InvalidParams": ErrorRow(
        -32602, "A parameter is missing, unknown or wrong.", ("path", "errors")
    ),
    "InternalError": ErrorRow(-32603, "A fault of the daemon; its log says more."),
    "NotInitialized": ErrorRow(-32002, "Send initialize first."),
    "Cancelled": ErrorRow(-32800, "The request was cancelled before it changed anything."),
    "EntryNotFound": ErrorRow(1001, "No entry of the session has that id.", ("entry",)),
    "SessionNotFound": ErrorRow(1002, "No session has that handle, id or path.", ("session",)),
    "AmbiguousSession": ErrorRow(1003, "Several files carry the id.", ("session", "paths")),
    "SessionExists": ErrorRow(1004, "A session with that id or path is there already."),
    "NotASession": ErrorRow(1005, "The file holds something else; it was left untouched."),
    "InvalidEntry": ErrorRow(1006, "The entry is not one that pi could read back.", ("path",)),
    "DuplicateEntry": ErrorRow(1007, "Another entry already has the id.", ("entry",)),
    "NotOnBranch": ErrorRow(1008, "The entry is not on the active branch.", ("entry",)),
    "LeafMoved": ErrorRow(1009, "The leaf is not `baseLeaf`.", ("leaf", "rev")),
    "Busy": ErrorRow(1010, "Another operation holds the session.", ("operation", "client")),
    "NothingToCompact": ErrorRow(1011, "A compaction would summarise nothing."),
    "CannotShrink": ErrorRow(
        1012, "A compaction would not make the context smaller.", ("before", "after")
    ),
    "SummaryFailed": ErrorRow(
        1013, "No usable summary came back; nothing was written.", ("summarizer", "reason")
    ),
    "NoSummarizer": ErrorRow(1014, "Nothing here can write a summary.", ("choices",)),
    "ReadOnly": ErrorRow(1015, "The session cannot be written.", ("owner",)),
    "Unreadable": ErrorRow(1016, "The system does not let the daemon read the file."),
    "Degraded": ErrorRow(1017, "A write failed and was taken back (disk full, sync failed)."),
    "FileChanged": ErrorRow(1018, "Another program truncated or rewrote the file."),
    "TooLarge": ErrorRow(1019, "More than the limits allow."),
    "Overloaded": ErrorRow(1020, "The daemon has too much to do; try again."),
    "Unauthorized": ErrorRow(1021, "The token is missing or wrong."),
    "VersionUnsupported": ErrorRow(1022, "No protocol version in common.", ("supported",)),
    "WrongAgentDir": ErrorRow(1023, "This daemon serves another agent folder.", ("address",)),
    "BadSetting": ErrorRow(
        1024, "A settings file holds a value that means nothing.", ("file", "key")
    ),
    "AmbiguousOwner": ErrorRow(
        1025, "Several running pi have the session open; name one in `pi`.", ("choices",)
    ),
    "Unsupported": ErrorRow(1026, "The running pi cannot do this from outside.", ("needs",)),
    "SessionChanged": ErrorRow(1027, "That pi has another session open by now.", ("session",)),
    "PiUnknown": ErrorRow(
        1028, "The running pi gave no answer; it may have done it, look before trying again."
    ),
}

assert set(ERRORS) == set(get_args(ErrorKind))


class RpcError(Exception):
    """An error as it goes on the wire."""

    def __init__(self, kind: ErrorKind, message: str, /, **data: Any) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.code = ERRORS[kind].code
        self.message = message
        self.data: dict[str, Any] = {"kind": kind, **data}

    def to_wire(self) -> dict[str, Any]:
        """The `error` member of a response."""
        return {"code": self.code, "message": self.message, "data": self.data}


def invalid_params(path: str, reason: str) -> RpcError:
    """The refusal of one parameter; `path` is its name on the wire, dotted."""
    message = f"Invalid parameter {path}: {reason}" if path else f"Invalid parameters: {reason}"
    return RpcError("InvalidParams", message, path=path)


def unauthorized() -> RpcError:
    """The refusal of a client on TCP that does not show the token."""
    return RpcError(
        "Unauthorized",
        "On TCP the first message is initialize, with the daemon's token in "
        "initializationOptions.pisessiond.token; the daemon's file `token` holds it.",
    )

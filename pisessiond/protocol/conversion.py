"""Errors of the rules, as they go on the wire. The one module here that knows the core."""

from __future__ import annotations

from pydantic import ValidationError

from pisessiond.core import errors as core
from pisessiond.protocol.errors import RpcError


def from_core(error: core.SessionError) -> RpcError:
    """The wire form of what the rules of a session refused."""
    message = str(error)
    match error:
        case core.EntryNotFound():
            return RpcError("EntryNotFound", message, entry=error.entry_id)
        case core.InvalidEntry():
            return RpcError("InvalidEntry", message, path=error.path)
        case core.DuplicateEntry():
            return RpcError("DuplicateEntry", message, entry=error.entry_id)
        case core.NotOnBranch():
            return RpcError("NotOnBranch", message, entry=error.entry_id)
        case core.NothingToCompact():
            return RpcError("NothingToCompact", message)
        case core.CannotShrink():
            return RpcError("CannotShrink", message, before=error.before, after=error.after)
        case core.BadSetting():
            return RpcError("BadSetting", message, file=error.file, key=error.key)
        case core.NotASession():
            return RpcError("NotASession", message)
        case core.ReadOnlySession():
            return RpcError("ReadOnly", message)
        case _:
            return RpcError("InternalError", f"Internal error ({type(error).__name__}).")


def from_validation(error: ValidationError) -> RpcError:
    """The refusal of parameters: where and why, never the values that were sent."""
    errors = [
        {"path": ".".join(str(step) for step in found["loc"]), "reason": found["msg"]}
        for found in error.errors(include_url=False, include_input=False, include_context=False)
    ][:20]
    first = errors[0]
    where = f" {first['path']}" if first["path"] else "s"
    return RpcError(
        "InvalidParams",
        f"Invalid parameter{where}: {first['reason']}",
        path=first["path"],
        errors=errors,
    )

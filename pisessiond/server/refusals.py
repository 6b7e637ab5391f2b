"""What the service refuses as errors of the wire."""

from __future__ import annotations

import logging

from pisessiond.core.errors import SessionError
from pisessiond.protocol.conversion import from_core
from pisessiond.protocol.errors import RpcError
from pisessiond.service import errors as service
from pisessiond.service.faults import log_fault
from pisessiond.summarizers.base import NoSummarizer, SummaryFailed

log = logging.getLogger(__name__)


def to_rpc_error(error: Exception, method: str) -> RpcError:
    """The wire form of whatever a handler raised.

    What nobody foresaw is logged; the client is told the class and no more.
    """
    match error:
        case RpcError():
            return error
        case SessionError():
            return from_core(error)
        case service.ServiceError():
            return _from_service(error)
        case NoSummarizer():
            return RpcError("NoSummarizer", str(error), choices=list(error.choices))
        case SummaryFailed():
            return RpcError(
                "SummaryFailed", str(error), summarizer=error.summarizer, reason=error.reason
            )
        case _:
            log_fault(log, f"{method} failed", error)
            return RpcError("InternalError", f"Internal error ({type(error).__name__}).")


def _from_service(error: service.ServiceError) -> RpcError:
    message = str(error)
    match error:
        case service.SessionNotFound():
            return RpcError("SessionNotFound", message, session=error.session)
        case service.AmbiguousSession():
            paths = list(error.paths)
            return RpcError("AmbiguousSession", message, session=error.session, paths=paths)
        case service.SessionExists():
            return RpcError("SessionExists", message)
        case service.LeafMoved():
            return RpcError("LeafMoved", message, leaf=error.leaf, rev=error.rev)
        case service.Busy():
            return RpcError("Busy", message, operation=error.operation, client=error.client)
        case service.OperationCancelled():
            by = {} if error.by is None else {"by": error.by}
            return RpcError("Cancelled", message, **by)
        case service.InvalidRequest():
            return RpcError("InvalidParams", f"Invalid parameter {message}", path=error.path)
        case service.ReadOnly():
            owner = {} if error.owner is None else {"owner": error.owner}
            return RpcError("ReadOnly", message, **owner)
        case service.Unreadable():
            return RpcError("Unreadable", message)
        case service.Degraded() | service.NotThrownAway():
            return RpcError("Degraded", message)
        case service.TooLarge():
            return RpcError("TooLarge", message)
        case service.FileChanged():
            return RpcError("FileChanged", message)
        case _:
            return _of_a_pi(error)


def _of_a_pi(error: service.ServiceError) -> RpcError:
    """What the running pi that has the session open cannot or may not do."""
    message = str(error)
    match error:
        case service.AmbiguousOwner():
            return RpcError("AmbiguousOwner", message, choices=list(error.choices))
        case service.Unsupported():
            return RpcError("Unsupported", message, needs=error.needs)
        case service.SessionChanged():
            return RpcError("SessionChanged", message, session=error.session)
        case service.PiUnknown():
            return RpcError("PiUnknown", message)
        case service.PiRefused():
            return RpcError("InvalidRequest", message)
        case _:
            return RpcError("InternalError", f"Internal error ({type(error).__name__}).")

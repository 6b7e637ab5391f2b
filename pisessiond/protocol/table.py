"""What a row of the table of methods says: requests, notifications, and what the daemon asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel

from pisessiond.protocol.errors import ErrorKind
from pisessiond.protocol.wire import WireModel

Kind: TypeAlias = Literal["lifecycle", "read", "mutation", "pi"]
"""Of the connection or the daemon; changing nothing; changing a session; for bridges inside a
running pi alone, and no method at all to anyone else."""

P_co = TypeVar("P_co", bound=WireModel, covariant=True)
R_co = TypeVar("R_co", bound=BaseModel, covariant=True)


@dataclass(frozen=True, slots=True)
class Method(Generic[P_co, R_co]):
    """A request a client can send, or with `result` None a notification."""

    name: str
    kind: Kind
    params: type[P_co]
    result: type[R_co] | None
    summary: str
    errors: tuple[ErrorKind, ...] = ()
    """Kinds it answers beside those any request can get."""


@dataclass(frozen=True, slots=True)
class Notification(Generic[P_co]):
    """What the daemon tells unasked."""

    name: str
    params: type[P_co]
    summary: str


@dataclass(frozen=True, slots=True)
class Asked(Generic[P_co, R_co]):
    """A request that the daemon sends to clients which offer to answer it."""

    name: str
    params: type[P_co]
    result: type[R_co]
    seconds: float
    """How long it waits for the answer."""
    summary: str


ANY_REQUEST: Final[tuple[ErrorKind, ...]] = (
    "InvalidRequest",
    "InvalidParams",
    "InternalError",
    "NotInitialized",
    "Cancelled",
)
"""What any request can get."""

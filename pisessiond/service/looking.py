"""Looking at a session whose sizes are known, as it stands at one moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from pisessiond.core.session import Session
from pisessiond.service.errors import FileChanged
from pisessiond.service.held_session import HeldSession
from pisessiond.service.types import ContextSize

T = TypeVar("T")

SizeAt: TypeAlias = Callable[[Session, int], Awaitable[ContextSize]]
"""The context size at a row of a session, which may be NONE."""

_TRIES = 3


async def look(held: HeldSession, question: Callable[[Session], T]) -> tuple[Session, T]:
    """What a worker finds in the session, and the session it was found in.

    Raises:
        FileChanged: it is rewritten again and again.
    """
    return await look_from(held, lambda _: question)


async def look_from(
    held: HeldSession, begin: Callable[[Session], Callable[[Session], T]]
) -> tuple[Session, T]:
    """The same, with a question that is put on the event loop, for the session as it stands then.

    Its rows mean nothing in another one, so that the question is put anew when the session was
    read again meanwhile.

    Raises:
        FileChanged: it is rewritten again and again.
    """
    for _ in range(_TRIES):
        session = await held.sized()
        found = await held.ask(_within(session, begin(session)))
        if found is not None:
            return session, found[0]
    raise FileChanged("it is rewritten again and again")


def _within(
    session: Session, question: Callable[[Session], T]
) -> Callable[[Session], tuple[T] | None]:
    def ask(current: Session) -> tuple[T] | None:
        return (question(session),) if current is session else None

    return ask

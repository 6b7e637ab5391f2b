"""Whoever has a session open: told what happens to it, and maybe asked before something does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pisessiond.service.types import Present, Progress, SessionChange

if TYPE_CHECKING:
    from pisessiond.service.live.pi import LivePi


class Absent(Exception):
    """A client that was asked has not answered: it is gone, too slow, or knows no such request.

    Args:
        sentence: why, for the log.
        said: what the client itself gave as the reason, one line; empty where it gave none.
    """

    def __init__(self, sentence: str, said: str = "") -> None:
        super().__init__(sentence)
        self.said = said


class Subscriber(Protocol):
    """Whoever wants to hear of a session's changes. Called on the event loop; must not block."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def client_id(self) -> str:
        """What the client keeps over reconnects."""
        ...

    def session_changed(self, change: SessionChange) -> None: ...

    def session_reset(self, session: str, reason: str) -> None: ...

    def session_progress(self, progress: Progress) -> None: ...

    def session_presence(
        self, session: str, clients: Sequence[Present], pis: Sequence[LivePi]
    ) -> None: ...

    def offers(self, method: str) -> bool:
        """Whether it answers this request of the daemon (`requests` of `initialize`)."""
        ...

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What it answers. Cancelling cancels the request at the client.

        Args:
            method: as the protocol names it.
            params: by the names that our models give them (`operation_id`), values of
                `service.previews` among them.
            seconds: how long it has.

        Returns:
            What the client gave, by the names of our models; members it left out are absent.

        Raises:
            Absent: no answer came in that time, an error came, or something that is no object.
        """
        ...


class OnlyListens:
    """The part of a subscriber that answers nothing and shows no progress."""

    name = "listener"
    client_id = ""

    def session_progress(self, progress: Progress) -> None:
        """Nothing is shown."""

    def session_presence(
        self, session: str, clients: Sequence[Present], pis: Sequence[LivePi]
    ) -> None:
        """Nothing is shown."""

    def offers(self, method: str) -> bool:
        """Never."""
        del method
        return False

    async def ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Raises: Absent."""
        del params, seconds
        raise Absent(method)

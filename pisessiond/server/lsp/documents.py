"""The session files an editor has open, and what becomes of them. Knows no LSP types."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pisessiond.core.errors import SessionError
from pisessiond.server.lsp.capabilities import session_path
from pisessiond.service.errors import ServiceError
from pisessiond.service.problem_places import LocatedProblem, locate_problems
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import SessionChange

if TYPE_CHECKING:
    from pisessiond.server.state import DaemonState
    from pisessiond.service.open_session import OpenSession

log = logging.getLogger(__name__)


class Document(OnlyListens):
    """One session file in one editor; hears of the session's changes."""

    def __init__(self, uri: str, session: OpenSession, documents: Documents) -> None:
        self.uri = uri
        self.session = session
        self.wants_problems = False
        """Whether they may be others than what was told."""
        self.is_telling = False
        self.told: Sequence[LocatedProblem] | None = None
        """What the editor was told last; None before that."""
        self._documents = documents

    def session_changed(self, change: SessionChange) -> None:
        if any(one.kind == "problem" or "problems" in one.details for one in change.changes):
            self._documents.problems_changed(self)
        self._documents.views_changed()

    def session_reset(self, session: str, reason: str) -> None:  # noqa: ARG002
        # The file was rewritten, or is gone.
        self._documents.problems_changed(self)
        self._documents.views_changed()

    async def problems(self) -> Sequence[LocatedProblem]:
        """What is wrong with the file now, with its places; nothing when it is gone."""
        if self.session.is_gone:
            # To check it would tell once more that it is gone, which asks for its problems.
            return ()
        try:
            found = await self.session.check()
            return await self.session.ask(lambda session: locate_problems(session, found))
        except (SessionError, ServiceError) as error:
            log.info("a document is no session any more: %s", type(error).__name__)
            return ()


class Documents:
    """The files one editor has open, by URI."""

    def __init__(
        self,
        state: DaemonState,
        problems_changed: Callable[[Document], None],
        views_changed: Callable[[], None],
    ) -> None:
        """Hear of changes.

        Args:
            state: where sessions are.
            problems_changed: told when those of a file may be others.
            views_changed: told when anything of any file may be.
        """
        self.problems_changed = problems_changed
        self.views_changed = views_changed
        self._state = state
        self._opened: set[str] = set()
        """What the editor has open, session or not."""
        self._open: dict[str, Document] = {}

    def get(self, uri: str) -> Document | None:
        """An open session file."""
        return self._open.get(uri)

    async def open(self, uri: str) -> None:
        """Take in a file the editor opened; one that is no session may become one."""
        self._close(uri)
        self._opened.add(uri)
        await self.session(uri)

    def close(self, uri: str) -> Document | None:
        """Forget a file; what was open, if it was a session's."""
        self._opened.discard(uri)
        return self._close(uri)

    def _close(self, uri: str) -> Document | None:
        document = self._open.pop(uri, None)
        if document is not None:
            document.session.unsubscribe(document)
        return document

    def close_all(self) -> None:
        """Forget all files."""
        for uri in list(self._opened):
            self.close(uri)

    async def session(self, uri: str) -> OpenSession | None:
        """The session a URI names; None for some other file, or one just deleted."""
        path = session_path(uri)
        if path is None:
            return None
        try:
            session = await self._state.sessions.open(path=path)
        except (SessionError, ServiceError):
            return None
        document = self._open.get(uri)
        is_ours = document is not None and document.session is session
        if uri in self._opened and not is_ours:
            # It was just opened, has become a session, or came back after it was deleted.
            before = self._close(uri)
            document = self._open[uri] = Document(uri, session, self)
            document.told = before.told if before is not None else None
            session.subscribe(document)
            self.problems_changed(document)
        return session

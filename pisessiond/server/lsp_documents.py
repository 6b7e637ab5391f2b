"""The session files an editor has open, and what its features show of them. Knows no LSP types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from pisessiond.core.errors import SessionError
from pisessiond.core.problems import Problem
from pisessiond.protocol.wire import MAX_TREE_NODES
from pisessiond.service.errors import ServiceError
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.types import EntryId, Node, SessionChange

if TYPE_CHECKING:
    from pisessiond.server.state import DaemonState
    from pisessiond.service.open_session import OpenSession

MAX_SYMBOLS: Final = 5_000
"""Nodes of one outline. 10,000 keep the loop busy for a quarter of a second, and no one scrolls
through more; the active branch comes first."""

OUTLINE_FILTER: Final = "default"


@runtime_checkable
class KnowsLines(Protocol):
    """A session that can say where in its file its entries stand."""

    async def line_numbers(self, entries: Sequence[EntryId]) -> Mapping[EntryId, int]: ...


@dataclass(eq=False)
class Document(OnlyListens):
    """One session file in one editor; hears of the session's changes."""

    uri: str
    session: OpenSession
    changed: Callable[[Document], None]
    problems: tuple[Problem, ...] = ()

    def session_changed(self, change: SessionChange) -> None:
        if any(one.kind == "problem" for one in change.changes):
            self.changed(self)

    def session_reset(self, session: str, reason: str) -> None:  # noqa: ARG002
        # The file was rewritten or left memory; the editor's next request opens it again.
        self.changed(self)

    async def refresh_problems(self) -> bool:
        """Fetches the file's problems; whether they are others than before."""
        found = tuple(await self.session.check())
        before, self.problems = self.problems, found
        return found != before


@dataclass
class Outline:
    """What the tree of a session shows, as far as an editor wants it."""

    nodes: Sequence[Node] = ()
    lines: Mapping[EntryId, int] = field(default_factory=dict)
    """Counted from 1; an entry not in it stands at the file's beginning."""


class Documents:
    """The files one editor has open, by URI."""

    def __init__(self, state: DaemonState, changed: Callable[[Document], None]) -> None:
        self._state = state
        self._changed = changed
        self._open: dict[str, Document] = {}
        self.outlines: dict[str, Outline] = {}
        """Fetched for the request that is answered next."""

    def get(self, uri: str) -> Document | None:
        """An open session file."""
        return self._open.get(uri)

    async def open(self, uri: str, path: str | None) -> None:
        """Takes in a file the editor opened; one that is no session is left alone."""
        session = await self._session(path)
        if session is None:
            return
        self.close(uri)
        document = Document(uri, session, self._changed)
        document.problems = session.subscribe(document).problems
        self._open[uri] = document

    def close(self, uri: str) -> None:
        """Forgets a file."""
        if (document := self._open.pop(uri, None)) is not None:
            document.session.unsubscribe(document)

    def close_all(self) -> None:
        """Forgets all files."""
        for uri in list(self._open):
            self.close(uri)

    async def outline(self, uri: str, path: str | None) -> None:
        """Fetches what the outline of a file will show into `outlines`."""
        outline = Outline()
        if (session := await self._session(path)) is not None:
            outline.nodes = await _nodes(session)
            if isinstance(session, KnowsLines):
                outline.lines = await session.line_numbers([node.id for node in outline.nodes])
        self.outlines[uri] = outline

    async def _session(self, path: str | None) -> OpenSession | None:
        if path is None:
            return None
        try:
            return await self._state.sessions.open(path=path)
        except (SessionError, ServiceError):
            # Some other .jsonl file, or one just deleted: nothing of ours to show.
            return None


async def _nodes(session: OpenSession) -> list[Node]:
    nodes: list[Node] = []
    after: EntryId | None = None
    while len(nodes) < MAX_SYMBOLS:
        page = await session.tree(
            around=None, after=after, before=None, count=MAX_TREE_NODES, filter=OUTLINE_FILTER
        )
        nodes += page.nodes
        after = page.after
        if after is None or not page.nodes:
            break
    return nodes[:MAX_SYMBOLS]

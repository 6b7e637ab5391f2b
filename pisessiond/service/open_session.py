"""What clients can do to an open session and ask of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import anyio
from msgspec import UNSET, UnsetType

from pisessiond.core.flush import FlushRule
from pisessiond.core.lines import EntryId
from pisessiond.core.problems import Problem
from pisessiond.core.session import Session
from pisessiond.service import (
    compacting,
    comparing,
    forking,
    move_preview,
    moving,
    reading,
)
from pisessiond.service.asking import lender
from pisessiond.service.automatic import AutomaticCompaction
from pisessiond.service.compacting import Asker, Given
from pisessiond.service.drafts import Drafts
from pisessiond.service.errors import FileExists, InvalidRequest
from pisessiond.service.exporting import Format, bounded, export_pieces, in_blocks
from pisessiond.service.forking import Nursery
from pisessiond.service.loading import Loaded
from pisessiond.service.moving import Move
from pisessiond.service.nodes import make_nodes
from pisessiond.service.operations import END_SECONDS, Report
from pisessiond.service.previews import CompactionPreview, DraftSummary, MovePreview
from pisessiond.service.session_acts import BaseLeaf, SessionActs
from pisessiond.service.session_queue import Act
from pisessiond.service.size_questions import sizes_at
from pisessiond.service.summarising import Wishes, model_at
from pisessiond.service.surroundings import Surroundings
from pisessiond.service.types import (
    REPAIR,
    AnyOrigin,
    Compacted,
    ContextSize,
    Exported,
    Forked,
    Navigated,
    Node,
    Origin,
    Progress,
)
from pisessiond.service.views import Comparison, ContextPage, EntriesPage, Stats, TreePage
from pisessiond.storage.errors import SessionFileExists
from pisessiond.summarizers.base import Choice


class OpenSession(SessionActs):
    """A session that is held open for any number of clients."""

    nursery: Nursery

    def __init__(
        self, handle: str, loaded: Loaded, flush: FlushRule, surroundings: Surroundings
    ) -> None:
        super().__init__(handle, loaded, flush, surroundings)
        self._drafts = Drafts()
        self.automatic = AutomaticCompaction(self, self._drafts)

    def stored(self, act: Act) -> None:
        self.automatic.stored(act)

    # Compactions and moves ---------------------------------------------------------------------

    async def compact(
        self,
        *,
        summary: str | None = None,
        draft: str | None = None,
        instructions: str | None = None,
        summarizer: str | None = None,
        origin: AnyOrigin,
        base_leaf: BaseLeaf = UNSET,
        report: Report | None = None,
    ) -> Compacted:
        """Store a compaction: with this summary (of this draft), or with one that is written now.

        See `compacting.compact`.
        """
        given = None if summary is None else Given(summary, draft)
        wishes = Wishes(instructions, summarizer=summarizer)
        asker = Asker(origin, base_leaf, report=report)
        done = await compacting.compact(self, self._drafts, given, wishes, asker)
        self.automatic.worked()
        return done

    async def draft_compaction(
        self,
        *,
        instructions: str | None,
        summarizer: str | None,
        origin: AnyOrigin,
        report: Report | None = None,
    ) -> DraftSummary:
        """Have the summary of a compaction written, for a person to look at before it is stored."""
        wishes = Wishes(instructions, summarizer=summarizer)
        asker = Asker(origin, report=report)
        return await compacting.draft_summary(self, self._drafts, wishes, asker)

    async def prepare_compaction(
        self, *, summarizer: str | None = None, with_input: bool = False
    ) -> CompactionPreview:
        """What compacting at the leaf would do.

        Raises:
            NothingToCompact, CannotShrink, BadSetting: it would be refused.
        """
        return await compacting.preview(self, summarizer=summarizer, with_input=with_input)

    async def navigate(
        self,
        target: EntryId | None,
        *,
        exact: bool = False,
        summarize: bool = False,
        summary: str | None = None,
        instructions: str | None = None,
        replaces_instructions: bool = False,
        summarizer: str | None = None,
        label: str | None = None,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
        report: Report | None = None,
    ) -> Navigated:
        """Move the leaf as pi's `/tree` does, or with `exact` to the very entry.

        With a summary, given or written now, a branch summary is appended at the new place; a
        label goes to it, or to the target without one. See `moving.navigate`.
        """
        wishes = None
        if summarize and summary is None:
            wishes = Wishes(instructions, replaces_instructions, summarizer)

        async def preview() -> MovePreview:
            return await self.preview_move(target, exact=exact, summarizer=summarizer)

        move = Move(target, exact, summary, label)
        asker = Asker(origin, base_leaf, report=report)
        done = await moving.navigate(self, move, wishes, asker, preview)
        if wishes is not None and done.summary_entry is not None:
            self.automatic.worked()
        return done

    async def cancel_operation(self, operation_id: str | None, *, by: str) -> Progress | None:
        """End what runs long here, whoever began it; what that was, None when nothing.

        Returns when it is over, so that something else can be begun. When its entry is being
        written it is too late; how it ended is told as ever.
        """
        found = self.operations.cancel(operation_id, by)
        if found is None:
            return None
        standing = found.standing
        with anyio.move_on_after(END_SECONDS):
            await found.ended.wait()
        return standing

    async def summarizers(self) -> Sequence[Choice]:
        """Who can write summaries for this session."""
        leaf = self.leaf
        model = await self.ask(lambda session: model_at(session, session.row_of(leaf)))
        lend = lender(self.subscribers, REPAIR, self.handle, "")
        return await self.surroundings.summarizers.choices(model, lend)

    async def fork(
        self,
        entry: EntryId | None,
        *,
        position: Literal["before", "at"] | None,
        cwd: str | None,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
    ) -> Forked:
        """Begin a new session from the path to an entry; see `forking.fork`."""
        return await forking.fork(
            self,
            self.nursery,
            entry,
            position=position,
            cwd=cwd,
            origin=origin,
            base_leaf=base_leaf,
        )

    async def clone(self, *, origin: Origin, base_leaf: BaseLeaf = UNSET) -> Forked:
        """Begin a new session that holds the active branch; see `forking.fork`."""
        return await self.fork(None, position="at", cwd=None, origin=origin, base_leaf=base_leaf)

    async def preview_move(
        self, target: EntryId | None, *, exact: bool, summarizer: str | None
    ) -> MovePreview:
        """What a move would do; see `move_preview.preview_move`."""
        return await move_preview.preview_move(
            self, self._size, target, exact=exact, summarizer=summarizer
        )

    async def preview_fork(
        self,
        entry: EntryId | None,
        *,
        position: Literal["before", "at"] | None,
        cwd: str | None,
    ) -> MovePreview:
        """What a fork would hold; see `move_preview.preview_fork`."""
        return await move_preview.preview_fork(self, self._size, entry, position=position, cwd=cwd)

    async def compare(self, a: EntryId | None, b: EntryId | None) -> Comparison:
        """Two branches since they parted; see `comparing.compare`."""
        return await comparing.compare(self, self._size, a, b)

    # Questions ---------------------------------------------------------------------------------

    async def export(
        self,
        kind: Format,
        *,
        entry: EntryId | UnsetType | None,
        whole: bool,
        path: str | None,
    ) -> Exported:
        """The branch down to an entry (UNSET: the leaf), or all of it, as text or to a new file.

        Raises:
            EntryNotFound: the entry is not there.
            InvalidRequest: the whole of it is asked for in a form that holds one branch.
            TooLarge: it is too much for an answer and no path is given.
            FileExists: something is at the path.
        """
        if whole and kind != "html":
            raise InvalidRequest("whole", "only html holds a whole tree; the others hold a branch.")
        if kind != "jsonl":
            await self.sized()
        end = self.leaf if entry is UNSET else entry
        rev, now = self.rev, self.surroundings.now_iso()
        is_wanted = True

        def make(session: Session) -> Exported:
            row = session.row_of(end)
            cwd = session.cwd if isinstance(session.cwd, str) else os.path.dirname(self.path or "/")
            pieces = export_pieces(session, row, kind, whole=whole, timestamp=now, cwd=cwd)
            if path is None:
                text = bounded(pieces)
                return Exported(rev, text, None, len(text.encode("utf-8", "surrogatepass")))
            try:
                blocks = in_blocks(pieces, lambda: is_wanted)
                size = self.surroundings.other_files.write_new(path, blocks)
            except SessionFileExists as error:
                raise FileExists(path) from error
            return Exported(rev, None, path, size)

        try:
            return await self.ask(make)
        finally:
            is_wanted = False

    async def tree(
        self,
        *,
        around: EntryId | Literal["leaf"] | None,
        after: EntryId | None,
        before: EntryId | None,
        count: int,
        filter: str,  # noqa: A002 - the protocol's word
    ) -> TreePage:
        """A page of nodes; see `reading.tree_page`."""
        middle = self.leaf if around == "leaf" else around
        return await self.ask(
            lambda session: reading.tree_page(
                session,
                self.rev,
                around=middle,
                after=after,
                before=before,
                count=count,
                filter_name=filter,
            )
        )

    async def entries(
        self,
        *,
        ids: Sequence[EntryId] | None,
        branch: EntryId | Literal["leaf"] | None,
        since: EntryId | None,
        order: Literal["branch", "file"],
        limit: int,
        cursor: str | None,
    ) -> EntriesPage:
        """A page of bodies; see `reading.entries_page`."""
        end = self.leaf if branch == "leaf" or branch is None else branch
        return await self.ask(
            lambda session: reading.entries_page(
                session,
                self.rev,
                ids=ids,
                branch=end,
                since=since,
                order=order,
                limit=limit,
                cursor=cursor,
            )
        )

    async def context(
        self, entry: EntryId | UnsetType | None, *, limit: int | None, cursor: str | None
    ) -> ContextPage:
        """The projection at an entry; UNSET asks for the leaf, None for before the first entry."""
        end = self.leaf if entry is UNSET else entry
        return await self.ask(
            lambda s: reading.context_page(s, self.rev, s.row_of(end), limit=limit, cursor=cursor)
        )

    async def context_size(self, *, window: int | None = None) -> ContextSize:
        """The context size at the leaf, as soon as it is known.

        Args:
            window: the context window to count by, in tokens; None: that of the model.
        """
        session = await self.sized()
        known = await self.sizing.whole(window)
        return known or (await sizes_at(self, session, [session.leaf], window))[session.leaf]

    async def context_sizes(
        self, entries: Sequence[EntryId], *, window: int | None = None
    ) -> dict[EntryId, ContextSize]:
        """The context size at each of these entries; see `context_size`.

        Raises:
            EntryNotFound: one of them is not there.
        """
        session = await self.sized()
        rows = {entry: session.row_of(entry) for entry in entries}
        sizes = await sizes_at(self, session, rows.values(), window)
        return {entry: sizes[row] for entry, row in rows.items()}

    async def refresh_settings(self) -> None:
        """Look at the settings and at what is known of the model again, and tell what changed."""
        await self.sizing.refresh()
        self.sizing.tell_if_other()

    async def _size(self, session: Session, row: int) -> ContextSize:
        return (await sizes_at(self, session, [row]))[row]

    async def stats(self) -> Stats:
        """Totals of the active branch and of the whole file."""
        return await self.ask(lambda session: reading.stats(session, self.rev, session.leaf))

    async def check(self) -> Sequence[Problem]:
        """Everything in the file that could not be taken as it stands."""
        await self.look()
        return tuple(self.session.problems)

    async def nodes(self, entries: Sequence[EntryId]) -> tuple[Node, ...]:
        """These entries as trees show them now."""
        return await self.ask(
            lambda session: make_nodes(session, [session.row_of(entry) for entry in entries])
        )

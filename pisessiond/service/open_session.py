"""What clients can do to an open session and ask of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import anyio
from msgspec import UNSET, UnsetType

from pisessiond.core import kinds
from pisessiond.core.changes import (
    Destination,
    Draft,
    destination,
    draft_all,
    fork_point,
    is_same_entry,
)
from pisessiond.core.errors import DuplicateEntry, InvalidEntry
from pisessiond.core.fork import GoOn, all_lines, branch_lines
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.problems import Problem
from pisessiond.core.session import Session
from pisessiond.service import reading
from pisessiond.service.errors import FileExists, InvalidRequest, LeafMoved
from pisessiond.service.exporting import Format, bounded, export_pieces, in_blocks
from pisessiond.service.nodes import make_nodes, make_size
from pisessiond.service.session_queue import Plan, SessionQueue
from pisessiond.service.storing import in_worker
from pisessiond.service.types import (
    Appended,
    Compacted,
    CompactionPreview,
    Comparison,
    ContextPage,
    ContextSize,
    Done,
    EntriesPage,
    Exported,
    Forked,
    Navigated,
    Node,
    Origin,
    Progress,
    Stats,
    TreePage,
)
from pisessiond.storage.errors import SessionFileExists
from pisessiond.summarizers.base import Choice

BaseLeaf = EntryId | None | UnsetType


@dataclass(frozen=True, slots=True)
class NewSession:
    """The contents of a session that a fork begins."""

    lines: list[bytes]
    cwd: str | None
    """None: the same as the source's."""
    parent_session: str | None
    folder: str | None
    """Where the source's file is; the new one goes beside it, unless it has another `cwd`."""


def leaves(draft: Draft, left: EntryId | None, target: EntryId | None) -> bool:
    """Whether moving from `left` to `target` leaves entries behind, so that a summary has words."""
    return left is not None and not draft.is_on_branch(left, target)


class _NotWanted(Exception):
    """Ends the work of a worker whose caller is gone; nobody hears of it."""


class Nursery(Protocol):
    """Whoever makes new sessions out of lines."""

    async def begin(self, new: NewSession) -> tuple[str, str | None, bool]:
        """Handle, path and whether it is unsaved, of the session made."""
        ...


class OpenSession(SessionQueue):
    """A session that is held open for any number of clients."""

    nursery: Nursery

    # Acts --------------------------------------------------------------------------------------

    async def append(
        self,
        entries: Sequence[dict[str, Any]],
        *,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
        detached: bool = False,
    ) -> Appended:
        """Append entries one under the other; a retry with known ids and bodies changes nothing.

        Raises:
            InvalidEntry: one of them is not what pi could read back.
            DuplicateEntry: an id is taken by another body.
        """
        tries = 2
        while True:
            new = [entry for entry in entries if not await self._is_stored(entry)]
            if not new:
                return Appended(self.rev, self.leaf, tuple(entry["id"] for entry in entries))
            try:
                return await self._append(entries, new, origin, base_leaf, detached)
            except DuplicateEntry:
                # Stored since it was looked for, or by an act that this one waited with.
                tries -= 1
                if not tries:
                    raise

    async def _append(
        self,
        entries: Sequence[dict[str, Any]],
        new: Sequence[dict[str, Any]],
        origin: Origin,
        base_leaf: BaseLeaf,
        detached: bool,
    ) -> Appended:
        def decide(draft: Draft) -> Plan:
            return Plan("append", draft_all(draft, new, detached=detached))

        act = await self.act(decide, origin, base_leaf)
        given = iter(act.plan.value if act.plan else ())
        known = {id(entry) for entry in new}
        result = tuple(next(given) if id(entry) in known else entry["id"] for entry in entries)
        return Appended(act.rev, act.leaf, result)

    async def _is_stored(self, given: dict[str, Any]) -> bool:
        entry_id = given.get("id")
        if not isinstance(entry_id, str) or self.session.index.find(entry_id) is None:
            return False
        stored = await self.ask(lambda session: session.entry(session.row_of(entry_id)))
        if not is_same_entry(given, stored):
            raise DuplicateEntry(entry_id)
        return True

    async def navigate(
        self,
        target: EntryId | None,
        *,
        exact: bool = False,
        summary: str | None = None,
        label: str | None = None,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
    ) -> Navigated:
        """Move the leaf as pi's `/tree` does, or with `exact` to the very entry.

        With a summary, a branch summary is appended at the new place; a label goes to it, or to
        the target without one.

        Raises:
            EntryNotFound: the target is not there.
        """
        place = await self._destination(target, exact=exact)

        def decide(draft: Draft) -> Plan:
            left = draft.leaf
            if not exact and target == left:
                place_leaf, text = left, None
            else:
                place_leaf, text = place.leaf, place.editor_text
            draft.move(place_leaf)
            added = None
            if summary is not None and place_leaf != left and leaves(draft, left, target):
                added = draft.summarise_branch(summary, left).head.id
            labelled = added if added is not None else target
            if label is not None and labelled is not None:
                draft.label(labelled, label)
            return Plan("navigate", (text, added), {"from": left, "to": place_leaf})

        act = await self.act(decide, origin, base_leaf)
        text, added = act.plan.value if act.plan else (None, None)
        return Navigated(act.rev, act.leaf, text, added)

    async def _destination(self, target: EntryId | None, *, exact: bool) -> Destination:
        session = self.session
        row = session.row_of(target)
        if exact or row == NONE:
            return Destination(target, None)
        entry = None
        if session.index.kind[row] in (kinds.USER, kinds.CUSTOM_MESSAGE):
            entry = await self.ask(lambda current: current.entry(current.row_of(target)))
        return destination(self.session, self.session.row_of(target), entry)

    async def compact(
        self, *, summary: str, origin: Origin, base_leaf: BaseLeaf = UNSET
    ) -> Compacted:
        """Append a compaction with a given summary, cut as pi would cut now.

        Raises:
            NothingToCompact: there is nothing to summarise.
            LeafMoved: the leaf moved while the cut was being prepared.
        """
        session = await self.sized()
        leaf = session.leaf_id
        row = session.leaf
        preparation = await self.ask(lambda _: reading.prepared(session, row))

        def decide(draft: Draft) -> Plan:
            if draft.leaf != leaf or draft.session is not session:
                raise LeafMoved(draft.leaf, self.rev)
            return Plan("compact", draft.compact(preparation, summary).head.id)

        act = await self.act(decide, origin, base_leaf)
        return Compacted(act.rev, act.leaf, act.plan.value if act.plan else None)

    async def label(
        self, target: EntryId, label: str | None, *, origin: Origin, base_leaf: BaseLeaf = UNSET
    ) -> Done:
        """Set or clear (None or empty) the label of an entry."""

        def decide(draft: Draft) -> Plan:
            draft.label(target, label)
            return Plan("label", details={"target": target, "label": label or None})

        act = await self.act(decide, origin, base_leaf)
        return Done(act.rev, act.leaf)

    async def rename(
        self, name: str | None, *, origin: Origin, base_leaf: BaseLeaf = UNSET
    ) -> Done:
        """Set or clear (None or empty) the session's name."""

        def decide(draft: Draft) -> Plan:
            new = draft.rename(name)
            return Plan("rename", details={"name": new.entry["name"] or None})

        act = await self.act(decide, origin, base_leaf)
        return Done(act.rev, act.leaf)

    async def edit_context(
        self,
        target: EntryId,
        replacement: dict[str, Any] | Literal["restore"] | None,
        *,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
    ) -> Done:
        """Take an entry out of the context (None), replace its content, or put the original back.

        Raises:
            EntryNotFound, NotOnBranch: the target is not on the active branch.
            InvalidEntry: the target gives the model nothing that could be edited.
        """
        if replacement == "restore":
            body = await self._original_content(target)
            replacement = {"content": body}
        given = {"type": "context_edit", "targetId": target, "replacement": replacement}

        def decide(draft: Draft) -> Plan:
            new = draft.add(given)
            details = {"target": target, "replacement": new.entry["replacement"]}
            return Plan("edit", details=details)

        act = await self.act(decide, origin, base_leaf)
        return Done(act.rev, act.leaf)

    async def _original_content(self, target: EntryId) -> Any:
        self.session.row_of(target)
        entry = await self.ask(lambda session: session.entry(session.row_of(target)))
        holder = entry.get("message") if entry.get("type") == "message" else entry
        content = holder.get("content") if isinstance(holder, dict) else None
        return [] if content is None else content

    async def fork(
        self,
        entry: EntryId | None,
        *,
        position: Literal["before", "at"] | None,
        cwd: str | None,
        origin: Origin,
        base_leaf: BaseLeaf = UNSET,
    ) -> Forked:
        """Begin a new session from the path to an entry, or of everything in another `cwd`.

        Cancelling ends it as long as nothing has been written; afterwards it is answered.

        Raises:
            InvalidEntry: it was to begin before something that is no user message.
            InvalidRequest: a position was given without an entry.
            LeafMoved: the leaf is not `base_leaf`.
            Busy: another long operation runs.
        """
        if entry is None and position == "before":
            raise InvalidRequest("position", "before needs an entry.")
        draft = Draft(self.session, self.clock.new_id, self.clock.now_iso())
        if base_leaf is not UNSET and not draft.is_leaf_since(base_leaf):
            raise LeafMoved(self.leaf, self.rev)
        with self.operation("fork", origin.client):
            if entry is None and cwd is not None:
                return await self._begin(await self._copy(all_lines), cwd, None, origin)
            end, text = await self._fork_end(entry, position)
            lines = await self._copy(
                lambda session, go_on: branch_lines(
                    session, session.row_of(end), self._free_id, go_on
                )
            )
            return await self._begin(lines, cwd, text, origin)

    async def _copy(self, copy: Callable[[Session, GoOn], list[bytes]]) -> list[bytes]:
        """Lines for a new session. A cancelled caller does not wait, and the worker soon stops."""
        is_wanted = True

        def go_on() -> None:
            if not is_wanted:
                raise _NotWanted

        try:
            return await self.ask(lambda session: copy(session, go_on))
        finally:
            is_wanted = False

    async def _fork_end(
        self, entry: EntryId | None, position: Literal["before", "at"] | None
    ) -> tuple[EntryId | None, str | None]:
        """The entry a fork ends at, and the text of the message it stands before."""
        if entry is None:
            return self.leaf, None
        row = self.session.row_of(entry)
        if position == "at":
            return entry, None
        if self.session.index.kind[row] != kinds.USER:
            raise InvalidEntry("only a user message can be forked before; say at", "position")
        body = await self.ask(lambda session: session.entry(session.row_of(entry)))
        point = fork_point(self.session, self.session.row_of(entry), body, "before")
        return self.session.id_of(point.row), point.editor_text

    async def clone(self, *, origin: Origin, base_leaf: BaseLeaf = UNSET) -> Forked:
        """Begin a new session that holds the active branch; see `fork`."""
        return await self.fork(None, position="at", cwd=None, origin=origin, base_leaf=base_leaf)

    def _free_id(self, is_taken: Any) -> str:
        while True:
            entry_id = self.clock.new_id()
            if not is_taken(entry_id):
                return entry_id

    async def _begin(
        self, lines: list[bytes], cwd: str | None, text: str | None, origin: Origin
    ) -> Forked:
        source_cwd = self.session.cwd
        new = NewSession(
            lines=lines,
            cwd=cwd or (source_cwd if isinstance(source_cwd, str) else None),
            parent_session=self.path,
            folder=None if cwd else self.path,
        )
        with anyio.CancelScope(shield=True):
            handle, path, unsaved = await self.nursery.begin(new)
        self.tell_fork(handle, path, origin)
        return Forked(handle, path, unsaved, text, self.rev)

    # To be written: see service/operations.py and service/comparing.py.

    def cancel_operation(self, operation_id: str | None, *, by: str) -> Progress | None:
        """End what runs long here, whoever began it; what that was, None when nothing."""
        del operation_id, by
        return None

    async def compare(self, a: EntryId | None, b: EntryId | None) -> Comparison:
        """Two branches since they parted."""
        raise NotImplementedError

    async def summarizers(self) -> Sequence[Choice]:
        """Who can write summaries for this session."""
        return await self.clock.summarizers.choices(None, None)

    # Exports and the end -----------------------------------------------------------------------

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
        rev, now = self.rev, self.clock.now_iso()
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
                size = self.clock.other_files.write_new(path, blocks)
            except SessionFileExists as error:
                raise FileExists(path) from error
            return Exported(rev, None, path, size)

        try:
            return await self.ask(make)
        finally:
            is_wanted = False

    async def delete(self, *, discard: bool, origin: Origin) -> bool:
        """Move the file to the trash; whether there was one. Subscribers are told it is gone.

        Raises:
            InvalidRequest: it is on no disk, and it was not said that it may be lost.
            NotThrownAway: there is no trash for it; nothing has changed.
            ReadOnly: another process of ours writes to it.
            Busy: a long operation runs.
        """
        has_file = self.path is not None and not self.is_unsaved
        if not has_file and not discard:
            raise InvalidRequest("discard", "it is on no disk and would be lost; say true.")
        with anyio.CancelScope(shield=True), self.operation("delete", origin.client):
            async with self.changing:
                has_file = self.path is not None and not self.is_unsaved
                if has_file:
                    await self.claim_file()
                    await in_worker(partial(self.clock.other_files.throw_away, self.path or ""))
                else:
                    await in_worker(self.log.discard)
                self.is_gone = True
                self.has_unkept_place = False
                self.news.reset("gone")
        return has_file

    # Questions ---------------------------------------------------------------------------------

    async def prepare_compaction(self) -> CompactionPreview:
        """What compacting at the leaf would do. Raises: NothingToCompact."""
        await self.sized()
        return await self.ask(lambda s: reading.compaction_preview(s, s.leaf))

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

    async def context_size(self) -> ContextSize:
        """The context size at the leaf, as soon as it is known."""
        session = await self.sized()
        return await self._size(session, session.leaf)

    async def context_sizes(self, entries: Sequence[EntryId]) -> dict[EntryId, ContextSize]:
        """The context size at each of these entries."""
        session = await self.sized()
        return {entry: await self._size(session, session.row_of(entry)) for entry in entries}

    async def _size(self, session: Session, row: int) -> ContextSize:
        state = session.index.state_at(row)
        if state.edit == NONE:
            return make_size(session, row)
        # The targets of context edits have to be read the first time.
        return await self.ask(lambda _: make_size(session, row))

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

    async def line_numbers(self, entries: Sequence[EntryId]) -> dict[EntryId, int]:
        """Where these entries stand in the file, in lines counted from 1."""
        line = self.session.index.line
        return {entry: line[self.session.row_of(entry)] for entry in entries}

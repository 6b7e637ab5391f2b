"""A service that works, in memory and without rules: what handlers are tested against."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Literal

import anyio
import msgspec

from pisessiond.core.errors import EntryNotFound, NotASession
from pisessiond.core.problems import Problem
from pisessiond.core.rows.row import Filter, Row
from pisessiond.core.snippets import Snippet
from pisessiond.service.cataloguing import ListSubscriber
from pisessiond.service.errors import (
    Busy,
    LeafMoved,
    OperationCancelled,
    SessionExists,
    SessionNotFound,
)
from pisessiond.service.listing import ListPage, Wanted
from pisessiond.service.places import Folder
from pisessiond.service.previews import (
    CompactionPreview,
    DraftSummary,
    Forecast,
    MovePreview,
    SummaryInput,
)
from pisessiond.service.row_pages import RowsPage, RowsWish, Standards
from pisessiond.service.searching import SearchHit, SearchPage, SearchWish
from pisessiond.service.settings import Thresholds
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.types import (
    Appended,
    Change,
    ChangeKind,
    Compacted,
    ContextSize,
    Done,
    EntryId,
    Forked,
    ListedSession,
    Navigated,
    Node,
    Origin,
    Progress,
    SessionChange,
    Snapshot,
)
from pisessiond.service.views import (
    ComparedSide,
    Comparison,
    ContextPage,
    EntriesPage,
    Stats,
    StatsPart,
    TokenTotals,
    TreePage,
)
from pisessiond.service.watching import WatchState
from pisessiond.summarizers.base import Choice

Report = Callable[[Progress], None]

SIZE = ContextSize(
    tokens=12,
    source="estimated",
    estimated=12,
    measured=None,
    measured_at=None,
    before=None,
    window=200_000,
    percent=0.006,
)
STANDARDS = Standards(200_000, Thresholds(), is_sized=True)
TOTALS = StatsPart(
    messages={"user": 1},
    tool_calls=0,
    tokens=TokenTotals(input=1, output=2, cache_read=3, cache_write=4),
    cost=0.0000031,
    models=(),
)


class Gate:
    """Where a test holds an act: `reached` when it came, `open` to let it on."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self.open.wait()


class FakeRows:
    """Rows of a session without any: one that says where one is."""

    def __init__(self, session: FakeSession) -> None:
        self._session = session
        self.listening: dict[Subscriber, str] = {}

    async def page(self, wish: RowsWish) -> RowsPage:
        session = self._session
        here = Row("here", "here", None, None, session.leaf, None, None, 0, "you are here")
        at = (session.epoch, session.rev)
        path = () if wish.around else None
        return RowsPage(*at, wish.level, 1, (here,), None, None, path, STANDARDS)

    def is_current(self, page: RowsPage) -> bool:
        return (page.epoch, page.rev) == (self._session.epoch, self._session.rev)

    def listen(self, subscriber: Subscriber, filter_name: Filter) -> None:
        self.listening[subscriber] = filter_name

    def unlisten(self, subscriber: Subscriber) -> None:
        self.listening.pop(subscriber, None)


class FakeSession:
    """One session: entries in a line, one act at a time, told to all subscribers."""

    def __init__(self, handle: str, path: str | None) -> None:
        self.handle = handle
        self.path = path
        self.epoch = "e1"
        self.rev = 1
        self.leaf: EntryId | None = None
        self.lines: dict[EntryId, bytes] = {}
        self.parents: dict[EntryId, EntryId | None] = {}
        self.problems: list[Problem] = []
        self.labels: dict[EntryId, str | None] = {}
        self.before_commit: Gate | None = None
        self.during_commit: Gate | None = None
        self.reading: Gate | None = None
        self.summarising: Gate | None = None
        self.failure: Exception | None = None
        self.is_unsaved = False
        self.asked: list[dict[str, Any]] = []
        """What compact, navigate and their dry runs were given."""
        self._operation: anyio.CancelScope | None = None
        self._ended_by: str | None = None
        self.origins: list[Origin] = []
        self._subscribers: list[Subscriber] = []
        self.rows = FakeRows(self)
        self._queue = anyio.Lock()

    @property
    def subscribers(self) -> Collection[Subscriber]:
        return self._subscribers

    def subscribe(self, subscriber: Subscriber, since: tuple[str, int] | None = None) -> Snapshot:
        if subscriber not in self._subscribers:
            self._subscribers.append(subscriber)
        return self.snapshot(since)

    async def cancel_operation(self, operation_id: str | None, *, by: str) -> Progress | None:
        if self._operation is None or operation_id not in (None, "op"):
            return None
        self._ended_by = by
        self._operation.cancel()
        return self.progress("report", Origin("someone", "someone-id"))

    def progress(self, state: Any, origin: Origin, received: int = 0, **more: Any) -> Progress:
        return Progress(
            session=self.handle,
            operation="compact",
            operation_id="op",
            origin=origin,
            reason="manual",
            state=state,
            received=received,
            summarizer="extract",
            **more,
        )

    def tell_progress(self, progress: Progress) -> None:
        for subscriber in list(self._subscribers):
            subscriber.session_progress(progress)

    async def _summarise(self, origin: Origin, report: Report | None) -> str:
        """Writes a summary that takes as long as the test wants, as the service would."""
        if self._operation is not None:
            raise Busy("compact", "someone")

        def tell(state: Any, received: int = 0, **more: Any) -> None:
            progress = self.progress(state, origin, received, **more)
            self.tell_progress(progress)
            if report is not None:
                report(progress)

        self._ended_by = None
        tell("begin")
        try:
            with anyio.CancelScope() as self._operation:
                for received in (0, 999, 1_234):
                    tell("report", received)
                if self.summarising is not None:
                    await self.summarising.pass_through()
                if self.failure is not None:
                    tell("failed", message=str(self.failure))
                    raise self.failure
            if self._operation.cancelled_caught:
                tell("cancelled", message=f"Cancelled by {self._ended_by}.")
                raise OperationCancelled("compaction", self._ended_by)
        except anyio.get_cancelled_exc_class():
            tell("cancelled")
            raise
        finally:
            self._operation = None
        tell("done")
        return "written"

    async def compare(self, a: EntryId | None, b: EntryId | None) -> Comparison:
        for end in (a, b):
            if end is not None:
                self.node(end)
        side = ComparedSide(1, 1, SIZE, TOTALS.tokens, 0.5, 2.5, ("a.py",), ("b.py",))
        return Comparison(self.rev, None, None, side, side)

    async def summarizers(self) -> Sequence[Choice]:
        return (Choice("extract", None, is_ready=True, reason=None, is_default=True),)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def snapshot(self, since: tuple[str, int] | None = None) -> Snapshot:
        del since
        return Snapshot(
            session=self.handle,
            path=self.path,
            header={"type": "session", "id": self.handle, "half": "\ud83d"},
            epoch=self.epoch,
            rev=self.rev,
            leaf=self.leaf,
            unsaved=False,
            read_only=None,
            last_external=None,
            name=None,
            entry_count=len(self.lines),
            context_size=SIZE,
            problems=tuple(self.problems),
            operation=None
            if self._operation is None
            else self.progress("report", Origin("someone", "someone-id"), 1_234),
        )

    def tell(
        self, kind: ChangeKind, origin: Any, nodes: tuple[Node, ...] = (), **details: Any
    ) -> None:
        self.rev += 1
        change = SessionChange(
            session=self.handle,
            epoch=self.epoch,
            base=self.rev - 1,
            rev=self.rev,
            changes=(Change(kind, origin, nodes, details),),
            leaf=self.leaf,
            context_size=None,
        )
        for subscriber in list(self._subscribers):
            subscriber.session_changed(change)

    def reset(self, reason: str) -> None:
        for subscriber in list(self._subscribers):
            subscriber.session_reset(self.handle, reason)

    def node(self, entry: EntryId) -> Node:
        return Node(
            id=entry,
            parent=self.parents[entry],
            type="message",
            role="user",
            preview=f"entry {entry}",
            time=None,
            children=sum(parent == entry for parent in self.parents.values()),
            tokens=3,
            context_size=None,
            label=self.labels.get(entry),
        )

    async def _begin(self, base_leaf: EntryId | msgspec.UnsetType | None) -> None:
        if self.before_commit is not None:
            await self.before_commit.pass_through()
        if base_leaf is not msgspec.UNSET and base_leaf != self.leaf:
            raise LeafMoved(self.leaf, self.rev)

    async def append(
        self,
        entries: Sequence[dict[str, Any]],
        *,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
        detached: bool = False,
    ) -> Appended:
        async with self._queue:
            await self._begin(base_leaf)
            with anyio.CancelScope(shield=True):
                if self.during_commit is not None:
                    await self.during_commit.pass_through()
                ids: list[EntryId] = []
                for entry in entries:
                    new: EntryId = entry.get("id") or f"n{len(self.lines)}"
                    self.lines[new] = msgspec.json.encode(entry)
                    self.parents[new] = self.leaf
                    self.leaf = new
                    ids.append(new)
                self.origins.append(origin)
                self.tell("append", origin, tuple(self.node(one) for one in ids))
                done = Appended(self.rev, self.leaf, tuple(ids))
        return done

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
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
        report: Report | None = None,
    ) -> Navigated:
        self.asked.append({
            "summarize": summarize,
            "summary": summary,
            "instructions": instructions,
            "replaces_instructions": replaces_instructions,
            "summarizer": summarizer,
            "label": label,
        })  # fmt: skip
        await self._begin(base_leaf)
        if target is not None and target not in self.lines:
            raise EntryNotFound(target)
        if summarize and summary is None:
            await self._summarise(origin, report)
        before, self.leaf = self.leaf, target
        self.tell("navigate", origin, (), **{"from": before, "to": target})
        return Navigated(self.rev, self.leaf, editor_text=None if exact else "text")

    async def preview_move(
        self, target: EntryId | None, *, exact: bool, summarizer: str | None
    ) -> MovePreview:
        self.asked.append({"exact": exact, "summarizer": summarizer})
        return MovePreview(
            leaf=target,
            left_entries=3,
            left_turns=1,
            size_now=SIZE,
            size_after=SIZE,
            returns_text=None if exact else "text",
            outside=None,
            forecast=Forecast("extract", None, 7, None),
        )

    async def preview_fork(
        self,
        entry: EntryId | None,
        *,
        position: Literal["before", "at"] | None,
        cwd: str | None,
    ) -> MovePreview:
        self.asked.append({"position": position, "cwd": cwd})
        return await self.preview_move(entry, exact=position == "at", summarizer=None)

    async def compact(
        self,
        *,
        summary: str | None,
        draft: str | None = None,
        instructions: str | None = None,
        summarizer: str | None = None,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
        report: Report | None = None,
    ) -> Compacted:
        given = {"summary": summary, "draft": draft}
        self.asked.append({**given, "instructions": instructions, "summarizer": summarizer})
        await self._begin(base_leaf)
        if summary is None:
            await self._summarise(origin, report)
        self.tell("compact", origin)
        return Compacted(self.rev, self.leaf, entry="c1", before=9, after=5)

    async def draft_compaction(
        self,
        *,
        instructions: str | None,
        summarizer: str | None,
        origin: Origin,
        report: Report | None = None,
    ) -> DraftSummary:
        self.asked.append({"instructions": instructions, "summarizer": summarizer})
        text = await self._summarise(origin, report)
        usage = {"input": 5, "cost": {"total": 0.0000031}}
        return DraftSummary("d1", text, usage, await self.prepare_compaction())

    async def prepare_compaction(
        self, *, summarizer: str | None = None, with_input: bool = False
    ) -> CompactionPreview:
        self.asked.append({"summarizer": summarizer, "with_input": with_input})
        return CompactionPreview(
            first_kept="k",
            is_split_turn=False,
            summarised=("a",),
            turn_prefix=(),
            kept=("k",),
            tokens_before=9,
            tokens_kept=4,
            previous_summary=False,
            read_files=("r",),
            modified_files=(),
            inputs=(SummaryInput("history", "text", None),) if with_input else None,
        )

    async def fork(
        self,
        entry: EntryId | None,
        *,
        position: Literal["before", "at"] | None,
        cwd: str | None,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> Forked:
        return Forked(session=self.handle, path=cwd, unsaved=True, editor_text="text")

    async def catch_up(self) -> None:
        return None

    async def clone(
        self,
        *,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> Forked:
        return Forked(session=self.handle, path=None, unsaved=True)

    async def label(
        self,
        target: EntryId,
        label: str | None,
        *,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> Done:
        if target not in self.lines:
            raise EntryNotFound(target)
        self.labels[target] = label
        self.tell("label", origin, (self.node(target),), target=target, label=label)
        return Done(self.rev, self.leaf)

    async def rename(
        self,
        name: str | None,
        *,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> Done:
        raise RuntimeError(f"secret text about {name}")

    async def edit_context(
        self,
        target: EntryId,
        replacement: dict[str, Any] | Literal["restore"] | None,
        *,
        origin: Origin,
        base_leaf: EntryId | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> Done:
        return Done(self.rev, self.leaf)

    async def tree(
        self,
        *,
        around: EntryId | None,
        after: EntryId | None,
        before: EntryId | None,
        count: int,
        filter: str,  # noqa: A002
    ) -> TreePage:
        ids = list(self.lines)
        begin = ids.index(after) + 1 if after is not None else 0
        page = ids[begin : begin + count]
        more = page[-1] if begin + count < len(ids) else None
        nodes = tuple(self.node(one) for one in page)
        return TreePage(self.rev, len(ids), nodes, before=None, after=more)

    async def entries(
        self,
        *,
        ids: Sequence[EntryId] | None,
        branch: EntryId | None,
        since: EntryId | None,
        order: Literal["branch", "file"],
        limit: int,
        cursor: str | None,
    ) -> EntriesPage:
        if self.reading is not None:
            await self.reading.pass_through()
        wanted = list(self.lines) if ids is None else ids
        return EntriesPage(self.rev, tuple(self.lines[one] for one in wanted), None)

    async def context(
        self,
        entry: EntryId | msgspec.UnsetType | None,
        *,
        limit: int | None,
        cursor: str | None,
    ) -> ContextPage:
        told = "leaf" if entry is msgspec.UNSET else entry
        return ContextPage(
            rev=self.rev,
            messages=({"role": "user", "content": "\ud83d", "at": told},),
            sources=("a",),
            model=None,
            thinking_level="off",
            active_tools=None,
            omitted=(("b", "edited"),),
            cursor=None,
        )

    async def refresh_settings(self) -> None:
        pass

    async def context_size(self, *, window: int | None = None) -> ContextSize:
        return SIZE if window is None else replace(SIZE, window=window)

    async def context_sizes(
        self, entries: Sequence[EntryId], *, window: int | None = None
    ) -> dict[EntryId, ContextSize]:
        return dict.fromkeys(entries, await self.context_size(window=window))

    async def stats(self) -> Stats:
        return Stats(self.rev, TOTALS, TOTALS)

    async def check(self) -> Sequence[Problem]:
        return list(self.problems)


class FakeSessions:
    """All sessions, by handle."""

    def __init__(self) -> None:
        self.by_handle: dict[str, FakeSession] = {}
        self.list_subscribers: set[ListSubscriber] = set()
        self.closed = False
        self.are_operations_stopped = False
        self.asked: list[dict[str, Any]] = []

    def add(self, handle: str, path: str | None = None) -> FakeSession:
        self.by_handle[handle] = FakeSession(handle, path)
        return self.by_handle[handle]

    async def create(
        self,
        *,
        cwd: str,
        id: str | None = None,  # noqa: A002
        name: str | None = None,
        store: Literal["jsonl", "memory"] = "jsonl",
        session_dir: str | None = None,
        origin: Origin,
    ) -> FakeSession:
        self.asked.append({"cwd": cwd, "session_dir": session_dir, "origin": origin})
        handle = id or f"s{len(self.by_handle)}"
        if handle in self.by_handle:
            raise SessionExists(handle)
        return self.add(handle, f"{cwd}/{handle}.jsonl")

    async def open(
        self,
        *,
        path: str | None = None,
        session: str | None = None,
        latest_cwd: str | None = None,
        session_dir: str | None = None,
    ) -> FakeSession:
        self.asked.append({"path": path, "session": session, "latest_cwd": latest_cwd})
        for one in self.by_handle.values():
            if one.path == path is not None or one.handle == session:
                return one
        if path is not None and path.endswith("foreign.jsonl"):
            raise NotASession("it begins with something else.")
        raise SessionNotFound(session or path or latest_cwd or "")

    def get(self, session: str) -> FakeSession:
        try:
            return self.by_handle[session]
        except KeyError:
            raise SessionNotFound(session) from None

    def watch_list(self, subscriber: ListSubscriber) -> None:
        self.list_subscribers.add(subscriber)

    def unwatch_list(self, subscriber: ListSubscriber) -> None:
        self.list_subscribers.discard(subscriber)

    async def list(self, wanted: Wanted) -> ListPage:
        rows = [
            ListedSession(
                session=one.handle,
                path=one.path,
                cwd="/p",
                name=None,
                first_message=None,
                messages=len(one.lines),
                created=None,
                modified="2026-01-01T00:00:00.000Z",
                parent_session=None,
                open=len(one.subscribers),
                unsaved=False,
                last_external=None,
            )
            for one in self.by_handle.values()
        ]
        return ListPage(tuple(rows[: wanted.limit]), None, (Folder("/sessions", False),), 0)

    async def search(self, wish: SearchWish) -> SearchPage:
        self.asked.append({"search": wish})
        hit = SearchHit(
            session="s",
            path="/p/s.jsonl",
            cwd="/p",
            name="name",
            entry=7,
            role="user",
            tool=None,
            time=None,
            snippet=Snippet("a word", ((2, 6),)),
            copies=(("t", "/p/t.jsonl"),),
        )
        return SearchPage([hit], "next", 3)

    @property
    def open_sessions(self) -> Sequence[FakeSession]:
        return list(self.by_handle.values())

    @property
    def watch_state(self) -> WatchState | None:
        return WatchState("inotify")

    def stop_operations(self) -> None:
        self.are_operations_stopped = True

    async def aclose(self) -> None:
        self.closed = True

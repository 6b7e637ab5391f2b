"""One open session, for programs on asyncio: acts, looks, and hears of changes.

`blocking_session.py` is made from this module (`python -m tests.client.generated`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, TypeVar, cast

from pisessiond.client import answers
from pisessiond.client.answers import EntryId
from pisessiond.client.connection import Connection
from pisessiond.client.entries import NewId, with_ids
from pisessiond.client.errors import RpcFailure
from pisessiond.client.inbox import Notification
from pisessiond.client.lasting import LastingConnection
from pisessiond.client.params import UNSET, Unset, to_wire
from pisessiond.client.progress import OnProgress
from pisessiond.client.repeating import RESTORED
from pisessiond.client.update import DID_PRESENCE, DID_PROGRESS, Update, judge

Filter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]

_Answer = TypeVar("_Answer")

_PAGE = 2000
"""Nodes asked for at once; the protocol's most."""
_ID_ATTEMPTS = 5
_TREE_ATTEMPTS = 3


class Session:
    """A session this client has open; made by `Client.open` and `Client.create`.

    Every act takes `base_leaf` (refused with `LeafMoved` if the leaf is another one) and
    `request_id` (repeating it repeats the answer, not the act), and raises `RpcFailure` when the
    daemon refuses it; then nothing was changed.
    """

    def __init__(
        self,
        connection: Connection | LastingConnection,
        opened: answers.OpenResult,
        new_id: NewId,
        rows: Filter | Unset = UNSET,
    ) -> None:
        self._connection = connection
        self._new_id = new_id
        self.opened = opened
        """What `session/open` answered last; as old as that."""
        self.leaf = opened["leaf"]
        """The leaf as far as `changes` was read."""
        self.context_size = opened["contextSize"]
        """The context size at the leaf as far as `changes` was read."""
        self.clients = opened.get("clients", [])
        """Who has the session open, as far as `changes` was read."""
        self._epoch, self._rev = opened["epoch"], opened["rev"]
        self._rows = rows
        """Under which filter its rows are drawn."""
        self._missed: deque[Update | RpcFailure] = deque()
        """What `restore` found, until it is read."""
        connection.keep(self)

    @property
    def handle(self) -> str:
        return self.opened["session"]

    @property
    def path(self) -> str | None:
        """Its file, planned while nothing is on disk; None in memory."""
        return self.opened["path"]

    async def append(
        self,
        entry: dict[str, Any] | None = None,
        *,
        entries: Sequence[dict[str, Any]] | None = None,
        detached: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.AppendResult:
        """Appends one entry, or several as one change: all or none.

        Entries without an id get one here, so the same call may be made again after a crash.
        """
        given = [entry] if entry is not None else list(entries or [])
        chooses = any("id" not in one for one in given)
        for attempt in range(_ID_ATTEMPTS):
            made = with_ids(given, self._new_id)
            what = {"entry": made[0]} if entry is not None else {"entries": made}
            try:
                return await self._call(
                    answers.AppendResult,
                    "session/append",
                    **what,
                    detached=detached or UNSET,
                    base_leaf=base_leaf,
                    request_id=request_id,
                )
            except RpcFailure as failure:
                # One of our eight digits names an entry already: others are as good.
                if failure.kind != "DuplicateEntry" or not chooses or attempt + 1 == _ID_ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def navigate(
        self,
        target: EntryId | None,
        *,
        exact: bool = False,
        summarize: bool = False,
        summary: str | Unset = UNSET,
        custom_instructions: str | Unset = UNSET,
        replace_instructions: bool = False,
        summarizer: str | Unset = UNSET,
        label: str | Unset = UNSET,
        dry_run: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
        progress: OnProgress | None = None,
    ) -> answers.NavigateResult:
        """Moves the leaf: to an entry, to the place before a user message, or before all (None).

        With `summarize` it takes as long as a model takes, and `progress` is told how far it is.
        """
        return await self._call(
            answers.NavigateResult,
            "session/navigate",
            progress,
            target=target,
            exact=exact or UNSET,
            summarize=summarize or UNSET,
            summary=summary,
            custom_instructions=custom_instructions,
            replace_instructions=replace_instructions or UNSET,
            summarizer=summarizer,
            label=label,
            dry_run=dry_run or UNSET,
            base_leaf=base_leaf,
            request_id=request_id,
        )

    async def compact(
        self,
        *,
        summary: str | Unset = UNSET,
        dry_run: Literal[True, "summary"] | Unset = UNSET,
        custom_instructions: str | Unset = UNSET,
        summarizer: str | Unset = UNSET,
        draft: str | Unset = UNSET,
        with_input: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
        progress: OnProgress | None = None,
    ) -> answers.CompactResult:
        """Compacts the active branch with a given summary or one that is asked for.

        With `dry_run` nothing is written and the answer's `preview` says what would be. `progress`
        is told how far the summary is.
        """
        return await self._call(
            answers.CompactResult,
            "session/compact",
            progress,
            summary=summary,
            dry_run=dry_run,
            custom_instructions=custom_instructions,
            summarizer=summarizer,
            draft=draft,
            with_input=with_input or UNSET,
            base_leaf=base_leaf,
            request_id=request_id,
        )

    async def cancel_operation(
        self, *, operation_id: str | Unset = UNSET, request_id: str | Unset = UNSET
    ) -> answers.CancelOperationResult:
        """Ends what runs long in the session, whoever began it."""
        return await self._call(
            answers.CancelOperationResult,
            "session/cancel",
            operation_id=operation_id,
            request_id=request_id,
        )

    async def compare(
        self, a: EntryId | Literal["leaf"], b: EntryId | Literal["leaf"]
    ) -> answers.CompareResult:
        """Two branches side by side since they parted, each named by its end."""
        return await self._call(answers.CompareResult, "session/compare", a=a, b=b)

    async def summarizers(self) -> answers.SummarizersResult:
        """Who can write summaries for the session."""
        return await self._call(answers.SummarizersResult, "session/summarizers")

    async def fork(
        self,
        entry: EntryId | Unset = UNSET,
        *,
        position: Literal["before", "at"] | Unset = UNSET,
        cwd: str | Unset = UNSET,
        dry_run: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.ForkResult:
        """Begins a new session with the path to an entry; `cwd` alone takes all entries along."""
        return await self._call(
            answers.ForkResult,
            "session/fork",
            entry=entry,
            position=position,
            cwd=cwd,
            dry_run=dry_run or UNSET,
            base_leaf=base_leaf,
            request_id=request_id,
        )

    async def clone(
        self,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.ForkResult:
        """Begins a new session that holds the active branch."""
        return await self._call(
            answers.ForkResult, "session/clone", base_leaf=base_leaf, request_id=request_id
        )

    async def label(
        self,
        target: EntryId,
        label: str | None,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.Done:
        """Labels an entry; None clears."""
        return await self._call(
            answers.Done,
            "session/label",
            target=target,
            label=label,
            base_leaf=base_leaf,
            request_id=request_id,
        )

    async def rename(
        self,
        name: str | None,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.Done:
        """Names the session; None clears."""
        return await self._call(
            answers.Done, "session/rename", name=name, base_leaf=base_leaf, request_id=request_id
        )

    async def edit_context(
        self,
        target: EntryId,
        replacement: dict[str, Any] | Literal["restore"] | None,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.Done:
        """Changes what the model is sent of an entry, on this branch only.

        None takes it out, `{"content": …}` stands in its place, `"restore"` undoes both.
        """
        return await self._call(
            answers.Done,
            "session/editContext",
            target=target,
            replacement=replacement,
            base_leaf=base_leaf,
            request_id=request_id,
        )

    async def tree(
        self,
        *,
        around: EntryId | Unset = UNSET,
        after: EntryId | Unset = UNSET,
        before: EntryId | Unset = UNSET,
        count: int = 200,
        filter: Filter = "all",  # noqa: A002
    ) -> answers.TreeResult:
        """One page of the tree; `around="leaf"` is where people look first."""
        return await self._call(
            answers.TreeResult,
            "session/tree",
            around=around,
            after=after,
            before=before,
            count=count,
            filter=filter,
        )

    async def rows(
        self,
        *,
        level: str | Unset = UNSET,
        around: EntryId | Unset = UNSET,
        after: str | Unset = UNSET,
        before: str | Unset = UNSET,
        count: int = 200,
        filter: Filter = "default",  # noqa: A002
    ) -> answers.RowsResult:
        """One level of the tree as people see it; `around="here"` is where people look first."""
        return await self._call(
            answers.RowsResult,
            "session/rows",
            level=level,
            around=around,
            after=after,
            before=before,
            count=count,
            filter=filter,
        )

    async def whole_level(
        self,
        level: str | None = None,
        *,
        filter: Filter = "default",  # noqa: A002
    ) -> answers.RowsResult:
        """All rows inside one, or of the main line, of one rev unless it changes all the time."""
        inside = UNSET if level is None else level
        for _ in range(_TREE_ATTEMPTS):
            whole = page = await self.rows(level=inside, count=_PAGE, filter=filter)
            while (after := page.get("after")) is not None and page["rev"] == whole["rev"]:
                try:
                    page = await self.rows(level=inside, after=after, count=_PAGE, filter=filter)
                except RpcFailure as failure:
                    if failure.kind != "InvalidParams":
                        raise
                    # The row to go on behind is no more, for the session has changed.
                    break
                whole["rows"] += page["rows"]
            else:
                whole.pop("after", None)
                if page["rev"] == whole["rev"]:
                    return whole
        whole["rows"] = list({row["id"]: row for row in whole["rows"]}.values())
        return whole

    async def branches(
        self, query: str | Unset = UNSET, *, limit: int = 50, cursor: str | Unset = UNSET
    ) -> answers.BranchesResult:
        """Branches by their ends, the active one first, or those with some words in them."""
        return await self._call(
            answers.BranchesResult, "session/branches", query=query, limit=limit, cursor=cursor
        )

    async def whole_tree(self, *, filter: Filter = "all") -> answers.TreeResult:  # noqa: A002
        """All pages of the tree as one, of one rev unless the session changes all the time."""
        for _ in range(_TREE_ATTEMPTS):
            whole = page = await self.tree(count=_PAGE, filter=filter)
            while (after := page.get("after")) is not None:
                page = await self.tree(after=after, count=_PAGE, filter=filter)
                whole["nodes"] += page["nodes"]
            whole.pop("after", None)
            if page["rev"] == whole["rev"]:
                return whole
        # Pages of several revs are merged by id; each node says its own parent.
        whole["nodes"] = list({node["id"]: node for node in whole["nodes"]}.values())
        return whole

    async def entries(
        self,
        *,
        ids: Sequence[EntryId] | Unset = UNSET,
        branch: EntryId | Unset = UNSET,
        since: EntryId | Unset = UNSET,
        order: Literal["branch", "file"] = "branch",
        limit: int = 1000,
        cursor: str | Unset = UNSET,
    ) -> answers.EntriesResult:
        """Bodies of entries as stored: these, those of a branch, or those behind one."""
        return await self._call(
            answers.EntriesResult,
            "session/entries",
            ids=ids,
            branch=branch,
            since=since,
            order=order,
            limit=limit,
            cursor=cursor,
        )

    async def context(
        self,
        entry: EntryId | Unset | None = UNSET,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
    ) -> answers.ContextResult:
        """What the model would be sent, at the leaf or at any entry."""
        return await self._call(
            answers.ContextResult, "session/context", entry=entry, limit=limit, cursor=cursor
        )

    async def size(self, *, window: int | Unset = UNSET) -> answers.ContextSize:
        """The context size at the leaf, with its parts, counted by a window or the model's own."""
        return await self._call(answers.ContextSize, "session/contextSize", window=window)

    async def sizes(
        self, entries: Sequence[EntryId], *, window: int | Unset = UNSET
    ) -> dict[str, answers.ContextSize]:
        """The context size at each of some entries, by id; see `size`."""
        answer = await self._call(
            answers.ContextSizes, "session/contextSize", entries=list(entries), window=window
        )
        return answer["sizes"]

    async def stats(self) -> answers.StatsResult:
        """Messages, tokens and cost of the active branch and of the whole file."""
        return await self._call(answers.StatsResult, "session/stats")

    async def check(self) -> answers.CheckResult:
        """What in the file could not be taken as it stands."""
        return await self._call(answers.CheckResult, "session/check")

    async def export(
        self,
        format: Literal["jsonl", "markdown", "html"],  # noqa: A002
        *,
        entry: EntryId | Unset | None = UNSET,
        whole: bool = False,
        path: str | Unset = UNSET,
    ) -> answers.ExportResult:
        """A branch as text, or with `path` in a new file; `whole` is the tree, as HTML only."""
        return await self._call(
            answers.ExportResult,
            "session/export",
            format=format,
            entry=entry,
            whole=whole or UNSET,
            path=path,
        )

    async def sync(self) -> None:
        """Waits until all that was written before, by pi too, has been sent to this client."""
        await self._call(dict, "session/sync")

    async def close(self) -> None:
        """Leaves the session; its file and the other clients notice nothing."""
        await self._call(dict, "session/close")
        self._connection.drop(self)
        self._connection.forget(self.handle)

    async def changes(
        self,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        progress: bool = False,
    ) -> AsyncIterator[Update]:
        """Every change from the opening on, the client's own included, in order and without gaps.

        Where the daemon or this client had to drop some, the session is opened again, and the next
        update says so. One reader at a time; what waits is bounded (see `inbox`). With `progress`
        there are also updates that only tell of long operations, whoever began them.

        Raises:
            TimeoutError: For `timeout` seconds none came. Asking again goes on where it stood.
            ConnectionLost: No more will come.
            RpcFailure: The connection came back, and the session was gone with its daemon.
        """
        while True:
            method, params = await self._connection.receive(self.handle, timeout)
            while self._missed:
                missed = self._missed.popleft()
                if isinstance(missed, RpcFailure):
                    raise missed
                yield missed
            if method == DID_PROGRESS and progress:
                told = cast(answers.DidProgress, params)
                yield Update(self._rev, (), self.leaf, self.context_size, progress=told)
            if method == DID_PRESENCE:
                self.clients = params["clients"]
            verdict = judge(method, params, self._epoch, self._rev)
            if verdict == "apply":
                update = Update.of(params)
                self._stand(params["epoch"], update)
                yield update
            elif verdict == "reopen":
                yield await self._reopen()

    async def restore(self, connection: Connection) -> None:
        """Opens the session again on a new connection; what was missed is the next change."""
        try:
            self._missed.append(await self._open_again(connection))
        except RpcFailure as failure:
            # It was on no disk, or is no session any more. Its reader is told.
            self._missed.append(failure)
        connection.put(Notification(RESTORED, {"session": self.handle}))

    async def _reopen(self) -> Update:
        # What waits was said before the snapshot, so nothing is lost with it; an old epoch's delta
        # would only make us open once more.
        self._connection.forget(self.handle)
        return await self._open_again(self._connection)

    async def _open_again(self, connection: Connection | LastingConnection) -> Update:
        # By its path where there is one: after an eviction a handle may be anyone's.
        known = self.path is not None and not self.opened["unsaved"]
        which = {"path": self.path} if known else {"session": self.handle}
        since = {"epoch": self._epoch, "rev": self._rev}
        rows = UNSET if self._rows is UNSET else {"filter": self._rows}
        opened: answers.OpenResult = await connection.call(
            "session/open", {**which, **to_wire(since=since, rows=rows)}
        )
        update = Update.of_opening(opened)
        self.opened, self.clients = opened, opened.get("clients", [])
        self._stand(opened["epoch"], update)
        return update

    def _stand(self, epoch: str, update: Update) -> None:
        self._epoch, self._rev = epoch, update.rev
        self.leaf, self.context_size = update.leaf, update.context_size

    async def _call(
        self, _answer: type[_Answer], method: str, _progress: OnProgress | None = None, **named: Any
    ) -> _Answer:
        params = {"session": self.handle, **to_wire(**named)}
        return cast(_Answer, await self._connection.call(method, params, progress=_progress))

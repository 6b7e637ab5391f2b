"""What can be asked of one open session, for scripts without a loop; nothing is changed.

It is made from `questions.py`: change that one, then run `python -m tests.client.generated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast

from pisessiond.client import answers
from pisessiond.client.answers import EntryId
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.blocking_lasting import BlockingLastingConnection
from pisessiond.client.errors import RpcFailure
from pisessiond.client.params import UNSET, Unset, to_wire
from pisessiond.client.progress import OnProgress

Filter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]

Zoom = Literal["branches", "turns", "entries"]

_Answer = TypeVar("_Answer")

_PAGE = 2000
"""Nodes asked for at once; the protocol's most."""
_TREE_ATTEMPTS = 3


class BlockingSessionQuestions:
    """The part of a `BlockingSession` that looks."""

    def __init__(
        self, connection: BlockingConnection | BlockingLastingConnection, opened: answers.OpenResult
    ) -> None:
        self._connection = connection
        self.opened = opened
        """What `session/open` answered last; as old as that."""

    @property
    def handle(self) -> str:
        return self.opened["session"]

    @property
    def path(self) -> str | None:
        """Its file, planned while nothing is on disk; None in memory."""
        return self.opened["path"]

    def tree(
        self,
        *,
        around: EntryId | Unset = UNSET,
        after: EntryId | Unset = UNSET,
        before: EntryId | Unset = UNSET,
        count: int = 200,
        filter: Filter = "all",  # noqa: A002
    ) -> answers.TreeResult:
        """One page of the tree; `around="leaf"` is where people look first."""
        return self._call(
            answers.TreeResult,
            "session/tree",
            around=around,
            after=after,
            before=before,
            count=count,
            filter=filter,
        )

    def rows(
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
        return self._call(
            answers.RowsResult,
            "session/rows",
            level=level,
            around=around,
            after=after,
            before=before,
            count=count,
            filter=filter,
        )

    def whole_level(
        self,
        level: str | None = None,
        *,
        filter: Filter = "default",  # noqa: A002
    ) -> answers.RowsResult:
        """All rows inside one, or of the main line, of one rev unless it changes all the time."""
        inside = UNSET if level is None else level
        for _ in range(_TREE_ATTEMPTS):
            whole = page = self.rows(level=inside, count=_PAGE, filter=filter)
            while (after := page.get("after")) is not None and page["rev"] == whole["rev"]:
                try:
                    page = self.rows(level=inside, after=after, count=_PAGE, filter=filter)
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

    def branches(
        self, query: str | Unset = UNSET, *, limit: int = 50, cursor: str | Unset = UNSET
    ) -> answers.BranchesResult:
        """Branches by their ends, the active one first, or those with some words in them."""
        return self._call(
            answers.BranchesResult, "session/branches", query=query, limit=limit, cursor=cursor
        )

    def graph(
        self,
        zoom: Zoom = "turns",
        *,
        start: int | Unset = UNSET,
        around: EntryId | Unset = UNSET,
        count: int = 200,
    ) -> answers.GraphResult:
        """A stretch of the lanes graph, from a line on or around an entry, `here` among those."""
        return self._call(
            answers.GraphResult,
            "session/graph",
            zoom=zoom,
            start=start,
            around=around,
            count=count,
        )

    def whole_graph(self, zoom: Zoom = "turns") -> answers.GraphResult:
        """All lines of the graph, of one rev unless the session changes all the time."""
        for _ in range(_TREE_ATTEMPTS):
            whole = page = self.graph(zoom, start=0, count=_PAGE)
            while len(whole["lines"]) < page["total"] and page["rev"] == whole["rev"]:
                page = self.graph(zoom, start=len(whole["lines"]), count=_PAGE)
                whole["lines"] += page["lines"]
            if page["rev"] == whole["rev"]:
                return whole
        whole["lines"] = list({line["id"]: line for line in whole["lines"]}.values())
        return whole

    def whole_tree(self, *, filter: Filter = "all") -> answers.TreeResult:  # noqa: A002
        """All pages of the tree as one, of one rev unless the session changes all the time."""
        for _ in range(_TREE_ATTEMPTS):
            whole = page = self.tree(count=_PAGE, filter=filter)
            while (after := page.get("after")) is not None:
                page = self.tree(after=after, count=_PAGE, filter=filter)
                whole["nodes"] += page["nodes"]
            whole.pop("after", None)
            if page["rev"] == whole["rev"]:
                return whole
        # Pages of several revs are merged by id; each node says its own parent.
        whole["nodes"] = list({node["id"]: node for node in whole["nodes"]}.values())
        return whole

    def entries(
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
        return self._call(
            answers.EntriesResult,
            "session/entries",
            ids=ids,
            branch=branch,
            since=since,
            order=order,
            limit=limit,
            cursor=cursor,
        )

    def context(
        self,
        entry: EntryId | Unset | None = UNSET,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
    ) -> answers.ContextResult:
        """What the model would be sent, at the leaf or at any entry."""
        return self._call(
            answers.ContextResult, "session/context", entry=entry, limit=limit, cursor=cursor
        )

    def size(self, *, window: int | Unset = UNSET) -> answers.ContextSize:
        """The context size at the leaf, with its parts, counted by a window or the model's own."""
        return self._call(answers.ContextSize, "session/contextSize", window=window)

    def sizes(
        self, entries: Sequence[EntryId], *, window: int | Unset = UNSET
    ) -> dict[str, answers.ContextSize]:
        """The context size at each of some entries, by id; see `size`."""
        answer = self._call(
            answers.ContextSizes, "session/contextSize", entries=list(entries), window=window
        )
        return answer["sizes"]

    def stats(self) -> answers.StatsResult:
        """Messages, tokens and cost of the active branch and of the whole file."""
        return self._call(answers.StatsResult, "session/stats")

    def check(self) -> answers.CheckResult:
        """What in the file could not be taken as it stands."""
        return self._call(answers.CheckResult, "session/check")

    def export(
        self,
        format: Literal["jsonl", "markdown", "html"],  # noqa: A002
        *,
        entry: EntryId | Unset | None = UNSET,
        whole: bool = False,
        path: str | Unset = UNSET,
    ) -> answers.ExportResult:
        """A branch as text, or with `path` in a new file; `whole` is the tree, as HTML only."""
        return self._call(
            answers.ExportResult,
            "session/export",
            format=format,
            entry=entry,
            whole=whole or UNSET,
            path=path,
        )

    def compare(
        self, a: EntryId | Literal["leaf"], b: EntryId | Literal["leaf"]
    ) -> answers.CompareResult:
        """Two branches side by side since they parted, each named by its end."""
        return self._call(answers.CompareResult, "session/compare", a=a, b=b)

    def summarizers(self) -> answers.SummarizersResult:
        """Who can write summaries for the session."""
        return self._call(answers.SummarizersResult, "session/summarizers")

    def _call(
        self, _answer: type[_Answer], method: str, _progress: OnProgress | None = None, **named: Any
    ) -> _Answer:
        params = {"session": self.handle, **to_wire(**named)}
        return cast(_Answer, self._connection.call(method, params, progress=_progress))

"""One open session, for scripts without a loop: acts, and hears of changes.

It is made from `session.py`: change that one, then run `python -m tests.client.generated`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

from pisessiond.client import answers
from pisessiond.client.answers import EntryId
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.blocking_lasting import BlockingLastingConnection
from pisessiond.client.blocking_questions import BlockingSessionQuestions, Filter
from pisessiond.client.entries import NewId, with_ids
from pisessiond.client.errors import RpcFailure
from pisessiond.client.inbox import Notification
from pisessiond.client.params import UNSET, Unset, to_wire
from pisessiond.client.progress import OnProgress
from pisessiond.client.repeating import RESTORED
from pisessiond.client.update import DID_PRESENCE, DID_PROGRESS, Update, judge

_ID_ATTEMPTS = 5


class BlockingSession(BlockingSessionQuestions):
    """A session this client has open; made by `BlockingClient.open` and `BlockingClient.create`.

    Every act takes `base_leaf` (refused with `LeafMoved` if the leaf is another one) and
    `request_id` (repeating it repeats the answer, not the act), and raises `RpcFailure` when the
    daemon refuses it; then nothing was changed. Where a running pi has the session open it is that
    pi which acts: `pi` names one of several, and `when_idle` waits for the end of its run.
    """

    def __init__(
        self,
        connection: BlockingConnection | BlockingLastingConnection,
        opened: answers.OpenResult,
        new_id: NewId,
        rows: Filter | Unset = UNSET,
    ) -> None:
        super().__init__(connection, opened)
        self._new_id = new_id
        self.leaf = opened["leaf"]
        """The leaf as far as `changes` was read."""
        self.context_size = opened["contextSize"]
        """The context size at the leaf as far as `changes` was read."""
        self.clients = opened.get("clients", [])
        """Who has the session open, as far as `changes` was read."""
        self.pis = opened.get("pis", [])
        """Running pi that have it open, as far as `changes` was read."""
        self._epoch, self._rev = opened["epoch"], opened["rev"]
        self._rows = rows
        """Under which filter its rows are drawn."""
        self._missed: deque[Update | RpcFailure] = deque()
        """What `restore` found, until it is read."""
        connection.keep(self)

    def append(
        self,
        entry: dict[str, Any] | None = None,
        *,
        entries: Sequence[dict[str, Any]] | None = None,
        detached: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
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
                return self._call(
                    answers.AppendResult,
                    "session/append",
                    **what,
                    detached=detached or UNSET,
                    base_leaf=base_leaf,
                    pi=pi,
                    when_idle=when_idle or UNSET,
                    request_id=request_id,
                )
            except RpcFailure as failure:
                # One of our eight digits names an entry already: others are as good.
                if failure.kind != "DuplicateEntry" or not chooses or attempt + 1 == _ID_ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def navigate(
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
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
        progress: OnProgress | None = None,
    ) -> answers.NavigateResult:
        """Moves the leaf: to an entry, to the place before a user message, or before all (None).

        With `summarize` it takes as long as a model takes, and `progress` is told how far it is.
        """
        return self._call(
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
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def compact(
        self,
        *,
        summary: str | Unset = UNSET,
        dry_run: Literal[True, "summary"] | Unset = UNSET,
        custom_instructions: str | Unset = UNSET,
        summarizer: str | Unset = UNSET,
        draft: str | Unset = UNSET,
        with_input: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
        progress: OnProgress | None = None,
    ) -> answers.CompactResult:
        """Compacts the active branch with a given summary or one that is asked for.

        With `dry_run` nothing is written and the answer's `preview` says what would be. `progress`
        is told how far the summary is.
        """
        return self._call(
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
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def cancel_operation(
        self, *, operation_id: str | Unset = UNSET, request_id: str | Unset = UNSET
    ) -> answers.CancelOperationResult:
        """Ends what runs long in the session, whoever began it."""
        return self._call(
            answers.CancelOperationResult,
            "session/cancel",
            operation_id=operation_id,
            request_id=request_id,
        )

    def fork(
        self,
        entry: EntryId | Unset = UNSET,
        *,
        position: Literal["before", "at"] | Unset = UNSET,
        cwd: str | Unset = UNSET,
        take_pi: bool = False,
        dry_run: bool = False,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
    ) -> answers.ForkResult:
        """Begins a new session with the path to an entry; `cwd` alone takes all entries along."""
        return self._call(
            answers.ForkResult,
            "session/fork",
            entry=entry,
            position=position,
            cwd=cwd,
            take_pi=take_pi or UNSET,
            dry_run=dry_run or UNSET,
            base_leaf=base_leaf,
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def clone(
        self,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
    ) -> answers.ForkResult:
        """Begins a new session that holds the active branch."""
        return self._call(
            answers.ForkResult,
            "session/clone",
            base_leaf=base_leaf,
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def label(
        self,
        target: EntryId,
        label: str | None,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
    ) -> answers.Done:
        """Labels an entry; None clears."""
        return self._call(
            answers.Done,
            "session/label",
            target=target,
            label=label,
            base_leaf=base_leaf,
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def rename(
        self,
        name: str | None,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
    ) -> answers.Done:
        """Names the session; None clears."""
        return self._call(
            answers.Done,
            "session/rename",
            name=name,
            base_leaf=base_leaf,
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def edit_context(
        self,
        target: EntryId,
        replacement: dict[str, Any] | Literal["restore"] | None,
        *,
        base_leaf: EntryId | Unset | None = UNSET,
        pi: int | Unset = UNSET,
        when_idle: bool = False,
        request_id: str | Unset = UNSET,
    ) -> answers.Done:
        """Changes what the model is sent of an entry, on this branch only.

        None takes it out, `{"content": …}` stands in its place, `"restore"` undoes both.
        """
        return self._call(
            answers.Done,
            "session/editContext",
            target=target,
            replacement=replacement,
            base_leaf=base_leaf,
            pi=pi,
            when_idle=when_idle or UNSET,
            request_id=request_id,
        )

    def prompt(
        self,
        text: str,
        *,
        deliver_as: Literal["steer", "followUp"] | Unset = UNSET,
        pi: int | Unset = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.PromptResult:
        """Gives the running pi that has the session open a prompt, as if it had been typed there.

        Answers when pi has taken it; its answer comes as changes. The user may be asked in pi
        first whether this client may.
        """
        return self._call(
            answers.PromptResult,
            "session/prompt",
            text=text,
            deliver_as=deliver_as,
            pi=pi,
            request_id=request_id,
        )

    def abort(self, *, pi: int | Unset = UNSET, request_id: str | Unset = UNSET) -> answers.Done:
        """Stops what the running pi that has the session open is at."""
        return self._call(answers.Done, "session/abort", pi=pi, request_id=request_id)

    def reread(self, *, pi: int | Unset = UNSET, request_id: str | Unset = UNSET) -> answers.Done:
        """Has the running pi read what others wrote to the session (`unseen` of `pis`)."""
        return self._call(answers.Done, "session/reread", pi=pi, request_id=request_id)

    def sync(self) -> None:
        """Waits until all that was written before, by pi too, has been sent to this client."""
        self._call(dict, "session/sync")

    def close(self) -> None:
        """Leaves the session; its file and the other clients notice nothing."""
        self._call(dict, "session/close")
        self._connection.drop(self)
        self._connection.forget(self.handle)

    def changes(
        self,
        timeout: float | None = None,
        *,
        progress: bool = False,
        presence: bool = False,
    ) -> Iterator[Update]:
        """Every change from the opening on, the client's own included, in order and without gaps.

        Where the daemon or this client had to drop some, the session is opened again, and the next
        update says so. One reader at a time; what waits is bounded (see `inbox`). With `progress`
        there are also updates that only tell of long operations, whoever began them; with
        `presence` those that tell who has it open, and what running pi do.

        Raises:
            TimeoutError: For `timeout` seconds none came. Asking again goes on where it stood.
            ConnectionLost: No more will come.
            RpcFailure: The connection came back, and the session was gone with its daemon.
        """
        while True:
            method, params = self._connection.receive(self.handle, timeout)
            while self._missed:
                missed = self._missed.popleft()
                if isinstance(missed, RpcFailure):
                    raise missed
                yield missed
            if method == DID_PROGRESS and progress:
                told = cast(answers.DidProgress, params)
                yield Update(self._rev, (), self.leaf, self.context_size, progress=told)
            if method == DID_PRESENCE:
                self.clients, self.pis = params["clients"], params.get("pis", [])
                if presence:
                    here = cast(answers.DidPresence, params)
                    yield Update(self._rev, (), self.leaf, self.context_size, presence=here)
            verdict = judge(method, params, self._epoch, self._rev)
            if verdict == "apply":
                update = Update.of(params)
                self._stand(params["epoch"], update)
                yield update
            elif verdict == "reopen":
                yield self._reopen()

    def restore(self, connection: BlockingConnection) -> None:
        """Opens the session again on a new connection; what was missed is the next change."""
        try:
            self._missed.append(self._open_again(connection))
        except RpcFailure as failure:
            # It was on no disk, or is no session any more. Its reader is told.
            self._missed.append(failure)
        connection.put(Notification(RESTORED, {"session": self.handle}))

    def _reopen(self) -> Update:
        # What waits was said before the snapshot, so nothing is lost with it; an old epoch's delta
        # would only make us open once more.
        self._connection.forget(self.handle)
        return self._open_again(self._connection)

    def _open_again(self, connection: BlockingConnection | BlockingLastingConnection) -> Update:
        # By its path where there is one: after an eviction a handle may be anyone's.
        known = self.path is not None and not self.opened["unsaved"]
        which = {"path": self.path} if known else {"session": self.handle}
        since = {"epoch": self._epoch, "rev": self._rev}
        rows = UNSET if self._rows is UNSET else {"filter": self._rows}
        opened: answers.OpenResult = connection.call(
            "session/open", {**which, **to_wire(since=since, rows=rows)}
        )
        update = Update.of_opening(opened)
        self.opened, self.clients = opened, opened.get("clients", [])
        self.pis = opened.get("pis", [])
        self._stand(opened["epoch"], update)
        return update

    def _stand(self, epoch: str, update: Update) -> None:
        self._epoch, self._rev = epoch, update.rev
        self.leaf, self.context_size = update.leaf, update.context_size

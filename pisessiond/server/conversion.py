"""Answers of the service as the models of the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pisessiond.core.problems import Problem
from pisessiond.core.rows.row import Filter, RowsChange
from pisessiond.protocol import act_models, session_models, values, view_models
from pisessiond.protocol.methods import (
    DID_CHANGE,
    DID_PRESENCE,
    DID_PROGRESS,
    SESSIONS_DID_CHANGE,
)
from pisessiond.protocol.notification_models import (
    DidChange,
    DidPresence,
    DidProgress,
    SessionsDidChange,
)
from pisessiond.protocol.table import Asked
from pisessiond.protocol.wire import WireModel
from pisessiond.server.envelope import notification
from pisessiond.server.pi_conversion import live_pis
from pisessiond.server.row_conversion import rows_change
from pisessiond.service import previews, types, views
from pisessiond.service.listing import ListPage
from pisessiond.service.live.pi import LivePi


def node(given: types.Node) -> values.Node:
    """One node; a role, label or visible parent it has not stays absent."""
    size = given.context_size
    made = values.Node(
        id=given.id,
        parent=given.parent,
        type=given.type,
        preview=given.preview,
        time=given.time,
        children=given.children,
        tokens=given.tokens,
        context_size=values.NodeSize(tokens=size.tokens, source=size.source) if size else None,
        flags=list(given.flags),
    )
    if given.role is not None:
        made.role = given.role
    if given.label is not None:
        made.label = given.label
    return made


def context_size(given: types.ContextSize) -> values.ContextSize:
    """One context size; what was not counted stays absent."""
    made = values.ContextSize(
        tokens=given.tokens,
        source=given.source,
        estimated=given.estimated,
        measured=given.measured,
        measured_at=given.measured_at,
        before=given.before,
        window=given.window,
        percent=given.percent,
        model=given.model,
        grade=given.grade,
        due_at=given.due_at,
        due=given.due,
    )
    if given.thinking_level is not None:
        made.thinking_level = given.thinking_level
    if given.parts is not None:
        made.parts = given.parts
        made.unexplained = given.unexplained
    if given.largest is not None:
        made.largest = [
            values.Largest(entry=one.entry, title=one.title, tokens=one.tokens, time=one.time)
            for one in given.largest
        ]
    return made


def problems(given: Iterable[Problem]) -> list[values.Problem]:
    """What the file's problems are."""
    return [
        values.Problem(
            kind=problem.kind,
            message=problem.message,
            consequence=problem.consequence,
            line=problem.line,
            offset=problem.offset,
            entry=problem.entry,
        )
        for problem in given
    ]


def did_change(given: types.SessionChange, filter_name: Filter | None = None) -> bytes:
    """The notification of a change, encoded once for all who are told the same.

    With a filter it tells those who draw rows how these have changed.
    """
    rows = given.rows.get(filter_name) if filter_name is not None else None
    if filter_name is None or rows is None:
        if given.encoded is None:
            given.encoded = _did_change(given, None)
        return given.encoded
    encoded = given.encoded_rows.get(filter_name)
    if encoded is None:
        encoded = given.encoded_rows[filter_name] = _did_change(given, rows)
    return encoded


def _did_change(given: types.SessionChange, rows: RowsChange | None) -> bytes:
    size = given.context_size
    changes = [_change(one) for one in given.changes]
    if rows is not None:
        origin = given.changes[-1].origin if given.changes else "repair"
        changes.append(rows_change(rows, _origin(origin)))
    params = DidChange(
        session=given.session,
        epoch=given.epoch,
        base=given.base,
        rev=given.rev,
        changes=changes,
        leaf=given.leaf,
        context_size=context_size(size) if size else None,
    )
    return notification(DID_CHANGE.name, params)


def _change(given: types.Change) -> values.Change:
    made = values.Change.model_validate(
        {**_plain(given.details), "kind": given.kind, "origin": _origin(given.origin)}
    )
    if given.nodes:
        made.nodes = [node(one) for one in given.nodes]
        # In a change absent means unchanged, so a label that was taken away has to be said.
        for sent, one in zip(made.nodes, given.nodes, strict=True):
            sent.label = one.label
    return made


def _plain(details: dict[str, object]) -> dict[str, object]:
    """Details of a change as JSON; problems among them are values of the service."""
    plain = dict(details)
    if isinstance(listed := plain.get("problems"), list | tuple):
        plain["problems"] = [
            one.model_dump(by_alias=True)
            for one in problems(item for item in listed if isinstance(item, Problem))
        ] or list(listed)
    return plain


def _origin(given: types.AnyOrigin) -> values.Origin:
    if not isinstance(given, types.Origin):
        return given
    made = values.ClientOrigin(client=given.client, client_id=given.client_id)
    if given.request_id is not None:
        made.request_id = given.request_id
    if given.pid is not None:
        made.pid = given.pid
    return made


def open_result(
    given: types.Snapshot, since: session_models.Position | None
) -> session_models.OpenResult:
    """How a session stands at the moment of subscribing, and what the client has missed."""
    size = given.context_size
    made = session_models.OpenResult(
        session=given.session,
        path=given.path,
        header=given.header,
        epoch=given.epoch,
        rev=given.rev,
        leaf=given.leaf,
        unsaved=given.unsaved,
        read_only=given.read_only,
        last_external=given.last_external,
        name=given.name,
        entry_count=given.entry_count,
        mode="snapshot",
        context_size=context_size(size) if size else None,
        problems=problems(given.problems),
        operation=None if given.operation is None else progress(given.operation),
        clients=_present(given.clients),
        skip_branch_prompt=given.skip_branch_prompt,
    )
    if given.pis:
        made.pis = live_pis(given.pis)
    if given.leaf_conflict is not None:
        ours, theirs = given.leaf_conflict
        made.leaf_conflict = values.LeafConflict(ours=ours, theirs=theirs)
    if given.missed is not None and since is not None:
        made.mode = "deltas"
        made.base = since.rev
        made.changes = [_change(one) for step in given.missed for one in step.changes]
    return made


def _listed_size(given: types.NodeSize, percent: float | None) -> session_models.ListedSize:
    return session_models.ListedSize(tokens=given.tokens, source=given.source, percent=percent)


def listed_session(given: types.ListedSession) -> session_models.ListedSession:
    """One line of the list."""
    size, fork = given.context_size, given.fork
    point = None
    if fork is not None:
        point = session_models.ForkPoint(
            entry=fork.entry, preview=fork.preview, first_message=fork.first_message
        )
    made = session_models.ListedSession(
        session=given.session,
        path=given.path,
        cwd=given.cwd,
        name=given.name,
        first_message=given.first_message,
        messages=given.messages,
        created=given.created,
        modified=given.modified,
        parent_session=given.parent_session,
        open=given.open,
        unsaved=given.unsaved,
        last_external=given.last_external,
        live=given.live,
        fork=point,
        context_size=None if size is None else _listed_size(size, given.percent),
        cwd_missing=given.cwd_missing,
        root=given.root,
        depth=given.depth,
    )
    if given.pis:
        made.pis = live_pis(given.pis)
    return made


def list_result(given: ListPage) -> session_models.ListResult:
    """A stretch of the list, and where it comes from."""
    return session_models.ListResult(
        sessions=[listed_session(one) for one in given.sessions],
        cursor=given.cursor,
        folders=[
            session_models.LookedAt(path=folder.path, shared=folder.is_shared)
            for folder in given.folders
        ],
        unread=given.unread,
    )


def sessions_did_change(rows: Iterable[types.ListedSession], gone: Iterable[str]) -> bytes:
    """The notification of a change of the list."""
    params = SessionsDidChange(sessions=[listed_session(one) for one in rows], gone=list(gone))
    return notification(SESSIONS_DID_CHANGE.name, params)


def tree_result(given: views.TreePage) -> view_models.TreeResult:
    """A stretch of the tree."""
    nodes = []
    for one in given.nodes:
        sent = node(one)
        sent.visible_parent = one.visible_parent
        nodes.append(sent)
    made = view_models.TreeResult(rev=given.rev, total=given.total, nodes=nodes)
    if given.before is not None:
        made.before = given.before
    if given.after is not None:
        made.after = given.after
    return made


def context_result(given: views.ContextPage) -> view_models.ContextResult:
    """What the model would be sent."""
    return view_models.ContextResult(
        rev=given.rev,
        messages=list(given.messages),
        sources=list(given.sources),
        model=given.model,
        thinking_level=given.thinking_level,
        active_tools=given.active_tools,
        omitted=[view_models.Omitted(id=entry, reason=reason) for entry, reason in given.omitted],
        cursor=given.cursor,
    )


def stats_result(given: views.Stats) -> view_models.StatsResult:
    """Totals."""
    return view_models.StatsResult(
        rev=given.rev, branch=_stats_part(given.branch), file=_stats_part(given.file)
    )


def _stats_part(given: views.StatsPart) -> view_models.StatsPart:
    return view_models.StatsPart(
        messages=given.messages,
        tool_calls=given.tool_calls,
        tokens=_token_totals(given.tokens),
        cost=given.cost,
        models=[
            view_models.ModelTotals(
                model=one.model, tokens=_token_totals(one.tokens), cost=one.cost
            )
            for one in given.models
        ],
    )


def _token_totals(given: views.TokenTotals) -> view_models.TokenTotals:
    return view_models.TokenTotals(
        input=given.input,
        output=given.output,
        cache_read=given.cache_read,
        cache_write=given.cache_write,
    )


def progress(given: types.Progress) -> values.Progress:
    """Where an operation stands."""
    return values.Progress(**_progress_members(given))


def did_presence(
    session: str, clients: Iterable[types.Present], pis: Sequence[LivePi] = ()
) -> bytes:
    """The notification of who has a session open."""
    params = DidPresence(session=session, clients=_present(clients))
    if pis:
        params.pis = live_pis(pis)
    return notification(DID_PRESENCE.name, params)


def _present(clients: Iterable[types.Present]) -> list[values.Present]:
    return [values.Present(client=one.client, name=one.name) for one in clients]


def did_progress(given: types.Progress) -> bytes:
    """The notification of where an operation stands."""
    return notification(DID_PROGRESS.name, DidProgress(**_progress_members(given)))


def _progress_members(given: types.Progress) -> dict[str, Any]:
    members: dict[str, Any] = {
        "session": given.session,
        "operation": given.operation,
        "operation_id": given.operation_id,
        "origin": _origin(given.origin),
        "reason": given.reason,
        "state": given.state,
        "received": given.received,
        "summarizer": given.summarizer,
    }
    return members if given.message is None else {**members, "message": given.message}


def asked_params(asked: Asked[WireModel, Any], params: dict[str, Any]) -> WireModel:
    """What a client is asked, from values of the service."""
    members = dict(params)
    prepared = members.get("preparation")
    if isinstance(prepared, previews.CompactionPreview):
        members["preparation"] = preview(prepared)
    elif isinstance(prepared, previews.MovePreview):
        members["preparation"] = move_preview(prepared)
    return asked.params(**members)


def compare_result(given: views.Comparison) -> view_models.CompareResult:
    """Two branches since they parted."""
    at = given.ancestor_size
    return view_models.CompareResult(
        rev=given.rev,
        ancestor=given.ancestor,
        ancestor_size=None if at is None else context_size(at),
        a=_compared_side(given.a),
        b=_compared_side(given.b),
    )


def _compared_side(given: views.ComparedSide) -> view_models.ComparedSide:
    return view_models.ComparedSide(
        entries=given.entries,
        turns=given.turns,
        size=context_size(given.size),
        tokens=_token_totals(given.tokens),
        cost=given.cost,
        seconds=given.seconds,
        files=view_models.FileLists(
            read=list(given.read_files), modified=list(given.modified_files)
        ),
    )


def move_preview(given: previews.MovePreview) -> act_models.MovePreview:
    """What a move or a fork would do."""
    return act_models.MovePreview(
        leaf=given.leaf,
        leaves=act_models.LeftBehind(entries=given.left_entries, turns=given.left_turns),
        size_now=context_size(given.size_now),
        size_after=context_size(given.size_after),
        returns_text=given.returns_text,
        outside=given.outside,
        summary=None if given.forecast is None else forecast(given.forecast),
    )


def forecast(given: previews.Forecast) -> act_models.Forecast:
    """What asking a summarizer comes to."""
    return act_models.Forecast(
        summarizer=given.summarizer,
        model=given.model,
        tokens_in=given.tokens_in,
        cost=given.cost,
    )


def preview(given: previews.CompactionPreview) -> act_models.CompactionPreview:
    """What a compaction would do."""
    made = act_models.CompactionPreview(
        first_kept=given.first_kept,
        is_split_turn=given.is_split_turn,
        summarised=list(given.summarised),
        turn_prefix=list(given.turn_prefix),
        kept=list(given.kept),
        tokens_before=given.tokens_before,
        tokens_kept=given.tokens_kept,
        previous_summary=given.previous_summary,
        read_files=list(given.read_files),
        modified_files=list(given.modified_files),
        summary_at_most=given.summary_at_most,
        tokens_after=given.tokens_after,
        forecast=None if given.forecast is None else forecast(given.forecast),
    )
    if given.no_summarizer is not None:
        made.no_summarizer = given.no_summarizer
    if given.inputs is not None:
        made.inputs = [
            act_models.SummaryInput(
                kind=one.kind, text=one.text, previous_summary=one.previous_summary
            )
            for one in given.inputs
        ]
    return made

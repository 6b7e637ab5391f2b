"""Acts on a session: append, navigate, compact, fork, clone, label, rename, editContext.

A handler runs under its request's cancel scope. The service shields the part of an act that
must not be torn, from staging to telling the subscribers; a cancel that comes before that ends
the act with nothing changed, and one that comes during it is too late: the answer is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pisessiond.protocol.act_models import (
    AppendParams,
    AppendResult,
    CancelOperationParams,
    CancelOperationResult,
    CloneParams,
    CompactParams,
    CompactResult,
    EditContextParams,
    ForkParams,
    ForkResult,
    LabelParams,
    NavigateParams,
    NavigateResult,
    RenameParams,
)
from pisessiond.protocol.errors import invalid_params, no_summarizer, not_served
from pisessiond.protocol.values import Done
from pisessiond.protocol.wire import LeafMutationParams
from pisessiond.server import conversion
from pisessiond.service.types import EntryId, Forked, Origin

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


def _base_leaf(params: LeafMutationParams) -> EntryId | msgspec.UnsetType | None:
    return params.base_leaf if "base_leaf" in params.model_fields_set else msgspec.UNSET


def _check_summary(summary: str | None) -> None:
    # Not a constraint of the model: those make pydantic refuse half a surrogate pair, which a
    # text cut by a JavaScript client may end with.
    if summary == "":
        raise invalid_params("summary", "it is empty")


def _origin(connection: Connection, request_id: str | None) -> Origin:
    return connection.client.origin(request_id)


async def append(connection: Connection, params: AppendParams) -> AppendResult:
    """Adds entries under the leaf."""
    entries: list[dict[str, Any]] = params.entries or [params.entry or {}]
    done = await connection.session(params.session).append(
        entries,
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
        detached=params.detached,
    )
    return AppendResult(rev=done.rev, leaf=done.leaf, ids=list(done.ids))


async def navigate(connection: Connection, params: NavigateParams) -> NavigateResult:
    """Moves the leaf; with a given summary, tells of the branch that is left."""
    if params.dry_run:
        raise not_served("dryRun")
    _check_summary(params.summary)
    if params.summarize and params.summary is None:
        raise no_summarizer()
    for member, given in (
        ("customInstructions", params.custom_instructions is not None),
        ("replaceInstructions", params.replace_instructions),
    ):
        if given:
            raise invalid_params(member, "it is for a summarizer, and none was asked for")
    done = await connection.session(params.session).navigate(
        params.target,
        exact=params.exact,
        summary=params.summary,
        label=params.label,
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
    )
    result = NavigateResult(rev=done.rev, leaf=done.leaf)
    if done.editor_text is not None:
        result.editor_text = done.editor_text
    if done.summary_entry is not None:
        result.summary_entry = done.summary_entry
    return result


async def compact(connection: Connection, params: CompactParams) -> CompactResult:
    """Writes a given summary as a compaction, or says what one would do."""
    session = connection.session(params.session)
    if params.dry_run is True:
        found = await session.prepare_compaction()
        return CompactResult(rev=session.rev, leaf=session.leaf, preview=conversion.preview(found))
    _check_summary(params.summary)
    if params.summary is None or params.dry_run == "summary":
        raise no_summarizer()
    for member, value in (
        ("customInstructions", params.custom_instructions),
        ("summarizer", params.summarizer),
    ):
        if value is not None:
            raise invalid_params(member, "it means nothing beside a given summary")
    done = await session.compact(
        summary=params.summary,
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
    )
    return CompactResult(rev=done.rev, leaf=done.leaf, entry=done.entry)


def cancel_operation(
    connection: Connection, params: CancelOperationParams
) -> CancelOperationResult:
    """Ends what runs long in the session, whoever began it."""
    found = connection.session(params.session).cancel_operation(
        params.operation_id, by=connection.client.name
    )
    return CancelOperationResult(cancelled=None if found is None else conversion.progress(found))


async def fork(connection: Connection, params: ForkParams) -> ForkResult:
    """A new session from the path to an entry, or from all of them."""
    if params.dry_run:
        raise not_served("dryRun")
    forked = await connection.session(params.session).fork(
        params.entry,
        position=params.position,
        cwd=params.cwd and connection.client.resolve(params.cwd, "cwd"),
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
    )
    return _forked(connection, forked)


async def clone(connection: Connection, params: CloneParams) -> ForkResult:
    """A new session holding the active branch."""
    forked = await connection.session(params.session).clone(
        origin=_origin(connection, params.request_id), base_leaf=_base_leaf(params)
    )
    return _forked(connection, forked)


def _forked(connection: Connection, forked: Forked) -> ForkResult:
    made = connection.session(forked.session)
    result = ForkResult(
        rev=made.rev,
        leaf=made.leaf,
        session=forked.session,
        path=forked.path,
        unsaved=forked.unsaved,
        source_rev=forked.source_rev,
    )
    if forked.editor_text is not None:
        result.editor_text = forked.editor_text
    return result


async def label(connection: Connection, params: LabelParams) -> Done:
    """Labels an entry, or clears its label."""
    done = await connection.session(params.session).label(
        params.target,
        params.label,
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
    )
    return Done(rev=done.rev, leaf=done.leaf)


async def rename(connection: Connection, params: RenameParams) -> Done:
    """Names the session, or clears its name."""
    done = await connection.session(params.session).rename(
        params.name,
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
    )
    return Done(rev=done.rev, leaf=done.leaf)


async def edit_context(connection: Connection, params: EditContextParams) -> Done:
    """Changes what the model would be sent of an entry."""
    done = await connection.session(params.session).edit_context(
        params.target,
        params.replacement,
        origin=_origin(connection, params.request_id),
        base_leaf=_base_leaf(params),
    )
    return Done(rev=done.rev, leaf=done.leaf)

"""Acts on a session: append, navigate, compact, fork, clone, label, rename, editContext.

A handler runs under its request's cancel scope. The service shields the part of an act that
must not be torn, from staging to telling the subscribers; a cancel that comes before that ends
the act with nothing changed, and one that comes during it is too late: the answer is sent.
"""

from __future__ import annotations

from dataclasses import replace
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
from pisessiond.protocol.errors import invalid_params
from pisessiond.protocol.values import Done
from pisessiond.protocol.wire import LeafMutationParams
from pisessiond.server import conversion
from pisessiond.server.progress import work_done
from pisessiond.service.live import taking
from pisessiond.service.previews import DraftSummary
from pisessiond.service.types import EntryId, Forked, Origin

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


def _base_leaf(params: LeafMutationParams) -> EntryId | msgspec.UnsetType | None:
    return params.base_leaf if "base_leaf" in params.model_fields_set else msgspec.UNSET


def _check_summary(summary: str | None) -> None:
    # Not a constraint of the model: those make pydantic refuse half a surrogate pair, which a
    # text cut by a JavaScript client may end with.
    if summary is not None and not summary.strip():
        raise invalid_params("summary", "it is empty")


def _origin(connection: Connection, params: LeafMutationParams) -> Origin:
    origin = connection.client.origin(params.request_id)
    return replace(origin, through=params.pi, when_idle=params.when_idle)


async def append(connection: Connection, params: AppendParams) -> AppendResult:
    """Adds entries under the leaf."""
    entries: list[dict[str, Any]] = params.entries or [params.entry or {}]
    done = await connection.session(params.session).append(
        entries,
        origin=_origin(connection, params),
        base_leaf=_base_leaf(params),
        detached=params.detached,
    )
    return AppendResult(rev=done.rev, leaf=done.leaf, ids=list(done.ids))


async def navigate(connection: Connection, params: NavigateParams) -> NavigateResult:
    """Moves the leaf, says what a move would do, or has the branch that is left summarised."""
    _check_navigate(params)
    session = connection.session(params.session)
    if params.dry_run:
        found = await session.preview_move(
            params.target, exact=params.exact, summarizer=params.summarizer
        )
        shown = conversion.move_preview(found)
        return NavigateResult(rev=session.rev, leaf=session.leaf, preview=shown)
    with work_done(connection, params.work_done_token) as report:
        done = await session.navigate(
            params.target,
            exact=params.exact,
            summarize=params.summarize,
            summary=params.summary,
            instructions=params.custom_instructions,
            replaces_instructions=params.replace_instructions,
            summarizer=params.summarizer,
            label=params.label,
            origin=_origin(connection, params),
            base_leaf=_base_leaf(params),
            report=report,
        )
    result = NavigateResult(rev=done.rev, leaf=done.leaf)
    if done.editor_text is not None:
        result.editor_text = done.editor_text
    if done.summary_entry is not None:
        result.summary_entry = done.summary_entry
    return result


def _check_navigate(params: NavigateParams) -> None:
    _check_summary(params.summary)
    is_written = params.summarize and params.summary is None
    if not is_written:
        _refuse(
            "it is for a summarizer, and none was asked for",
            customInstructions=params.custom_instructions is not None,
            replaceInstructions=params.replace_instructions,
            # A dry run says what a summary by that one would come to.
            summarizer=params.summarizer is not None and not params.dry_run,
        )
    if params.replace_instructions and params.custom_instructions is None:
        raise invalid_params("replaceInstructions", "give what to use in customInstructions")


async def compact(connection: Connection, params: CompactParams) -> CompactResult:
    """Writes a compaction, or says what one would do."""
    _check_compact(params)
    session = connection.session(params.session)
    if params.dry_run is True:
        found = await session.prepare_compaction(
            summarizer=params.summarizer, with_input=params.with_input
        )
        return CompactResult(rev=session.rev, leaf=session.leaf, preview=conversion.preview(found))
    with work_done(connection, params.work_done_token) as report:
        if params.dry_run == "summary":
            written = await session.draft_compaction(
                instructions=params.custom_instructions,
                summarizer=params.summarizer,
                origin=_origin(connection, params),
                report=report,
            )
            return _drafted(written, session.rev, session.leaf)
        done = await session.compact(
            summary=params.summary,
            draft=params.draft,
            instructions=params.custom_instructions,
            summarizer=params.summarizer,
            origin=_origin(connection, params),
            base_leaf=_base_leaf(params),
            report=report,
        )
    return CompactResult(
        rev=done.rev,
        leaf=done.leaf,
        entry=done.entry,
        tokens_before=done.before,
        tokens_after=done.after,
    )


def _drafted(written: DraftSummary, rev: int, leaf: EntryId | None) -> CompactResult:
    result = CompactResult(
        rev=rev,
        leaf=leaf,
        preview=conversion.preview(written.preview),
        summary=written.summary,
        draft=written.draft,
    )
    if written.usage is not None:
        result.usage = written.usage
    return result


def _check_compact(params: CompactParams) -> None:
    _check_summary(params.summary)
    if params.summary is None:
        _refuse("it belongs to a given summary", draft=params.draft is not None)
    else:
        _refuse(
            "it means nothing beside a given summary",
            customInstructions=params.custom_instructions is not None,
            summarizer=params.summarizer is not None,
            dryRun=params.dry_run == "summary",
        )
    if params.dry_run is not True:
        _refuse("it needs dryRun: true", withInput=params.with_input)


def _refuse(reason: str, **given: bool) -> None:
    """Refuses the first parameter of these that was given."""
    for member, is_given in given.items():
        if is_given:
            raise invalid_params(member, reason)


async def cancel_operation(
    connection: Connection, params: CancelOperationParams
) -> CancelOperationResult:
    """Ends what runs long in the session, whoever began it, and answers when it has ended."""
    found = await connection.session(params.session).cancel_operation(
        params.operation_id, by=connection.client.name
    )
    return CancelOperationResult(cancelled=None if found is None else conversion.progress(found))


async def fork(connection: Connection, params: ForkParams) -> ForkResult:
    """A new session from the path to an entry, or from all of them; or what that would hold."""
    session = connection.session(params.session)
    cwd = params.cwd and connection.client.resolve(params.cwd, "cwd")
    if params.dry_run:
        found = await session.preview_fork(params.entry, position=params.position, cwd=cwd)
        return ForkResult(
            rev=session.rev,
            leaf=session.leaf,
            session=session.handle,
            path=session.path,
            unsaved=session.is_unsaved,
            preview=conversion.move_preview(found),
        )
    origin = _origin(connection, params)
    pi = await taking.find(session, origin) if params.take_pi else None
    if pi is not None and session.live.is_mirror:
        # Nothing of it is anywhere but in that pi.
        session.check_leaf(_base_leaf(params))
        made = await taking.fork_in_pi(session, pi, params.entry, params.position, origin)
        return _forked(connection, made)
    forked = await session.fork(
        params.entry,
        position=params.position,
        cwd=cwd,
        origin=origin,
        base_leaf=_base_leaf(params),
    )
    result = _forked(connection, forked)
    if pi is not None and (stayed := await taking.take(pi, forked, origin)) is not None:
        result.pi_stayed = stayed
    return result


async def clone(connection: Connection, params: CloneParams) -> ForkResult:
    """A new session holding the active branch."""
    forked = await connection.session(params.session).clone(
        origin=_origin(connection, params), base_leaf=_base_leaf(params)
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
        origin=_origin(connection, params),
        base_leaf=_base_leaf(params),
    )
    return Done(rev=done.rev, leaf=done.leaf)


async def rename(connection: Connection, params: RenameParams) -> Done:
    """Names the session, or clears its name."""
    done = await connection.session(params.session).rename(
        params.name,
        origin=_origin(connection, params),
        base_leaf=_base_leaf(params),
    )
    return Done(rev=done.rev, leaf=done.leaf)


async def edit_context(connection: Connection, params: EditContextParams) -> Done:
    """Changes what the model would be sent of an entry."""
    done = await connection.session(params.session).edit_context(
        params.target,
        params.replacement,
        origin=_origin(connection, params),
        base_leaf=_base_leaf(params),
    )
    return Done(rev=done.rev, leaf=done.leaf)

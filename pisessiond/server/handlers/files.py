"""Moving sessions in and out: export, import, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pisessiond.protocol.file_models import (
    DeleteParams,
    DeleteResult,
    ExportParams,
    ExportResult,
    ImportParams,
    ImportResult,
)

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


async def export(connection: Connection, params: ExportParams) -> ExportResult:
    """A branch or the tree as text, or into a new file."""
    client = connection.client
    done = await connection.session(params.session).export(
        params.format,
        entry=params.entry if "entry" in params.model_fields_set else msgspec.UNSET,
        whole=params.whole,
        path=params.path and client.resolve(params.path, "path"),
    )
    if done.path is not None:
        return ExportResult(rev=done.rev, path=done.path, bytes=done.size)
    return ExportResult(rev=done.rev, text=done.text, bytes=done.size)


async def import_copy(connection: Connection, params: ImportParams) -> ImportResult:
    """A copy of a session file among pi's own."""
    client = connection.client
    made = await connection.state.sessions.import_copy(
        path=params.path and client.resolve(params.path, "path"),
        text=params.text,
        session_id="" if params.new_id else params.id,
        cwd=params.cwd and client.resolve(params.cwd, "cwd"),
        home_cwd=client.resolve(".", "cwd"),
        session_dir=client.session_dir,
    )
    return ImportResult(session=made.session, path=made.path)


async def delete(connection: Connection, params: DeleteParams) -> DeleteResult:
    """A session's file goes to the trash."""
    client = connection.client
    gone = await connection.state.sessions.delete(
        session=params.session,
        path=params.path and client.resolve(params.path, "path"),
        discard=params.discard,
        origin=client.origin(params.request_id),
    )
    return DeleteResult(session=gone.session, path=gone.path, trashed=gone.trashed)

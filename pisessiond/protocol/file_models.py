"""Parameters and results of moving sessions in and out: export, import, delete."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictStr, model_validator

from pisessiond.protocol.view_models import SessionParams
from pisessiond.protocol.wire import EntryId, MutationParams, WireModel

ExportFormat = Literal["jsonl", "markdown", "html"]


class ExportParams(SessionParams):
    """What of a session, in which form, and where to."""

    format: ExportFormat
    """jsonl: a session of its own, as pi exports one. markdown: to be read, tool output folded.
    html: a page that needs nothing else."""
    entry: EntryId | None = None
    """The branch down to this entry; absent: to the leaf."""
    whole: StrictBool = False
    """html only: the tree with all its branches."""
    path: StrictStr | None = Field(default=None, min_length=1)
    """A new file to write to, relative to the client's `cwd`; it is never written over. Absent:
    the answer holds the text, up to 8 MiB."""


class ExportResult(WireModel):
    """The export."""

    rev: int
    """The revision it is of."""
    text: str | None = None
    """The text; absent when it went to a file."""
    path: str | None = None
    """The file that was written; absent with `text`."""
    bytes: int
    """How large it is."""


class ImportParams(MutationParams):
    """Exactly one of `path` and `text`: a session to be copied among pi's own."""

    path: StrictStr | None = Field(default=None, min_length=1)
    """A session file; relative to the client's `cwd`. It is only read."""
    text: StrictStr | None = None
    """The lines of one."""
    id: StrictStr | None = Field(default=None, min_length=1)
    """The copy's id; absent: the session's own."""
    new_id: StrictBool = False
    """Give it a new UUIDv7."""
    cwd: StrictStr | None = Field(default=None, min_length=1)
    """The folder it is to belong to; absent: what its header says. Nothing else of it changes."""

    @model_validator(mode="after")
    def _one_source(self) -> ImportParams:
        if (self.path is None) == (self.text is None):
            raise ValueError("give exactly one of path and text")
        if self.new_id and self.id is not None:
            raise ValueError("give at most one of id and newId")
        return self


class ImportResult(WireModel):
    """The copy; it is not opened."""

    session: str
    """Its id."""
    path: str
    """Its file."""


class DeleteParams(MutationParams):
    """Exactly one of `session` and `path`."""

    session: StrictStr | None = None
    """Session id or handle."""
    path: StrictStr | None = Field(default=None, min_length=1)
    """Path of the file; relative to the client's `cwd`."""
    discard: StrictBool = False
    """Needed for a session that is on no disk: nothing brings it back."""

    @model_validator(mode="after")
    def _exactly_one(self) -> DeleteParams:
        if (self.session is None) == (self.path is None):
            raise ValueError("give exactly one of session and path")
        return self


class DeleteResult(WireModel):
    """The session that is no more."""

    session: str
    """Its handle."""
    path: str | None
    """Where its file was or would have been; null in memory."""
    trashed: bool
    """Whether a file went to the trash; else there was none."""

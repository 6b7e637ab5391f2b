"""Parameters and results of searching sessions."""

from __future__ import annotations

from pydantic import Field, StrictStr

from pisessiond.protocol.wire import EntryId, ReadParams, WireModel

MAX_QUERY = 10_000
"""Characters of a query."""

MAX_FOUND = 500
"""Results in one answer."""


class SearchParams(ReadParams):
    """What is looked for, and where."""

    query: StrictStr = Field(max_length=MAX_QUERY)
    """Words, all of which must stand in one text of an entry, in whatever case and with whatever
    accents; in double quotes a phrase. Words of one identifier (`getUserName`, `max_size`) and the
    whole are found, of scripts without spaces any piece. There are no operators."""
    session: StrictStr | None = None
    """In this session only: handle, id or path."""
    role: StrictStr | None = None
    """Said by: a message's role (`user`, `assistant`, `toolResult`, `bashExecution`, `system`,
    `custom`), or `summary`, `label` or `name`."""
    tool: StrictStr | None = None
    """Calls and results of this tool only."""
    label: StrictStr | None = None
    """Entries with this label only, in whatever case."""
    cwd: StrictStr | None = None
    """Sessions of this folder only; relative to the client's `cwd`."""
    since: StrictStr | None = None
    """Not older than this ISO time."""
    limit: int = Field(default=20, ge=1, le=MAX_FOUND, strict=True)
    """At most so many."""
    cursor: StrictStr | None = None
    """Goes on where an answer ended."""


class MatchRange(WireModel):
    """A stretch of a snippet."""

    start: int
    """In UTF-16 code units."""
    end: int
    """Just behind it."""


class SearchSnippet(WireModel):
    """The piece of a text around what was found."""

    text: str
    """One plain line."""
    matches: list[MatchRange]
    """What was found in it, in order."""


class EntryCopy(WireModel):
    """The same entry in another file: a fork or a clone."""

    session: str
    """Session id, to open it by."""
    path: str
    """Its file."""


class SearchHit(WireModel):
    """A text in which all that was looked for stands."""

    session: str
    """Handle or session id, to open it by."""
    path: str | None
    """Its file; null in memory."""
    cwd: str
    """The folder the session belongs to."""
    name: str | None
    """The session's name."""
    entry: EntryId
    """The entry it stands in."""
    role: str
    """Who said it; see the parameter."""
    tool: str | None
    """The tool that is called or answers."""
    time: str | None
    """ISO time of the entry; null when it has none that can be read."""
    snippet: SearchSnippet
    copies: list[EntryCopy]
    """Where else the entry stands."""


class SearchResult(WireModel):
    """Some of what was found."""

    hits: list[SearchHit]
    """The best and newest first."""
    cursor: str | None
    """Goes on here; null at the end."""
    pending: int
    """Session files that were not searched to their end, since they are still being read; ask
    again a little later."""

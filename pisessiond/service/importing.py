"""Copying a session file among pi's own; blocks.

The source is read once and never written. Of its lines only the header changes, and only where
another id or folder is asked for; an old version stays one, and is migrated when it is written to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pisessiond.core.headers import file_name, is_session_id
from pisessiond.core.javascript import stringify
from pisessiond.core.loading import Loader
from pisessiond.core.members import replace_members
from pisessiond.service.errors import InvalidRequest
from pisessiond.storage.base import SessionStore

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be copied, and as what."""

    path: str | None
    """The file, which is only read; None with `text`."""
    text: str | None
    """The lines themselves."""
    session_id: str | None
    """The new id; None keeps the session's own."""
    cwd: str | None
    """The folder it is to belong to; None keeps the session's own."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A session file to be written."""

    lines: list[bytes]
    session_id: str
    cwd: str | None
    """None: its header names none."""
    timestamp: str | None
    """The header's, where a file can be named by it."""


def read_copy(store: SessionStore, source: Source) -> Copy:
    """What the new file would hold.

    Raises:
        StoreError: the source cannot be read.
        NotASession: it is none.
        InvalidRequest: it is no text that UTF-8 can spell, or has no id to name a file by.
    """
    if source.path is not None:
        lines = _lines_of_file(store, source.path)
    else:
        lines = _lines_of_text(source.text or "")
    return _copy_of(lines, session_id=source.session_id, cwd=source.cwd)


def write_copy(store: SessionStore, copy: Copy, folder: str, now: str) -> str:
    """The path of the new file in a folder, named by the header's time, or by `now` without one.

    Raises:
        StoreError: it is there already or cannot be written.
    """
    name = file_name(copy.session_id, copy.timestamp or now)
    target = os.path.realpath(os.path.join(folder, name))
    log = store.new(target)
    log.append(copy.lines)
    log.close()
    return target


def _lines_of_file(store: SessionStore, path: str) -> list[bytes]:
    """The lines of a session file.

    Raises:
        StoreError: it cannot be read.
    """
    log = store.open(path)
    try:
        return [line for run in log.scan() for line in run.lines]
    finally:
        log.close()


def _lines_of_text(text: str) -> list[bytes]:
    """The lines of a session that came as text.

    Raises:
        InvalidRequest: it cannot be spelled in UTF-8.
    """
    try:
        lines = text.encode().split(b"\n")
    except UnicodeEncodeError as error:
        raise InvalidRequest("text", "holds half a surrogate pair.") from error
    return lines[:-1] if lines[-1] == b"" else lines


def _copy_of(lines: Sequence[bytes], *, session_id: str | None, cwd: str | None) -> Copy:
    """The same session, under another id or in another folder where these are given.

    Raises:
        NotASession: the lines are no session.
        InvalidRequest: it has no id that a file can be named by.
    """
    loader = Loader()
    loader.feed(list(lines), 0)
    loader.finish()
    header = loader.header
    assert header is not None
    found = header.get("cwd")
    own = str(header["id"])
    chosen = session_id or own
    if not is_session_id(chosen):
        reason = "is none that a file can be named by; choose another one."
        raise InvalidRequest("id", reason if session_id else f"of the session {reason}")
    changed = {}
    if chosen != own:
        changed["id"] = stringify(chosen).encode()
    if cwd is not None and cwd != found:
        changed["cwd"] = stringify(cwd).encode()
    copied = list(lines)
    if changed:
        at = copied.index(loader.header_line)
        copied[at] = replace_members(copied[at], changed)
    time = header.get("timestamp")
    return Copy(
        copied,
        chosen,
        cwd or (found if isinstance(found, str) and found else None),
        time if isinstance(time, str) and _TIME.fullmatch(time) else None,
    )

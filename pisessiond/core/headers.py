"""Session headers, ids and file names (SESSION-RULES section 1)."""

from __future__ import annotations

import re
from typing import Any

from pisessiond.core.javascript import stringify
from pisessiond.core.migration import CURRENT_VERSION

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def is_session_id(text: str) -> bool:
    """Whether pi takes it as a session id (pi: `assertValidSessionId`)."""
    return _SESSION_ID.fullmatch(text) is not None


def make_header(
    session_id: str, timestamp: str, cwd: str, parent_session: str | None = None
) -> dict[str, Any]:
    """A header in pi's order; `parent_session` is the path of the session it came from."""
    header: dict[str, Any] = {
        "type": "session",
        "version": CURRENT_VERSION,
        "id": session_id,
        "timestamp": timestamp,
        "cwd": cwd,
    }
    if parent_session is not None:
        header["parentSession"] = parent_session
    return header


def encode_header(header: dict[str, Any]) -> bytes:
    """The header's line, without a line feed."""
    return stringify(header).encode()


def file_name(session_id: str, timestamp: str) -> str:
    """The name of a session's file."""
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def folder_name(cwd: str) -> str:
    """The folder of a working directory below `sessions`; never to be decoded."""
    return "--" + re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", cwd)) + "--"

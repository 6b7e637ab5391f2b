"""What the command line runs without a daemon: looking at files, mending them, adding them up.

It names concrete stores as `app` does. Imports are inside the functions, so that none pays for
another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pisessiond.app import new_id, now_iso, session_places

if TYPE_CHECKING:
    from pisessiond.core.totals import Totals


class InspectError(Exception):
    """A file that cannot be inspected, checked or repaired."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def inspect(path: str) -> dict[str, Any]:
    """Everything about a session file at its leaf; nothing is changed.

    Raises:
        InspectError: it is no session, or cannot be read.
    """
    import uuid_utils

    from pisessiond.core.headers import make_header
    from pisessiond.core.inspection import inspect_session
    from pisessiond.service.loading import load_or_begin
    from pisessiond.storage.jsonl import JsonlStore

    here = os.getcwd()
    with _file_refusals():
        log = JsonlStore().open(os.path.realpath(path))
        header = make_header(str(uuid_utils.uuid7()), now_iso(), here)
        return inspect_session(load_or_begin(log, header).session, here)


@contextmanager
def _file_refusals() -> Iterator[None]:
    from pisessiond.core.errors import NotMendable, SessionFileError
    from pisessiond.storage.errors import NoSuchSession, SessionFileExists, StoreError, Unreadable

    try:
        yield
    except NotMendable as error:
        raise InspectError("NotMendable", str(error)) from error
    except SessionFileError as error:
        raise InspectError("NotASession", str(error)) from error
    except NoSuchSession as error:
        raise InspectError("SessionNotFound", str(error)) from error
    except SessionFileExists as error:
        raise InspectError("SessionExists", str(error)) from error
    except Unreadable as error:
        raise InspectError("Unreadable", str(error)) from error
    except StoreError as error:
        raise InspectError("Degraded", str(error)) from error


def check(path: str) -> list[dict[str, Any]]:
    """What is wrong with a session file, as `session/check` answers it; nothing is changed.

    Raises:
        InspectError: it is no session, or cannot be read.
    """
    from pisessiond.service.checking import check_file
    from pisessiond.storage.jsonl import JsonlStore

    with _file_refusals():
        problems = check_file(JsonlStore(), os.path.realpath(path))
        return [{**asdict(one), "consequence": one.consequence} for one in problems]


def repair(path: str, out: str) -> dict[str, Any]:
    """Write a sound session file to `out` that is read as the one at `path` is.

    Raises:
        InspectError: it cannot be mended or read, or `out` is there or cannot be written.
    """
    from pisessiond.service.checking import repair_file
    from pisessiond.storage.jsonl import JsonlStore

    if not os.path.isdir(os.path.dirname(os.path.abspath(out))):
        # A store makes folders for sessions of its own; here it would make them of a typing error.
        raise InspectError("NotWritable", f"There is no folder {os.path.dirname(out)!r}; make it.")
    with _file_refusals():
        target = os.path.realpath(out)
        made = repair_file(JsonlStore(), os.path.realpath(path), target, new_id, now_iso())
    return {
        "path": target,
        "entries": len(made.lines) - 1,
        "leftOut": [asdict(one) for one in made.left_out],
        "changed": [asdict(one) for one in made.changed],
        "keepsLeaf": made.has_new_anchor,
    }


def recoveries(folder: str) -> list[dict[str, Any]]:
    """The sessions in a recovery folder that never got their file, oldest first."""
    from pisessiond.core.dates import iso_from_ms
    from pisessiond.service.recovering import describe_lines
    from pisessiond.storage.recovery import RecoveryFolder

    try:
        os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = f"What is kept cannot be looked at ({error.strerror}); look at its permissions."
        raise InspectError("Unreadable", reason) from error
    found = []
    for one in RecoveryFolder(folder).look():
        told = describe_lines(one.lines)
        found.append(
            {
                "session": told.session,
                "path": one.path,
                "entries": told.entries,
                "firstMessage": told.first_message,
                "modified": iso_from_ms(int(one.modified * 1000)),
                "state": one.state,
                "file": one.file,
            }
        )
    return found


def export_recovery(folder: str, file: str, out: str) -> None:
    """Write what a recovery file holds to a new session file; the recovery file stays.

    Raises:
        InspectError: `out` is there or cannot be written, or the file is gone.
    """
    from pisessiond.storage.errors import NoSuchSession
    from pisessiond.storage.jsonl import JsonlStore
    from pisessiond.storage.recovery import RecoveryFolder

    with _file_refusals():
        for one in RecoveryFolder(folder).look():
            if one.file == file and one.lines:
                JsonlStore().new(os.path.realpath(out)).append(one.lines)
                return
        raise NoSuchSession(file)


def discard_recovery(folder: str, file: str) -> bool:
    """Take a recovery file away for good; False when a running daemon holds it."""
    from pisessiond.storage.recovery import RecoveryFolder

    return RecoveryFolder(folder).drop(file)


def totals(
    agent_dir: str | None, cwd: str | None, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """What all sessions used, or those of one folder; days are the reader's."""
    from pisessiond.service.totalling import all_paths, total_files
    from pisessiond.storage.jsonl import JsonlStore

    store, places = JsonlStore(), session_places(agent_dir)
    found = total_files(
        store,
        all_paths(store, places, os.getcwd(), None),
        _local_day,
        cwd=cwd,
        progress=progress,
    )
    return {
        "sessions": found.sessions,
        "answers": found.answers,
        "shared": found.shared,
        **_sums(found.all),
        "models": [{"model": key, **_sums(part)} for key, part in found.by_model.items()],
        "projects": [{"cwd": key, **_sums(part)} for key, part in found.by_project.items()],
        "days": [{"day": key, **_sums(part)} for key, part in sorted(found.by_day.items())],
    }


def _sums(total: Totals) -> dict[str, Any]:
    tokens = {
        "input": int(total.input),
        "output": int(total.output),
        "cacheRead": int(total.cache_read),
        "cacheWrite": int(total.cache_write),
    }
    return {"tokens": tokens, "cost": total.cost}


def _local_day(time_text: str) -> str:
    from datetime import datetime

    try:
        return datetime.fromisoformat(time_text).astimezone().date().isoformat()
    except (ValueError, OverflowError):
        return "unknown"


def schema() -> dict[str, Any]:
    """The protocol as an OpenRPC document."""
    from pisessiond.protocol.schema import openrpc

    return openrpc()

"""Looking for what is wrong with a session file, and writing a sound one beside it; blocks.

No session has to be open for it, and none is changed: the damaged file keeps every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pisessiond.core.errors import NotMendable
from pisessiond.core.json_faults import BYTE_ORDER_MARK
from pisessiond.core.problems import Problem
from pisessiond.core.repair import Repair, repair_session
from pisessiond.core.session import Session, load_session
from pisessiond.service.loading import load
from pisessiond.storage.base import SessionLog, SessionStore


def check_file(store: SessionStore, path: str) -> list[Problem]:
    """Everything in a session file that could not be taken as it stands.

    A file without a byte is sound: it becomes a new session.

    Raises:
        NotASession: its bytes are no session.
        StoreError: it cannot be read.
    """
    log = store.open(path)
    if next(iter(log.scan()), None) is None:
        return []
    return load(log).session.problems


def repair_file(
    store: SessionStore, path: str, out: str, new_id: Callable[[], str], timestamp: str
) -> Repair:
    """Write a sound session to `out` that says what the one at `path` says.

    A byte order mark is taken off: without it some files that are refused are sessions.

    Args:
        store: where both are.
        path: the damaged file.
        out: the new one.
        new_id: gives a random entry id.
        timestamp: the time of an entry that has to be added, as ISO 8601.

    Raises:
        NotASession: its bytes are no session.
        NotMendable: a newer pi wrote it.
        SessionFileExists: something is at `out` already.
        StoreError: it cannot be read, or the new one not be written.
    """
    log = store.open(path)
    session = load_session(_runs(log), log.read)
    if session.is_newer:
        raise NotMendable("A newer pi wrote it; update pisessiond.")
    session.measure_rest()
    repair = repair_session(session, _runs(log), new_id, timestamp)
    _require_same_reading(session, repair)
    store.new(out).append(repair.lines)
    return repair


def _runs(log: SessionLog) -> Iterator[tuple[int, list[bytes]]]:
    for run in log.scan():
        if run.offset == 0 and run.lines[0].startswith(BYTE_ORDER_MARK):
            skipped = len(BYTE_ORDER_MARK)
            yield skipped, [run.lines[0][skipped:], *run.lines[1:]]
        else:
            yield run.offset, run.lines


def _require_same_reading(session: Session, repair: Repair) -> None:
    """Refuse to write what would be read otherwise; it would be a fault of ours."""
    lines = repair.lines
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    by_start = dict(zip(starts, lines, strict=False))
    made = load_session([(0, lines)], lambda places: [by_start[at] for at, _ in places])
    same = (
        not made.problems
        and made.leaf_id == session.leaf_id
        and made.labels == session.labels
        and made.name == session.name
    )
    if not same:
        raise NotMendable("It could not be mended without changing what it says.")

"""Totals over many session files; blocks. Reads each file once and keeps none of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pisessiond.core.lines import HeaderLine, read_line
from pisessiond.core.usage import Family, UsageTotals
from pisessiond.service.places import Places
from pisessiond.storage.base import SessionStore
from pisessiond.storage.errors import StoreError

_HEADER_LINES = 64
"""Lines looked at for a header before a file is taken for something else."""

Progress = Callable[[int, int], None]
"""Told how many files are done, of how many."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    cwd: str
    parent: str | None
    """The real path of the session it was forked from."""


def total_files(
    store: SessionStore,
    paths: Iterable[str],
    day_of: Callable[[str], str],
    *,
    cwd: str | None = None,
    progress: Progress = lambda *_: None,
) -> UsageTotals:
    """What the sessions in these files used; files that are no sessions are passed over.

    Args:
        store: where they are.
        paths: their paths; the same file twice counts once.
        day_of: gives the day of an ISO time.
        cwd: only sessions of this folder; entries they share with others count here.
        progress: told after each file.
    """
    real = dict.fromkeys(os.path.realpath(path) for path in paths)
    files = [found for path in real if (found := _look(store, path)) is not None]
    if cwd is not None:
        files = [file for file in files if file.cwd == cwd]
    totals = UsageTotals()
    done = 0
    for family in _families(files):
        counted = Family(totals, day_of)
        for file in family:
            try:
                counted.add(_lines(store, file.path), file.cwd)
            except StoreError:
                # It vanished or cannot be read any more; what was read of it stands.
                pass
            totals.sessions += 1
            done += 1
            progress(done, len(files))
    return totals


def _look(store: SessionStore, path: str) -> _File | None:
    try:
        log = store.open(path)
        try:
            run = next(iter(log.scan()), None)
        finally:
            log.close()
    except StoreError:
        return None
    for line in run.lines[:_HEADER_LINES] if run else ():
        understood = read_line(line)
        if isinstance(understood, HeaderLine):
            header = understood.header
            parent, cwd = header.get("parentSession"), header.get("cwd")
            real = os.path.realpath(parent) if isinstance(parent, str) and parent else None
            return _File(path, cwd if isinstance(cwd, str) else "", real)
    return None


def _families(files: Sequence[_File]) -> list[list[_File]]:
    """Files that hang together by `parentSession`; siblings of a parent that is gone do too."""
    top: dict[str, str] = {}

    def root(path: str) -> str:
        while top.setdefault(path, path) != path:
            top[path] = path = top[top[path]]
        return path

    for file in files:
        if file.parent is not None:
            top[root(file.path)] = root(file.parent)
    families: dict[str, list[_File]] = {}
    # The oldest first, so that an entry counts for the project where it was written.
    for file in sorted(files, key=lambda file: os.path.basename(file.path)):
        families.setdefault(root(file.path), []).append(file)
    return list(families.values())


def _lines(store: SessionStore, path: str) -> Iterator[bytes]:
    log = store.open(path)
    try:
        for run in log.scan():
            yield from run.lines
    finally:
        log.close()


def all_paths(store: SessionStore, places: Places, cwd: str, wished: str | None) -> list[str]:
    """Every file that may be a session: of all folders below the agent dir, and of `cwd`'s."""
    chosen = places.folder_for(cwd, wished).path
    folders = [chosen] if places.shared_folder is None else [chosen, places.shared_folder]
    try:
        with os.scandir(places.sessions_dir) as entries:
            folders += [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        pass
    return [path for folder in dict.fromkeys(folders) for path in store.list_paths(folder)]

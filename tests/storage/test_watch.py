"""Watching folders: what is told, what is not watched, and why."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pisessiond.storage.base import FolderWatch
from pisessiond.storage.watch import FolderWatches


def no_more(*_: Any) -> Any:
    raise OSError("OS file watch limit reached.")


def mounts(tmp_path: Path, *rows: str) -> str:
    table = tmp_path / "mounts"
    table.write_text("".join(f"{row} rw 0 0\n" for row in rows))
    return str(table)


def told(watch: FolderWatch, act: Callable[[], object]) -> set[str]:
    """The names of the files told of after an act."""
    later = threading.Timer(0.05, act)
    later.start()
    changed = watch.wait()
    later.join()
    return {os.path.basename(path) for path in changed}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sessions"
    made.mkdir()
    (made / "s.jsonl").write_bytes(b"x\n")
    return made


@pytest.fixture
def watch(folder: Path) -> FolderWatch:
    return FolderWatches().watch([str(folder)])


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"y\n")


@pytest.mark.parametrize(
    ("act", "names"),
    [
        (append, {"s.jsonl"}),
        (lambda path: os.truncate(path, 1), {"s.jsonl"}),
        (Path.unlink, {"s.jsonl"}),
        (lambda path: path.rename(path.with_name("t.jsonl")), {"s.jsonl", "t.jsonl"}),
        (lambda path: path.with_name("new.jsonl").write_bytes(b""), {"new.jsonl"}),
    ],
    ids=["append", "truncate", "unlink", "rename", "create"],
)
def test_what_happens_to_files_is_told(
    watch: FolderWatch, folder: Path, act: Callable[[Path], object], names: set[str]
) -> None:
    assert told(watch, lambda: act(folder / "s.jsonl")) == names
    watch.close()


def test_it_is_told_soon_and_a_burst_at_once(watch: FolderWatch, folder: Path) -> None:
    start = time.monotonic()

    def burst() -> None:
        for _ in range(50):
            append(folder / "s.jsonl")

    assert told(watch, burst) == {"s.jsonl"}
    assert time.monotonic() - start < 0.3
    watch.close()


def test_folders_below_are_not_watched(watch: FolderWatch, folder: Path) -> None:
    below = folder / "below"
    below.mkdir()

    def both() -> None:
        append(below / "t")
        append(folder / "s.jsonl")

    assert told(watch, both) <= {"s.jsonl", "below"}
    watch.close()


def test_closing_ends_a_wait(watch: FolderWatch) -> None:
    start = time.monotonic()
    assert told(watch, watch.close) == set()
    assert time.monotonic() - start < 1
    assert watch.wait() == set()


def test_where_the_system_watches_no_more_it_is_said(folder: Path) -> None:
    watch = FolderWatches(notify=no_more).watch([str(folder)])
    assert set(watch.folders) == set()
    assert watch.reason == "the system watches no more folders (OS file watch limit reached.)"
    assert told(watch, watch.close) == set()


@pytest.mark.parametrize(
    "name", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse", "ceph", "virtiofs"]
)
def test_a_network_mount_is_not_watched(tmp_path: Path, folder: Path, name: str) -> None:
    near = tmp_path / "near"
    near.mkdir()
    table = mounts(tmp_path, "/dev/sda / ext4", f"host:/x {folder} {name}")
    watch = FolderWatches(table).watch([str(folder), str(near)])
    assert set(watch.folders) == {str(near)}
    assert watch.reason == f"a session is on a file system of type {name}"
    watch.close()


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuseblk", "zfs"])
def test_a_file_system_of_this_machine_is_watched(tmp_path: Path, folder: Path, name: str) -> None:
    watch = FolderWatches(mounts(tmp_path, f"/dev/sda {folder} {name}")).watch([str(folder)])
    assert (set(watch.folders), watch.reason) == ({str(folder)}, None)
    watch.close()


def test_the_nearest_mount_counts_and_the_last_of_several(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    spelled = str(folder).replace(" ", "\\040")
    rows = ["host:/ / nfs", f"a {spelled} nfs", f"b {spelled} ext4", f"c {spelled}x nfs"]
    watch = FolderWatches(mounts(tmp_path, *rows)).watch([str(folder)])
    assert watch.reason is None
    watch.close()


def test_a_folder_that_is_not_there_is_left_out(folder: Path) -> None:
    watch = FolderWatches().watch([str(folder), str(folder / "missing")])
    assert set(watch.folders) == {str(folder)}
    watch.close()


def test_marks_tell_a_changed_file(folder: Path) -> None:
    path = folder / "s.jsonl"
    watches = FolderWatches()
    paths = [str(path), str(folder / "missing")]
    before = watches.marks(paths)
    assert before == watches.marks(paths)
    assert before[1] is None
    append(path)
    assert watches.marks(paths)[0] != before[0]

"""Every state that a crash may leave of a scripted life opens with all that was acknowledged."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.core.errors import NotASession
from pisessiond.service.errors import ServiceError
from pisessiond.storage.jsonl import JsonlStore
from tests.service.test_every_fault import contains
from tests.support.crash import Disk, RecordingFiles
from tests.support.pi import Pi
from tests.support.script import OLD, script
from tests.support.seen import open_file

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]

NEW: Final = (
    b'{"type":"custom","id":"new","parentId":null,"timestamp":"2026-12-01T00:00:00.000Z",'
    b'"customType":"after"}'
)

State = tuple[Path, bytes, tuple[Any, ...]]


@pytest.fixture
def folder() -> Iterator[Path]:
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=where, prefix="pis-") as name:
        yield Path(name)


async def record(folder: Path, disturb: Callable[[RecordingFiles], None]) -> RecordingFiles:
    """A run of the script, with what was done to the file system and told to clients."""
    folder.mkdir()
    files = RecordingFiles()
    async with script(folder, files) as life:

        async def go_on(error: Exception) -> None:
            assert isinstance(error, ServiceError)

        life.on_acknowledged = lambda: files.note_acknowledged(life.acknowledged)
        disturb(files)
        await life.run(go_on)
    return files


def states_of(files: RecordingFiles) -> tuple[int, set[State]]:
    """How many states there are, and each file that is in one, once for what it has to hold."""
    old = next(op.target for op in files.record if op.name == "replace")
    disk = Disk({old: OLD})
    count = 0
    found: set[State] = set()
    acknowledged: dict[Path, list[Any]] = {Path(old): ["o1", "o2"]}
    for operation in files.record:
        disk.apply(operation)
        if operation.name == "acknowledge":
            acknowledged = acknowledged | operation.acknowledged
        for name, data in disk.crash_states():
            path = Path(name)
            count += 1
            known = tuple(acknowledged.get(path, ()))
            if data is None:
                assert not known, f"{path.name} may be missing"
            elif path.suffix == ".jsonl":
                found.add((path, data, known))
    return count, found


def check_ours(copy: Path, known: tuple[Any, ...]) -> None:
    """It opens with all that is known, and again when something was appended behind it."""
    try:
        session = open_file(copy)
    except NotASession:
        assert not known
        return
    assert contains(list(session.index.ids), list(known))
    before = list(session.index.ids)
    log = JsonlStore(sleep=lambda _: None).open(str(copy))
    for _ in log.scan():
        pass
    if log.is_flushed:
        assert log.append([NEW]).written
        assert list(open_file(copy).index.ids) == [*before, "new"]


DISTURBANCES: Final[dict[str, Callable[[RecordingFiles], None]]] = {
    "nothing": lambda files: None,
    "a record cut short": lambda files: files.write_only(40, skip=5),
    "three records cut short": lambda files: files.write_only(100_000, skip=22),
}


async def test_every_state_a_crash_may_leave_opens(
    pi: Pi, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    total = 0
    found: set[State] = set()
    for number, disturb in enumerate(DISTURBANCES.values()):
        count, states = states_of(await record(folder / str(number), disturb))
        total += count
        found |= states
    copies = []
    for number, (_, data, known) in enumerate(sorted(found)):
        copy = tmp_path / f"{number}.jsonl"
        copy.write_bytes(data)
        copies.append((copy, known))
    held = [(copy, known) for copy, known in copies if known]
    for (copy, known), theirs in zip(held, pi.glance([copy for copy, _ in held]), strict=True):
        assert "error" not in theirs, theirs
        assert contains([entry for entry, _ in theirs["entries"]], list(known)), copy.name
    for copy, known in copies:
        check_ours(copy, known)
    with capsys.disabled():
        print(
            f"\n{total} states after a crash, {len(found)} different files; "
            f"{len(held)} with something acknowledged, opened by pi too"
        )

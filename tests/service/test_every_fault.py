"""Every file call of a scripted life fails in turn, and nothing acknowledged is lost.

The failing file system stands under the real service; files are compared with memory right after
the failure, the act is tried again, and in the end both our loader and real pi hold everything that
was acknowledged.
"""

import errno
import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.service.errors import NotSynced, ReadOnly
from tests.support.files import FaultyFiles
from tests.support.pi import Pi
from tests.support.script import Script, check_same, script
from tests.support.seen import open_file

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]

ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EINTR)
LENGTHS: Final = ("none", "one", "middle", "all but one")


@dataclass(frozen=True)
class Fault:
    """One call that fails, and how."""

    call: str
    number: int
    how: int | str

    def arm(self, files: FaultyFiles) -> None:
        if isinstance(self.how, int):
            files.fail(self.call, self.how, skip=self.number)
            return

        def write(descriptor: int, data: bytes) -> int:
            lengths = {"none": 0, "one": 1, "middle": len(data) // 2, "all but one": len(data) - 1}
            count = lengths[str(self.how)]
            return files.through("write")(descriptor, data[:count]) if count else 0

        files.instead("write", write, skip=self.number)


@dataclass
class Seen:
    """Files as they stood after a fault, each once, with what has to be in it."""

    folder: Path
    files: dict[str, tuple[Path, list[Any]]] = field(default_factory=dict)

    def add(self, path: Path, acknowledged: list[Any]) -> None:
        data = path.read_bytes()
        name = hashlib.sha256(data + repr(acknowledged).encode()).hexdigest()
        if name not in self.files:
            copy = self.folder / f"{name}.jsonl"
            copy.write_bytes(data)
            self.files[name] = copy, acknowledged

    def check(self, pi: Pi) -> None:
        """Both programs open every one of them and find what was acknowledged."""
        kept = list(self.files.values())
        for (path, acknowledged), theirs in zip(
            kept, pi.glance([path for path, _ in kept]), strict=True
        ):
            assert "error" not in theirs, theirs
            ours = open_file(path)
            assert contains(list(ours.index.ids), acknowledged)
            assert contains([entry for entry, _ in theirs["entries"]], acknowledged)


def contains(ids: list[Any], acknowledged: list[Any]) -> bool:
    """Whether all of them are there, in their order."""
    rest = iter(ids)
    return all(entry in rest for entry in acknowledged)


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: thousands of syncs say nothing here."""
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=where, prefix="pis-") as name:
        yield Path(name)


async def calls_of_a_sound_run(folder: Path) -> Counter[str]:
    async with script(folder) as sound:
        await sound.run()
        for session in sound.sessions:
            check_same(session)
        return Counter(sound.house.files.calls)


async def run_with(fault: Fault, folder: Path, seen: Seen, told: Counter[str]) -> None:
    async with script(folder) as life:

        async def failed(error: Exception) -> None:
            told[type(error).__name__] += 1
            if isinstance(error, NotSynced | ReadOnly):
                await open_anew(life)
            for session in life.sessions:
                check_same(session)
            note_files(life, seen)

        fault.arm(life.house.files)
        await life.run(failed)
        for session in life.sessions:
            await session.places.keep()
            check_same(session)
        note_files(life, seen)
        if life.house.files.is_healthy:
            told["hit"] += 1


async def open_anew(life: Script) -> None:
    for session in life.sessions:
        if session.read_only is not None:
            await life.house.sessions.open(session=session.handle)


def note_files(life: Script, seen: Seen) -> None:
    for path, acknowledged in life.acknowledged.items():
        seen.add(path, acknowledged)


async def test_every_file_call_fails_in_turn(
    pi: Pi, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = await calls_of_a_sound_run(folder / "sound")
    faults = [
        Fault(call, number, how)
        for call, count in sorted(calls.items())
        for number in range(count)
        for how in (*ERRORS, *(LENGTHS if call == "write" else ()))
    ]
    seen, told = Seen(tmp_path), Counter[str]()
    for number, fault in enumerate(faults):
        try:
            await run_with(fault, folder / str(number), seen, told)
        except BaseException as error:
            error.add_note(f"with {fault}")
            raise
    seen.check(pi)
    with capsys.disabled():
        print(
            f"\n{sum(calls.values())} file calls {dict(calls)}, {len(faults)} faults, "
            f"{told.pop('hit')} hit; told as {dict(told)}; {len(seen.files)} files opened by pi too"
        )

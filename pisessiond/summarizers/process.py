"""Runs one program that writes a summary, and leaves nothing of it behind.

The program stands in a session (and so a process group) of its own and in an empty folder, without
a shell. However the run ends, by its end, by ours, by time or by a cancel, the whole group is
ended, the program is waited for and the folder removed within half a second. A daemon that is
killed meanwhile leaves that to a watcher (`watcher.py`).

It does not lean on the event loop's own subprocesses: with Python 3.11 these are not over as long
as a grandchild holds a pipe.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, TypeAlias

import anyio
from anyio import CapacityLimiter, to_thread

from pisessiond.core.preview import clean_line
from pisessiond.summarizers.base import SummaryFailed
from pisessiond.summarizers.watcher import Watcher

TERM_SECONDS: Final = 0.3
"""How long a program may take to end by itself once it is asked to."""
_KILL_SECONDS: Final = 0.15
_REST_SECONDS: Final = 0.2
"""How long the output of a program that has ended may still come: a child that it left behind
may hold the pipe for ever."""
_CHUNK: Final = 65_536
_ERRORS_KEPT: Final = 4_096
_LINE_LENGTH: Final = 200
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")

Take: TypeAlias = Callable[[bytes], bool]
"""Is given the output piece by piece, on the event loop; True: it needs no more."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int | None
    """The exit code, negative for a signal; None when it was ended because it had said enough."""
    complaints: tuple[str, ...]
    """The last lines of its standard error that say something: plain, each at most 200
    characters, without the home folder."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is run, and what it is allowed."""

    summarizer: str
    """The name that failures carry."""
    arguments: Sequence[str]
    """The program and its arguments, from the user's own settings."""
    environment: Mapping[str, str] = field(repr=False)
    """May hold keys."""
    seconds: float
    """For the whole run."""
    limit: int
    """Bytes of output at most."""

    @property
    def title(self) -> str:
        """What it is called in sentences: its name without the folders."""
        return clean_line(Path(self.arguments[0]).name, 80)

    def failed(self, sentence: str) -> SummaryFailed:
        return SummaryFailed(self.summarizer, "program", sentence)


def find_program(program: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Where the program is; None when it is nowhere on the PATH or may not be run."""
    return shutil.which(os.path.expanduser(program[0]), path=environment.get("PATH"))


async def run_program(program: Program, text: bytes, take: Take) -> Ended:
    """Gives the program a text on its standard input and its output to `take`, until it ends.

    A program that reads nothing of the text, or not all of it, does no harm.

    Raises:
        SummaryFailed: it could not be started (`program`), wrote more than it may (`program`) or
            took too long (`timeout`); or what `take` raised.
    """
    folder, watcher = await to_thread.run_sync(_make_room, program)
    try:
        with anyio.move_on_after(program.seconds):
            process = await to_thread.run_sync(_start, program, folder, watcher)
            run = _Run(program, process, take)
            try:
                return await run.attend(text)
            finally:
                with anyio.CancelScope(shield=True):
                    await run.end()
        raise SummaryFailed(
            program.summarizer,
            "timeout",
            f"{program.title} was ended because it took longer than {program.seconds:g} seconds; "
            "raise `timeout_seconds` in the settings or try again.",
        )
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_clear, folder, watcher)


def _make_room(program: Program) -> tuple[str, Watcher]:
    folder = tempfile.mkdtemp("", "pisessiond-summary-")
    try:
        return folder, Watcher(folder)
    except OSError as error:
        os.rmdir(folder)
        raise program.failed(
            f"{program.title} could not be started: {error.strerror}; try again later."
        ) from error


def _clear(folder: str, watcher: Watcher) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    watcher.end()


def _start(program: Program, folder: str, watcher: Watcher) -> subprocess.Popen[bytes]:
    first, *others = program.arguments
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own
            [os.path.expanduser(first), *others],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=dict(program.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "an argument holds a null character"
        raise program.failed(
            f"{program.title} could not be started: {why}; look at `program` in the settings."
        ) from error
    watcher.guard(process.pid)
    return process


@dataclass(slots=True)
class _Run:
    program: Program
    process: subprocess.Popen[bytes]
    take: Take
    # A thread waits for the process all the time; it must not take a place that others need.
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))
    _over: anyio.Event = field(default_factory=anyio.Event)
    _told: anyio.Event = field(default_factory=anyio.Event)
    _errors: bytes = b""
    _is_group_ended: bool = False

    async def attend(self, text: bytes) -> Ended:
        failure: SummaryFailed | None = None
        has_enough = False
        for pipe in self._pipes():
            os.set_blocking(pipe.fileno(), False)
        async with anyio.create_task_group() as group:
            reading = anyio.CancelScope()
            group.start_soon(self._write, text)
            group.start_soon(self._read_errors)
            group.start_soon(self._wait, reading)
            try:
                with reading:
                    has_enough = await self._read()
            except SummaryFailed as error:
                failure = error
            if failure is None and not has_enough:
                await self._over.wait()
                with anyio.move_on_after(_REST_SECONDS):
                    await self._told.wait()
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        code = None if has_enough else self.process.returncode
        return Ended(code, tuple(plain_lines(self._errors)))

    async def end(self) -> None:
        """Ends the group: first asked, then forced. Closes the pipes."""
        if not self._is_group_ended:
            self._signal(signal.SIGTERM)
            with anyio.move_on_after(TERM_SECONDS):
                await self._wait_for_process()
            self._signal(signal.SIGKILL)
            with anyio.move_on_after(_KILL_SECONDS):
                await self._wait_for_process()
        for pipe in self._pipes():
            pipe.close()

    def _pipes(self) -> list[IO[bytes]]:
        process = self.process
        return [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe]

    async def _wait_for_process(self) -> None:
        await to_thread.run_sync(self.process.wait, abandon_on_cancel=True, limiter=self._threads)

    async def _wait(self, reading: anyio.CancelScope) -> None:
        await self._wait_for_process()
        # At once: as long as one of the group lives its number is given to nobody else.
        self._signal(signal.SIGKILL)
        self._is_group_ended = True
        self._over.set()
        await anyio.sleep(_REST_SECONDS)
        reading.cancel()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    async def _write(self, text: bytes) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        rest = memoryview(text)
        try:
            while rest:
                await anyio.wait_writable(pipe.fileno())
                with suppress(BlockingIOError):
                    rest = rest[os.write(pipe.fileno(), rest[:_CHUNK]) :]
        except OSError:
            # It closed its input: it has read what it wants.
            pass
        finally:
            pipe.close()

    async def _read(self) -> bool:
        """Reads the output to its end; whether `take` had enough before."""
        total = 0
        while piece := await _receive(self.process.stdout):
            total += len(piece)
            if total > self.program.limit:
                raise self.program.failed(
                    f"{self.program.title} was ended because it wrote more than "
                    f"{self.program.limit >> 10} KiB, which is no summary."
                )
            if self.take(piece):
                return True
        return False

    async def _read_errors(self) -> None:
        while piece := await _receive(self.process.stderr):
            self._errors = (self._errors + piece)[-_ERRORS_KEPT:]
        self._told.set()


async def _receive(pipe: IO[bytes] | None) -> bytes:
    """The next piece that comes through a pipe; b"" at its end."""
    assert pipe is not None
    while True:
        await anyio.wait_readable(pipe.fileno())
        with suppress(BlockingIOError):
            return os.read(pipe.fileno(), _CHUNK)


def plain_lines(output: bytes) -> list[str]:
    """The lines that say something, as they may stand in a message."""
    text = _ESCAPE.sub("", output.decode("utf-8", "replace")).replace(str(Path.home()), "~")
    lines = (clean_line(line, _LINE_LENGTH) for line in text.splitlines())
    return [line for line in lines if line]

"""Acts that wait for a model: what is said meanwhile, what Ctrl-C does, what a refusal advises."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast

import click

from pisessiond.cli.output import INTERRUPTED, REFUSED, Output
from pisessiond.cli.plain_text import clean_line, cut

if TYPE_CHECKING:
    from pisessiond.client import answers
    from pisessiond.client.blocking_session import BlockingSession
    from pisessiond.client.errors import Interrupted, RpcFailure
    from pisessiond.client.progress import OnProgress

T = TypeVar("T")

PATIENCE_SECONDS: Final = 0.3
"""Nothing is said of what is done by then."""

_PAUSE_SECONDS: Final = 0.1
"""Between two looks at how far it is, on a terminal."""

_LINE_SECONDS: Final = 10.0
"""Between two lines where they cannot be written over each other."""


class Doing:
    """Says on standard error how far something is: one line that changes, gone when it is over.

    Where standard error is no terminal it is a line now and then.
    """

    def __init__(self, what: str, *, is_quiet: bool = False) -> None:
        self._what = what
        self._is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._is_quiet = is_quiet and not self._is_terminal
        self._far = ""
        self._over = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> OnProgress:
        """Begin; what comes back is told how far it is."""
        self._teller.start()
        return self._hear

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._teller.join()

    def _hear(self, value: answers.WorkDone) -> None:
        self._far = clean_line(value.get("message") or "") if value["kind"] == "report" else ""

    def _tell(self) -> None:
        started = time.monotonic()
        pause, said = PATIENCE_SECONDS, ""
        while not self._over.wait(pause) and not self._is_quiet:
            pause = _PAUSE_SECONDS if self._is_terminal else _LINE_SECONDS
            line = self._line(time.monotonic() - started)
            if line != said:
                self._write(line)
                said = line
        if said and self._is_terminal:
            self._write("")

    def _line(self, seconds: float) -> str:
        if self._far:
            return f"{self._what}, {self._far}"
        return f"{self._what}, {seconds:.0f} s" if seconds >= 1 else self._what

    def _write(self, line: str) -> None:
        # A line that wraps could not be written over.
        end = f"\r\x1b[K{cut(line, 79)}" if self._is_terminal else f"{line}\n"
        try:
            sys.stderr.write(end)
            sys.stderr.flush()
        except OSError:
            self._over.set()


def run_long(output: Output, what: str, act: Callable[[OnProgress], T]) -> T:
    """What an act answers that may take minutes. The first Ctrl-C cancels it at the daemon."""
    from pisessiond.client.errors import Interrupted

    try:
        with Doing(what, is_quiet=output.as_json) as hear:
            return act(hear)
    except Interrupted as end:
        if end.outcome == "done":
            click.echo("pisessiond: too late to cancel, it is done", err=True)
            return cast(T, end.result)
        raise _interrupted(output, end) from end


def _interrupted(output: Output, end: Interrupted) -> click.exceptions.Exit:
    if end.outcome == "unknown":
        sentence = "the daemon has not said what became of it; look with: pisessiond tree"
        return output.fail("Interrupted", sentence, INTERRUPTED)
    failure = end.failure
    if failure is not None and failure.kind != "Cancelled":
        return output.fail(failure.kind, failure.message, INTERRUPTED)
    return output.fail("Cancelled", "cancelled; nothing was written", INTERRUPTED)


@contextmanager
def advised(output: Output, opened: BlockingSession, session: str) -> Iterator[None]:
    """Adds to a refusal what the user can do now; `session` is how he named it."""
    from pisessiond.client.errors import RpcFailure

    try:
        yield
    except RpcFailure as failure:
        steps = [] if output.as_json else _next_steps(failure, opened, session)
        raise output.refuse(failure, steps, REFUSED) from failure


def _next_steps(failure: RpcFailure, opened: BlockingSession, session: str) -> list[str]:
    if failure.kind == "Busy" and failure.data.get("operation") != "pi does not answer":
        # What pi itself is at is no operation of the daemon's; cancel would find nothing.
        word = "abort" if failure.data.get("client") == "pi" else "cancel"
        return [f"  to end it: pisessiond {word} {session}"]
    if failure.kind == "NoSummarizer":
        return _choices(failure, opened)
    return []


def _choices(failure: RpcFailure, opened: BlockingSession) -> list[str]:
    """Who could be named, one a line, with what is missing where something is."""
    from pisessiond.cli.operation_view import choice_line
    from pisessiond.client.errors import ClientError

    try:
        known = opened.summarizers()["summarizers"]
    except ClientError:
        known = []
    if known:
        return [f"  {choice_line(choice)}" for choice in known]
    named = failure.data.get("choices")
    return [f"  {clean_line(str(name))}" for name in (named if isinstance(named, list) else ())]

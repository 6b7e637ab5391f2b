"""Values in pi's files that stand for others: `$NAME`, `${NAME}`, `!command`, or as they are.

The rules are those of pi 1.6.0's `resolveConfigValue`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Final, Self

COMMAND_SECONDS: Final = 10.0
"""As long as pi waits for a command."""

KEPT_SECONDS: Final = 300.0
"""How long the output of a command is taken for current. pi keeps that of `auth.json` for as long
as it runs and that of `models.json` not at all; a daemon runs for days, and tokens end."""

_LOOK_SECONDS: Final = 0.05
"""How often a thread that waits for a command looks whether anybody waits for it."""

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<escaped>[$!])|\{(?P<braced>[^}]*)\}|(?P<plain>[A-Za-z_][A-Za-z0-9_]*))"
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unresolved(Exception):
    """A value that cannot be had now; the message says why, and holds neither key nor command."""


def is_command(text: str) -> bool:
    """Whether a program has to run for the value."""
    return text.startswith("!")


def names_in(text: str) -> list[str]:
    """The environment variables a value is made of, in order."""
    if is_command(text):
        return []
    found = (match["plain"] or match["braced"] for match in _REFERENCE.finditer(text))
    return list(dict.fromkeys(name for name in found if name and _NAME.fullmatch(name)))


def fill_in(text: str, environment: Mapping[str, str]) -> str:
    """A value that is no command.

    Raises:
        Unresolved: a variable is not set, or empty.
    """

    def put(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"]
        name = match["plain"] or match["braced"]
        if not name or _NAME.fullmatch(name) is None:
            return match[0]
        if not (value := environment.get(name)):
            raise Unresolved(f"the environment variable {name} is not set")
        return value

    return _REFERENCE.sub(put, text)


class Commands:
    """Runs the user's own key commands and keeps what they print for a while. It blocks."""

    def __init__(
        self,
        environment: Mapping[str, str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._environment = environment
        self._monotonic = monotonic
        self._kept: dict[str, tuple[float, str]] = {}
        # So that two who want one key do not both ask for a fingerprint.
        self._lock = threading.Lock()
        self.given_up = threading.Event()
        """Set when nobody waits for an answer any more."""

    def until(self, given_up: threading.Event) -> Self:
        """The same, what is kept included, for one who may give up: its command then ends."""
        same = copy(self)
        same.given_up = given_up
        return same

    def resolve(self, text: str, also: Mapping[str, str] | None = None) -> str:
        """A value, whatever it is.

        Args:
            text: as it stands in the file.
            also: variables that count before those of the process.

        Raises:
            Unresolved: a variable is not set, or the command fails or prints nothing.
        """
        if is_command(text):
            return self._output(text[1:])
        return fill_in(text, {**self._environment, **(also or {})})

    def _output(self, command: str) -> str:
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            if self.given_up.is_set():
                raise _nobody_waits()
        try:
            now = self._monotonic()
            at, value = self._kept.get(command, (-KEPT_SECONDS, ""))
            if not value or now - at >= KEPT_SECONDS:
                value = _run(command, self._environment, self.given_up)
                self._kept[command] = now, value
            return value
        finally:
            self._lock.release()


class UnrunCommands(Commands):
    """Takes each command for one that answers, and runs none: for looking at what is set up."""

    def _output(self, command: str) -> str:
        del command
        return "unrun"


def _nobody_waits() -> Unresolved:
    return Unresolved("the key command was ended, since nobody waits for it any more")


def _run(command: str, environment: Mapping[str, str], given_up: threading.Event) -> str:
    try:
        # The user wrote it into a file of their own for exactly this; pi runs it by a shell too.
        process = subprocess.Popen(  # noqa: S602
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Unresolved(f"the key command cannot be run: {error.strerror}") from error
    with process:
        try:
            output = _wait_for(process, given_up)
        except Unresolved:
            _kill_group(process.pid)
            raise
    if process.returncode != 0:
        raise Unresolved(f"the key command failed with exit code {process.returncode}")
    if not (value := output.decode("utf-8", "replace").strip()):
        raise Unresolved("the key command printed nothing")
    return value


def _wait_for(process: subprocess.Popen[bytes], given_up: threading.Event) -> bytes:
    until = time.monotonic() + COMMAND_SECONDS
    while True:
        try:
            return process.communicate(timeout=_LOOK_SECONDS)[0]
        except subprocess.TimeoutExpired as error:
            if given_up.is_set():
                raise _nobody_waits() from error
            if time.monotonic() >= until:
                raise Unresolved(
                    f"the key command gave no answer within {COMMAND_SECONDS:g} seconds"
                ) from error


def _kill_group(pid: int) -> None:
    try:
        # Its children hold the pipe open, so they have to go too.
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass

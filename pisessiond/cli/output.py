"""How a command speaks: lines for people, or JSON for programs; and its exit code.

Exit codes: 0 done, 1 refused by the daemon, 2 wrong usage or no daemon, 130 ended by Ctrl-C, 141
ended because nobody reads its output any more.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.plain_text import clean_line

if TYPE_CHECKING:
    from pisessiond.client.errors import RpcFailure

REFUSED = 1
UNUSABLE = 2
INTERRUPTED = 130
PIPE_BROKEN = 141

_LOOKS: dict[str, dict[str, Any]] = {
    "id": {"fg": "yellow"},
    "spine": {"fg": "blue"},
    "role": {"fg": "blue", "bold": True},
    "label": {"fg": "green"},
    "match": {"fg": "red", "bold": True},
    "leaf": {"bold": True},
    "head": {"bold": True},
    "warn": {"fg": "yellow"},
    "error": {"fg": "red"},
    "dim": {"dim": True},
}

# What JSON lets pass and a terminal acts upon or cannot show: C1 controls, direction, surrogates.
_UNFIT = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def to_json(value: Any) -> str:
    """One line of JSON that can be printed anywhere."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Output:
    """Where one command's words go."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._colours = _wants_colour()

    def json(self, value: Any) -> None:
        # As bytes, since JSON is UTF-8 whatever the terminal's encoding; flushed for who follows.
        click.echo(to_json(value).encode())

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            click.echo(line, color=self._colours)

    def paint(self, text: str, part: str) -> str:
        """The text in the look of a part; unchanged where there are no colours."""
        look = _LOOKS.get(part)
        return click.style(text, **look) if self._colours and look and text else text

    def fail(
        self, kind: str, message: str, code: int, data: Mapping[str, Any] | None = None
    ) -> click.exceptions.Exit:
        """Says why nothing was done, and gives what ends the command; `data` is for programs."""
        if self.as_json:
            self.json({"error": {**(data or {}), "kind": kind, "message": message}})
        else:
            click.echo(f"pisessiond: {clean_line(message)}", err=True)
        return click.exceptions.Exit(code)

    def refuse(
        self, failure: RpcFailure, steps: Iterable[str] = (), code: int = REFUSED
    ) -> click.exceptions.Exit:
        """The same for what the daemon refused, with lines that say what to do."""
        end = self.fail(failure.kind, failure.message, code, data=failure.data)
        for step in steps:
            click.echo(step, err=True)
        return end

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Turns what the client raises into a sentence and an exit code."""
        from pisessiond.client.errors import ClientError, RpcFailure

        try:
            yield
        except RpcFailure as failure:
            raise self.refuse(failure) from failure
        except ClientError as error:
            raise self.fail(type(error).__name__, str(error), UNUSABLE) from error
        except TimeoutError as error:
            sentence = "the daemon does not answer"
            raise self.fail("NoDaemon", sentence, UNUSABLE) from error


def screen_width(asked: int | None = None) -> int:
    """Cells in a line: what was asked for, else the terminal's, 100 where there is none."""
    if asked is not None:
        return asked
    import shutil

    return shutil.get_terminal_size((100, 24)).columns


def can_draw(asked_for_ascii: bool) -> bool:
    """Whether the output takes box drawing characters."""
    if asked_for_ascii:
        return False
    try:
        "┃●«…".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _wants_colour() -> bool:
    # https://no-color.org: set and not empty means none, whatever the terminal.
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()

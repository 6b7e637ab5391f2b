"""What stands beside the lines of a session: sizes at its questions, and where one is."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types as lsp

from pisessiond.core.export_text import format_tokens
from pisessiond.server.lsp.capabilities import FORK, NAVIGATE
from pisessiond.server.lsp.commands import target_of
from pisessiond.service.turns import Turn, Turns

MAX_TURNS: Final = 1_000
"""Questions with lenses or hints; of more the newest."""


def code_lenses(turns: Turns, uri: str) -> list[lsp.CodeLens]:
    """Size, *navigate here* and *fork here* above each question; where one is above the leaf."""
    made: list[lsp.CodeLens] = []
    for turn in turns.questions:
        target = [target_of(uri, turn.id, turn.line)]
        made.append(_lens(turn, _size_words(turn)))
        made.append(_lens(turn, "navigate here", NAVIGATE, target))
        made.append(_lens(turn, "fork here", FORK, target))
    if turns.here is not None:
        made.append(_lens(turns.here, f"● you are here · {_size_words(turns.here)}"))
    return made


def _lens(
    turn: Turn, title: str, command: str = "", arguments: list[Any] | None = None
) -> lsp.CodeLens:
    place = lsp.Position(line=turn.line - 1, character=0)
    return lsp.CodeLens(
        range=lsp.Range(start=place, end=place),
        # Without a command a lens is words alone.
        command=lsp.Command(title=title, command=command, arguments=arguments),
    )


def inlay_hints(turns: Turns) -> list[lsp.InlayHint]:
    """The size in front of each question, and where one is in front of the leaf."""
    made = [_hint(turn, _size(turn), _size_words(turn)) for turn in turns.questions]
    if turns.here is not None:
        words = f"You are here: {_size_words(turns.here)}"
        made.append(_hint(turns.here, f"● {_size(turns.here)}", words))
    return made


def _hint(turn: Turn, label: str, tooltip: str) -> lsp.InlayHint:
    return lsp.InlayHint(
        position=lsp.Position(line=turn.line - 1, character=0),
        label=label,
        tooltip=tooltip,
        padding_right=True,
    )


def _size(turn: Turn) -> str:
    return ("" if turn.is_measured else "~") + format_tokens(turn.tokens)


def _size_words(turn: Turn) -> str:
    how = "measured" if turn.is_measured else "estimated"
    percent = "" if turn.percent is None else f" · {int(turn.percent + 0.5)}%"
    return f"{_size(turn)}{percent} {how}"

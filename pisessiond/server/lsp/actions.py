"""What can be done at an entry, as code actions. None of them changes the editor's text."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from pisessiond.core.export_text import plain
from pisessiond.server.lsp.capabilities import (
    ACTION_KIND,
    FORK,
    LABEL,
    NAVIGATE,
    OMIT,
    RESTORE,
    EditorView,
)
from pisessiond.server.lsp.commands import target_of
from pisessiond.service.entry_facts import Choices

FIRST_LABEL = "★"
"""Offered where a session has no label yet: LSP has no way to ask for one."""
MOST_SELECTED = 60
"""Characters of a selection that may become a label."""


def code_actions(
    choices: Choices, selected: str, uri: str, view: EditorView
) -> list[lsp.CodeAction]:
    """Navigate, fork, edit the context, and labels: those in use, and the words selected.

    Args:
        choices: what can be done.
        selected: the text selected in the entry's line; "" for none.
        uri: the file.
        view: what the editor can do.
    """
    made = []
    if not choices.is_leaf or choices.is_user:
        made.append(_action("Navigate here", NAVIGATE, uri, choices))
    made.append(_action("Fork here", FORK, uri, choices))
    if choices.can_edit and choices.is_edited:
        made.append(_action("Put back into the context", RESTORE, uri, choices))
    elif choices.can_edit:
        made.append(_action("Take out of the context", OMIT, uri, choices))
    made += [
        _action(f"Label “{label}”", LABEL, uri, choices, label)
        for label in _labels(choices, selected)
    ]
    if view.asks_for_labels:
        made.append(_action("Label …", LABEL, uri, choices))
    if choices.label:
        made.append(_action(f"Remove the label “{choices.label}”", LABEL, uri, choices, ""))
    return made


def _labels(choices: Choices, selected: str) -> Iterator[str]:
    words = plain(selected, MOST_SELECTED)
    if words and words not in (choices.label, *choices.labels):
        yield words
    yield from choices.labels
    if not choices.labels and choices.label != FIRST_LABEL:
        yield FIRST_LABEL


def _action(
    title: str, command: str, uri: str, choices: Choices, label: str | None = None
) -> lsp.CodeAction:
    target = target_of(uri, choices.id, choices.line, label)
    return lsp.CodeAction(
        title=title,
        kind=ACTION_KIND,
        command=lsp.Command(title=title, command=command, arguments=[target]),
    )


def wants_ours(only: list[str] | None) -> bool:
    """Whether an editor that asks for some kinds alone asks for ours."""
    return not only or any(f"{ACTION_KIND}.".startswith(f"{kind}.") for kind in only if kind)

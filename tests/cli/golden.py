"""What the views draw, kept as files: `python -m tests.cli.golden` remakes them.

A change of look is a diff of these files.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from pathlib import Path
from typing import Any

from pisessiond.cli.change_view import update_lines
from pisessiond.cli.entry_view import entry_lines, message_lines
from pisessiond.cli.list_view import folder_lines, list_notes, session_lines
from pisessiond.cli.report_view import (
    header_lines,
    part_lines,
    preview_lines,
    problem_lines,
    stats_lines,
    status_lines,
)
from pisessiond.cli.tree_view import ASCII, UNICODE, Glyphs, TreeView
from pisessiond.client.answers import Node
from pisessiond.client.update import Update
from tests.cli import samples

FOLDER = Path(__file__).parent / "golden"


def _tree(nodes: list[Node], width: int = 80, glyphs: Glyphs = UNICODE) -> Iterable[str]:
    view = TreeView(width, glyphs, zone=UTC)
    return [
        *header_lines(samples.OPENED, len(nodes), width, "default"),
        *view.draw(nodes, samples.SIZE),
    ]


def _changes() -> Iterable[str]:
    nvim = {"client": "nvim", "clientId": "c1"}
    changes: list[Any] = [
        {"kind": "append", "origin": "external", "nodes": [samples.node("u1 - user: What now?")]},
        {"kind": "navigate", "origin": nvim, "from": "u1", "to": None},
        {"kind": "compact", "origin": nvim, "nodes": [samples.node("c1 u1 compaction: Summary")]},
        {"kind": "label", "origin": nvim, "target": "u1", "label": "green"},
        {"kind": "label", "origin": nvim, "target": "u1", "label": None},
        {"kind": "rename", "origin": nvim, "name": "login-\x1b[31mfix"},
        {"kind": "edit", "origin": nvim, "target": "u1"},
        {"kind": "fork", "origin": nvim, "session": "s2", "path": "/srv/demo/s2.jsonl"},
        {"kind": "save", "origin": "repair", "path": "/srv/demo/s1.jsonl"},
        {"kind": "problem", "origin": "external", "problems": [1, 2]},
        {"kind": "somethingNew", "origin": nvim},
    ]
    yield from update_lines(Update.of_opening(samples.OPENED), 80)
    yield from update_lines(Update(12, tuple(changes), None, samples.SIZE), 80)


def _entries() -> Iterable[str]:
    call = {"type": "toolCall", "name": "bash", "arguments": {"command": "pytest -q"}}
    entries: list[dict[str, Any]] = [
        {
            "type": "message",
            "id": "a1",
            "parentId": "u1",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "text", "text": "One.\n\nTwo\x1b[2J."},
                    call,
                    {"type": "image", "data": "…"},
                ],
            },
        },
        {
            "type": "message",
            "id": "b1",
            "message": {"role": "bashExecution", "command": "ls", "output": "a\nb"},
        },
        {"type": "message", "id": "n1", "message": {"role": "user", "content": None}},
        {"type": "model_change", "id": "m1", "provider": "demo", "modelId": "opus-5"},
        {"type": "compaction", "id": "c1", "summary": "## Goal\nA clock."},
        {"type": "something_new", "id": "x1", "value": {"a": [1, None]}},
        {"type": "label", "id": "l1", "targetId": "a1"},
    ]
    for entry in entries:
        yield from entry_lines(entry)
    messages = [entry["message"] for entry in entries if "message" in entry]
    yield from message_lines(messages, ["a1", "b1", "n1"], 60)


def _reports() -> Iterable[str]:
    yield from status_lines(samples.STATUS)
    yield from stats_lines(samples.STATS)
    yield from part_lines(samples.SIZE)
    listed: Any = {
        "session": "0192f3c1",
        "path": None,
        "cwd": "/srv/demo",
        "name": None,
        "firstMessage": "Fix the\nlogin test",
        "messages": 12,
        "created": None,
        "modified": "2026-11-12T14:33:00.000Z",
        "parentSession": None,
        "open": 1,
        "unsaved": False,
        "lastExternal": None,
    }
    other: Any = {**listed, "session": "0192f3c2", "open": 0, "name": "store-port", "modified": "?"}
    unsaved: Any = {
        **listed,
        "session": "0192f3c3",
        "open": 0,
        "firstMessage": None,
        "unsaved": True,
    }
    yield from session_lines([listed, other, unsaved], 80, UTC)
    size = {"tokens": 84_000, "source": "measured"}
    fork: Any = {
        **listed,
        "session": "0192f3c4",
        "open": 2,
        "parentSession": "/srv/demo/a.jsonl",
        "depth": 1,
        "live": True,
        "contextSize": size,
        "fork": {"entry": "a", "preview": "Use an injected clock", "firstMessage": "Try it"},
    }
    deeper: Any = {
        **fork,
        "session": "0192f3c5",
        "open": 0,
        "depth": 2,
        "live": False,
        "cwdMissing": True,
        "contextSize": {**size, "source": "estimated"},
        "fork": {"entry": None, "preview": None, "firstMessage": None},
    }
    answer: Any = {
        "sessions": [fork, deeper],
        "cursor": None,
        "folders": [{"path": "/srv/sessions", "shared": True}],
        "unread": 2,
    }
    yield from session_lines(answer["sessions"], 100, UTC)
    yield from list_notes(answer, is_cut=True)
    yield from folder_lines(answer)
    yield from problem_lines(
        [
            {
                "kind": "badLine",
                "message": "No JSON.",
                "consequence": "It is left out.",
                "line": 7,
                "offset": 99,
                "entry": None,
            },
            {
                "kind": "somethingNew",
                "message": "No parent.",
                "consequence": "",
                "line": None,
                "offset": None,
                "entry": "a",
            },
        ]
    )
    preview: Any = {
        "firstKept": "u4",
        "isSplitTurn": True,
        "summarised": ["u1", "a1"],
        "turnPrefix": ["u2"],
        "kept": ["a2"],
        "tokensBefore": 186_000,
        "tokensKept": 20_000,
        "previousSummary": True,
        "readFiles": ["a"],
        "modifiedFiles": [],
    }
    yield from preview_lines(preview, samples.SIZE)
    preview["isSplitTurn"] = False
    yield from preview_lines(preview, {**samples.SIZE, "window": None})


def drawn() -> dict[str, str]:
    """Every golden file by name, as it is drawn now."""
    views: dict[str, Iterable[str]] = {
        "rewinds-80": _tree(samples.REWINDS),
        "rewinds-44": _tree(samples.REWINDS, 44),
        "rewinds-30": _tree(samples.REWINDS, 30),
        "rewinds-ascii": _tree(samples.REWINDS, 72, ASCII),
        "gone-back": _tree(samples.GONE_BACK),
        "two-roots": _tree(samples.TWO_ROOTS),
        "deep": _tree(samples.deep(7), 60),
        "empty": _tree([]),
        "hostile": _tree(samples.HOSTILE, 60),
        "changes": _changes(),
        "entries": _entries(),
        "reports": _reports(),
    }
    return {name: "\n".join(lines) + "\n" for name, lines in views.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawn().items():
        (FOLDER / f"{name}.txt").write_text(text, "utf-8")

"""What the views draw, kept as files: `python -m tests.cli.golden` remakes them.

A change of look is a diff of these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.change_view import update_lines
from pisessiond.cli.compaction_view import compacted_line, compaction_lines, input_lines
from pisessiond.cli.compare_view import compare_lines
from pisessiond.cli.config_view import config_lines
from pisessiond.cli.context_view import context_lines
from pisessiond.cli.entry_view import entry_lines, message_lines
from pisessiond.cli.list_view import folder_lines, list_notes, session_lines
from pisessiond.cli.move_view import done_line, fork_lines, move_lines
from pisessiond.cli.operation_view import cancelled_line, choice_line, operation_line
from pisessiond.cli.report_view import problem_lines, stats_lines, status_lines
from pisessiond.cli.row_view import ASCII, UNICODE, RowView, id_column
from pisessiond.cli.tree_header import header_lines
from pisessiond.client.update import Update
from tests.cli import samples

FOLDER = Path(__file__).parent / "golden"
ROWS = Path(__file__).parents[1] / "rows"
CANVAS = Canvas(80, zone=UTC)


def _tree(width: int = 80, *, is_ascii: bool = False) -> Iterable[str]:
    given = json.loads((ROWS / "login-fix.json").read_text("utf-8"))
    rows, opened = given["rows"], set(given["open"])
    canvas = Canvas(width, is_ascii, UTC)
    view = RowView(width, ASCII if is_ascii else UNICODE, UTC, date.fromisoformat(given["today"]))
    return [*_header(canvas, rows=len(rows)), *view.draw(rows, opened)]


def _header(canvas: Canvas, rows: int = 19, shown: str = "default", **members: Any) -> list[str]:
    size = {**samples.SIZE, **members.pop("size", {})}
    opened: Any = {**samples.OPENED, **members}
    opened["contextSize"] = members.get("contextSize", size)
    others = opened["clients"][1:]
    now = datetime(2026, 11, 12, 14, 40, tzinfo=UTC)
    return list(header_lines(opened, rows, shown, canvas, others, now))


def _headers() -> Iterable[str]:
    clients = [{"client": f"c{number}", "name": "nvim"} for number in range(3)]
    pi: Any = {"lastExternal": "2026-11-12T14:30:00.000Z"}
    yield from _header(CANVAS, clients=clients, **pi)
    yield from _header(CANVAS, clients=clients[:2], lastExternal="2026-11-12T14:20:00.000Z")
    yield from _header(CANVAS, shown="labeled-only", contextSize=None, entryCount=1, rows=1)
    yield from _header(CANVAS, problems=[1, 2], readOnly="a newer pi wrote it.", **pi)
    after: Any = {"source": "estimated", "tokens": 34_000, "percent": 17.0, "before": 186_000}
    unknown: Any = {"window": None, "percent": None, "dueAt": None, "model": None}
    for width in (80, 55, 23):
        for size in (dict[str, Any](), after, unknown):
            yield from _header(Canvas(width, zone=UTC), size=size, name="a\x1b[1m rather long name")


def _ids() -> Iterable[str]:
    rows = json.loads((ROWS / "login-fix.json").read_text("utf-8"))["rows"][-4:]
    uuid = "0192f3c1-0000-7000-8000-000000000000"
    odd = [uuid, "x" * 80, 7, None]
    yield from id_column(rows, "…")
    yield from id_column([{**row, "entry": one} for row, one in zip(rows, odd, strict=True)], "~")


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
    given = json.loads((ROWS / "login-fix.json").read_text("utf-8"))
    view = RowView(80, UNICODE, UTC, date.fromisoformat(given["today"]))
    yield from update_lines(Update.of_opening(samples.OPENED), view)
    yield from update_lines(Update(12, tuple(changes), None, samples.SIZE), view)
    rows = [row for row in given["rows"] if row["kind"] in ("user", "work", "step", "here")][-5:]
    added = [samples.node(f"{row['entry']}* a4 user: One") for row in rows[1:-1]]
    grown: Any = [
        {"kind": "append", "origin": nvim, "nodes": added},
        {"kind": "rows", "origin": nvim, "upsert": rows, "gone": [], "stale": []},
    ]
    yield from update_lines(Update(14, tuple(grown), "a8", samples.SIZE), view)
    elsewhere: Any = [
        {"kind": "append", "origin": nvim, "nodes": [samples.node("x1 u1 user: Elsewhere")]},
        {"kind": "rows", "origin": nvim, "upsert": [], "gone": [], "stale": [None]},
    ]
    yield from update_lines(Update(15, tuple(elsewhere), "a8", samples.SIZE), view)


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


def _sizes() -> Iterable[str]:
    largest = [
        {"entry": "5f2c91aa", "title": "bash pytest -q --tb=long", "tokens": 18_200},
        {"entry": "77d04c1e", "title": "read src/\x1b[31msession/store.py", "tokens": 6_100},
    ]

    def size(**members: Any) -> Any:
        return {**samples.SIZE, "largest": largest, **members}

    yield from context_lines(size(unexplained=19_500), 60)
    parts = {part: tokens // 2 for part, tokens in (samples.SIZE.get("parts") or {}).items()}
    after: Any = {"source": "estimated", "tokens": sum(parts.values()), "parts": parts}
    yield from context_lines(size(**after, unexplained=0, before=186_000, due=True), 44)
    unknown: Any = {"window": None, "percent": None, "dueAt": None, "largest": largest * 5}
    yield from context_lines(size(**unknown, tokens=40_000, unexplained=-24_600), 80)
    empty: Any = {"source": "estimated", "tokens": 0, "parts": {"user": 0}, "largest": []}
    yield from context_lines(size(**empty, model=None, unexplained=0), 80)


def _reports() -> Iterable[str]:
    yield from status_lines(samples.STATUS)
    yield from stats_lines(samples.STATS)
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
    size = {"tokens": 84_000, "source": "measured", "percent": 42.4}
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
        "contextSize": {**size, "source": "estimated", "percent": None},
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


def _compaction(**changes: Any) -> Iterable[str]:
    preview: Any = {**samples.PREVIEW, **changes}
    size: Any = {**samples.SIZE, **changes.pop("size", {})}
    return compaction_lines("login-fix [+]", preview, size, samples.CUT_NODES, CANVAS)


def _compactions() -> Iterable[str]:
    yield from _compaction()
    without: Any = {"window": None, "percent": None, "dueAt": None, "estimated": None}
    between = {"isSplitTurn": False, "previousSummary": False, "turnPrefix": []}
    alone = {"forecast": None, "noSummarizer": "No key is set; set \x1b[1mANTHROPIC_API_KEY."}
    yield from _compaction(**between, **alone, size=without)
    yield from _compaction(forecast={**(samples.PREVIEW["forecast"] or {}), "tokensIn": 3_000_000})
    many = samples.tree("\n".join(f"u{n}* - user: Prompt number {n}" for n in range(20)))
    preview: Any = {**samples.PREVIEW, "summarised": [node["id"] for node in many], "kept": []}
    yield from compaction_lines("many", preview, samples.SIZE, many, CANVAS)
    narrow = Canvas(44, is_ascii=True, zone=UTC)
    yield from compaction_lines(
        "login-fix", samples.PREVIEW, samples.SIZE, samples.CUT_NODES, narrow
    )
    inputs: Any = [
        {
            "kind": "history",
            "text": "[User]: Fix\n\n[Assistant]: \x1b[2JDone",
            "previousSummary": "S",
        },
        {"kind": "turnPrefix", "text": "[User]: Use a clock", "previousSummary": None},
    ]
    yield from input_lines(inputs, CANVAS)
    done: Any = {"rev": 3, "leaf": "c9", "tokensBefore": 186_000, "tokensAfter": 34_000}
    yield compacted_line(done, 200_000, CANVAS)
    yield compacted_line({"rev": 3, "leaf": "c9"}, None, CANVAS)


def _moves() -> Iterable[str]:
    now = datetime(2026, 11, 12, 14, 33, tzinfo=UTC)
    target = samples.CUT_NODES[3]
    yield from move_lines(target, samples.MOVE, CANVAS, now=now)
    after: Any = {**samples.MOVE, "leaf": "a4", "returnsText": None, "outside": None}
    after |= {"summary": None, "leaves": {"entries": 1, "turns": 0}}
    yield from move_lines(samples.CUT_NODES[4], after, CANVAS, now=now)
    yield from move_lines(samples.CUT_NODES[3], after, CANVAS, exact=True, now=now)
    free: Any = {"summarizer": "extract", "model": None, "tokensIn": 10_000, "cost": 0.0}
    nothing: Any = {**after, "leaf": None, "leaves": {"entries": 0, "turns": 0}, "summary": free}
    nothing |= {"outside": "2026-11-12T14:32:40.000Z"}
    yield from move_lines(None, nothing, CANVAS, now=now)
    yield from move_lines(samples.CUT_NODES[4], nothing | {"leaf": "a4"}, CANVAS, now=now)
    yield from move_lines(target, after, CANVAS, is_summary_wanted=True, now=now)
    nobody: Any = {**nothing, "summary": None, "outside": None}
    yield from move_lines(None, nobody, CANVAS, is_summary_wanted=True, now=now)
    yield from fork_lines(target, samples.MOVE, CANVAS)
    yield from fork_lines(samples.CUT_NODES[4], nothing, CANVAS)
    yield from fork_lines(samples.CUT_NODES[6], nothing, CANVAS, with_all=True)
    yield from move_lines(target, samples.MOVE, Canvas(44, is_ascii=True, zone=UTC), now=now)
    yield done_line("omitted", {"rev": 1, "leaf": None}, ("84k 42%", "~69k ~35%"), CANVAS)


def _comparisons() -> Iterable[str]:
    names = "active branch", "Try freezing the \x1b[31mclock with time-machine"
    yield from compare_lines(samples.COMPARED, samples.CUT_NODES[2], names, CANVAS)
    apart: Any = {**samples.COMPARED, "ancestor": None, "ancestorSize": None}
    apart["a"] = {**apart["a"], "files": {"read": [], "modified": [f"f{n}.py" for n in range(20)]}}
    apart["b"] = {**apart["b"], "entries": 0, "files": {"read": [], "modified": []}}
    yield from compare_lines(apart, None, names, Canvas(60, is_ascii=True, zone=UTC))


def _operations() -> Iterable[str]:
    states: tuple[Any, ...] = ("begin", "report", "done", "failed", "cancelled")
    for state in states:
        message = {} if state == "begin" else {"message": f"It {state} by \x1b[1mvscode."}
        told: Any = {**samples.PROGRESS, "state": state, **message}
        yield operation_line(told) or "nothing is said"
    ours: Any = {**samples.PROGRESS, "origin": "repair", "reason": "threshold"}
    yield operation_line(ours) or ""
    odd: Any = {**samples.PROGRESS, "operation": "somethingNew\x1b[1m", "state": "done"}
    yield operation_line(odd) or ""
    yield cancelled_line(samples.PROGRESS)
    yield cancelled_line({**samples.PROGRESS, "operation": "summarise", "received": 0})
    yield cancelled_line(None)
    yield from map(choice_line, samples.CHOICES)


def _settings() -> Iterable[str]:
    yield from config_lines(samples.SETTINGS, lambda text, _look: text)
    nothing: Any = {
        **dict.fromkeys(("problems", "files", "settings", "keys", "environment"), ()),
        "model": samples.UNREACHABLE,
    }
    yield from config_lines(nothing, lambda text, _look: text)


def drawn() -> dict[str, str]:
    """Every golden file by name, as it is drawn now."""
    views: dict[str, Iterable[str]] = {
        "tree-80": _tree(),
        "tree-44": _tree(44),
        "tree-30": _tree(30),
        "tree-ascii": _tree(72, is_ascii=True),
        "headers": _headers(),
        "ids": _ids(),
        "changes": _changes(),
        "entries": _entries(),
        "reports": _reports(),
        "sizes": _sizes(),
        "settings": _settings(),
        "compactions": _compactions(),
        "moves": _moves(),
        "comparisons": _comparisons(),
        "operations": _operations(),
    }
    return {name: "\n".join(lines) + "\n" for name, lines in views.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawn().items():
        (FOLDER / f"{name}.txt").write_text(text, "utf-8")

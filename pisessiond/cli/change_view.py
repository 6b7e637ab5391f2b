"""Changes of a session as lines of text: who did what, and where the session stands after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pisessiond.cli.figures import count
from pisessiond.cli.plain_text import clean_line, cut
from pisessiond.cli.report_view import short_size, title_of
from pisessiond.cli.row_view import Row, RowView
from pisessiond.client.update import Update


def update_lines(update: Update, view: RowView) -> Iterator[str]:
    """A line for each change, the rows that are new or other by it, and where the session stands.

    Rows are those of the main line; of what came elsewhere, and where nobody asked for rows, the
    entries are told.
    """
    if update.snapshot is not None:
        yield f"{title_of(update.snapshot)}: opened with " + count(
            update.snapshot["entryCount"], "entry", "entries"
        )
    rows = _new_rows(update.changes)
    for change in update.changes:
        for what in _words_of(change, has_rows=bool(rows)):
            yield cut(f"{origin_name(change.get('origin'))}: {what}", view.width)
    yield from view.draw(rows)
    if update.snapshot is None and not rows and _tells_only_rows(update.changes):
        # A figure of rows that stand already is known better now: nobody did anything.
        return
    leaf = "before the first entry" if update.leaf is None else _id(update.leaf)
    yield f"  leaf {leaf}, context {short_size(update.context_size)}, rev {update.rev}"


def _tells_only_rows(changes: Sequence[Mapping[str, Any]]) -> bool:
    return all(change.get("kind") == "rows" for change in changes)


def _new_rows(changes: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows of the main line that say something new, each as it was told last.

    What came without a row of its own is counted with the row before it, which says the same.
    """
    came = {node["id"] for change in changes for node in change.get("nodes") or ()}
    told: dict[str, Row] = {}
    for change in changes:
        for row in change.get("upsert") or ():
            if row["level"] is None and row["kind"] != "here" and row["entry"] in came:
                told[row["id"]] = row
    return list(told.values())


def origin_name(origin: Any) -> str:
    """Who did it, for people."""
    if isinstance(origin, dict):
        return clean_line(str(origin.get("client")))
    return {"external": "another program", "repair": "the daemon"}.get(str(origin), "someone")


def _words_of(change: Mapping[str, Any], *, has_rows: bool) -> Iterator[str]:
    kind = str(change.get("kind"))
    nodes = change.get("nodes") or []
    match kind:
        case "rows":
            return
        case "append" | "compact" if has_rows and all(map(_is_on_line, nodes)):
            yield f"{kind} {' '.join(_id(node['id']) for node in nodes)}"
        case "append" | "compact" if nodes:
            for node in nodes:
                name = clean_line(str(node.get("role") or node.get("type")))
                yield f"{kind} {_id(node['id'])} {name} {clean_line(node.get('preview') or '')}"
        case "navigate":
            yield f"navigate {_place(change.get('from'))} → {_place(change.get('to'))}"
        case "fork":
            yield f"fork {_id(change.get('session'))} {clean_line(str(change.get('path') or ''))}"
        case "label":
            label = change.get("label")
            yield f"label {_id(change.get('target'))} " + (
                f"[{clean_line(str(label))}]" if label else "cleared"
            )
        case "rename":
            new = change.get("name")
            yield f"rename to {clean_line(str(new))}" if new else "rename, no name now"
        case "edit":
            yield f"edit context of {_id(change.get('target'))}"
        case "save":
            yield f"save {clean_line(str(change.get('path') or ''))}"
        case "problem":
            yield "problem " + count(len(change.get("problems") or ()), "problem")
        case _:
            yield clean_line(kind)


def _is_on_line(node: Mapping[str, Any]) -> bool:
    return "active" in node["flags"]


def _place(entry: Any) -> str:
    return "the beginning" if entry is None else _id(entry)


def _id(value: Any) -> str:
    return clean_line(str(value))

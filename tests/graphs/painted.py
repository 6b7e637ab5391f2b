"""Remakes what the graph files say: `python -m tests.graphs.painted`.

Each `NAME.json` holds a graph as `session/graph` answers it, of a session that is made here;
`NAME.txt` holds what the terminal makes of it. Every client can draw its own picture of these. A
change of the layout or of the look is a diff there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date
from pathlib import Path
from typing import Any, Final

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.graph_view import GraphView
from pisessiond.core.graph.gathering import Zoom
from pisessiond.core.rows.building import Known
from pisessiond.server.graph_conversion import graph_result
from pisessiond.service.graph_pages import GraphPage
from tests.support.drawn_graphs import graph_of
from tests.support.drawn_rows import Entry, Growing, entries_of, written

HERE: Final = Path(__file__).parent
WINDOW: Final = 200_000
TODAY: Final = date(2026, 11, 30)
_SCREENS: Final = (
    ("100 cells", Canvas(100, zone=UTC)),
    ("80 cells", Canvas(80, zone=UTC)),
    ("50 cells", Canvas(50, zone=UTC)),
    ("30 cells, ASCII", Canvas(30, is_ascii=True, zone=UTC)),
    ("12 cells", Canvas(12, zone=UTC)),
)

LOGIN_FIX: Final = (
    "m1 u1 a1 u2 c2 r2:edit c3 r3:bash! c4 r4:edit a2 C1:a2 u3 c5 r5:bash a3 "
    "u4 c6 r6:bash a4 u5<a3 a5 l1:a5=green u6<a3 c7 r7:edit a6 u7 a7"
)
_SAID: Final = {
    "u1": "Why does the fork lose labels?",
    "a1": "fork() leaves label entries out.",
    "u2": "Make them survive, with their times.",
    "a2": "Labels now survive a fork.",
    "u3": "Fix the login test that fails on CI.",
    "a3": "The fixture's clock is naive, so the token expires.",
    "u4": "Try freezing the clock with time-machine.",
    "a4": "time-machine breaks xdist; stopped.",
    "u5": "Patch time.time in the test only.",
    "a5": "Passes, but hides the real fault.",
    "u6": "Use an injected clock instead.",
    "a6": "Done: 4 files changed, all tests pass.",
    "u7": "Update the docs, too: 文書 \x1b[31mred\x1b[0m \u202ever.",
    "a7": "Docs updated.",
}
_USED: Final = {
    "a1": 98_000,
    "c2": 120_000,
    "c3": 150_000,
    "c4": 185_000,
    "a2": 186_000,
    "c5": 72_000,
    "a3": 74_000,
    "c6": 85_000,
    "a4": 88_000,
    "a5": 79_000,
    "c7": 83_000,
    "a6": 84_000,
    "a7": 87_000,
}

MANY: Final = "u1 a1 " + " ".join(
    f"u{number}<a1 a{number}" + (f" u{number}x<u{number}" if number % 4 == 0 else "")
    for number in range(2, 16)
)


def graphs() -> dict[str, dict[str, Any]]:
    """Every graph by name, as it is answered now."""
    return {
        **{f"login-fix-{zoom}": _answer(LOGIN_FIX, zoom, "a6") for zoom in _ZOOMS},
        "many": _answer(MANY, "turns"),
        "many-branches": _answer(MANY, "branches"),
        "empty": _answer("", "turns"),
    }


_ZOOMS: Final[tuple[Zoom, ...]] = ("branches", "turns", "entries")


def _answer(drawing: str, zoom: Zoom, leaf: str | None = None) -> dict[str, Any]:
    made = Growing(written(map(_told, entries_of(drawing))))
    if leaf is not None:
        made.move(made.session.row_of(leaf))
    graph = graph_of(made, zoom, known=Known(window=WINDOW, grade=_grade))
    page = GraphPage(
        rev=1,
        zoom=zoom,
        total=len(graph.lines),
        lanes=graph.layout.lanes,
        window=WINDOW,
        here=graph.layout.here,
        start=0,
        lines=tuple(graph.lines),
        found=None,
        point_before=None,
        point_after=None,
    )
    answer: dict[str, Any] = json.loads(graph_result(page).to_wire())
    return answer


def _grade(percent: float | None) -> Any:
    return "high" if (percent or 0) >= 90 else "warn" if (percent or 0) >= 70 else "ok"


def _told(entry: Entry) -> Entry:
    """The entry with what it says and the tokens it took, where this is told above."""
    name, message = entry["id"], entry.get("message", {})
    if name in _SAID:
        message["content"] = [{"type": "text", "text": _SAID[name]}]
    if name in _USED:
        used = dict.fromkeys(("input", "cacheRead", "cacheWrite"), 0)
        message["usage"] = {**used, "output": _USED[name], "totalTokens": _USED[name]}
    return entry


def painted(graph: dict[str, Any]) -> str:
    """What a graph looks like."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: dict[str, Any]) -> Iterator[str]:
    for name, canvas in _SCREENS:
        yield f"== {name}"
        yield from GraphView(canvas, TODAY).draw(graph["lines"], graph["lanes"])


def files() -> dict[str, str]:
    """Every file by name, as it would be made now."""
    found = {}
    for name, graph in graphs().items():
        found[f"{name}.json"] = json.dumps(graph, indent=1, ensure_ascii=False) + "\n"
        found[f"{name}.txt"] = painted(graph)
    return found


if __name__ == "__main__":
    for file, text in files().items():
        (HERE / file).write_text(text, "utf-8")

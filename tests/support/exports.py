"""Exports of session files, and what is in a page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from pisessiond.core.export_html import export_html
from pisessiond.core.export_markdown import export_markdown
from pisessiond.core.session import Session, load_session
from tests.support.seen import open_file

SAMPLE: Final = Path(__file__).resolve().parents[2] / "clients" / "python" / "sample.jsonl"

OURS: Final = frozenset(
    "html head meta title style body div h1 p input output main article span b bdi details summary "
    "pre time script ol li a svg path circle text".split()
)
"""Elements that an exported page has; `script` and `style` once each."""

HOSTILE: Final = (
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "<svg/onload=document.title='pwned'>",
    "</pre></details></main></script><script>document.title='pwned'</script>",
    "<a href=\"javascript:document.title='pwned'\">x</a>",
    "<iframe src=\"data:text/html,<script>parent.document.title='pwned'</script>\"></iframe>",
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    '<meta http-equiv="refresh" content="0;url=//evil.example">',
    "<base href=//evil.example><form action=//evil.example><button>",
    "<!--><script>document.title='pwned'</script>-->",
    "\"'><b onmouseover=alert(1)>",
    "&lt;script&gt;&#60;script&#62;",
    "\x1b[31mred\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[2J\x9b1m",
    "\u202eevil\u202c \u2066x\u2069 \u200f",
    "half \ud800 pair",
    "\x00\x08\x7f\x85\u2028\u2029",
    "[x](javascript:document.title='pwned') ![i](https://evil.example/t.gif)",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x](java&#115;cript:alert(1)) [y](javascript\\:alert(1)) [z](data:text/html;base64,PHN2Zz4=)",
    "```\n</details><script>document.title='pwned'</script>\n",
    "~~~\n<script>alert(1)</script>\n```\n<script>alert(2)</script>\n~~~\n<script>alert(3)</script>",
    "`\n# ` `\n<script>document.title='pwned'</script> `",
    "```<b>`<b>`\n<script>document.title='pwned'</script>",
    "- ```\n  <script>alert(1)</script>\n\n> ```\n> <script>alert(1)</script>",
    "    <script>alert(1)</script>\n\t<script>alert(2)</script>",
)


def session_of(entries: Iterable[dict[str, Any]], **header: Any) -> Session:
    """A session with these entries, sized."""
    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-30T00:00:00.000Z"}
    lines = [json.dumps(one).encode() for one in ({**head, "cwd": "/srv", **header}, *entries)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    by_start = dict(zip(starts, lines, strict=False))
    session = load_session([(0, lines)], lambda places: [by_start[at] for at, _ in places])
    session.measure_rest()
    return session


def sample() -> Session:
    session = open_file(SAMPLE)
    session.measure_rest()
    return session


def chain(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Message entries, one under the other."""
    made: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        parent = made[-1]["id"] if made else None
        time = f"2026-11-30T00:{number // 60:02}:{number % 60:02}.000Z"
        made.append(
            {
                "type": "message",
                "id": f"m{number}",
                "parentId": parent,
                "timestamp": time,
                "message": message,
            }
        )
    return made


def saying(text: str) -> list[dict[str, Any]]:
    """Entries that say a text wherever one can stand."""
    call = {"type": "toolCall", "id": text, "name": text, "arguments": {text: text, "path": text}}
    entries = chain(
        [
            {"role": "user", "content": text},
            {
                "role": "assistant",
                "model": text,
                "errorMessage": text,
                "stopReason": "error",
                "content": [
                    {"type": "thinking", "thinking": text},
                    {"type": "text", "text": text},
                    call,
                    {"type": "image", "mimeType": text, "data": text},
                    {"type": text, "x": text},
                ],
            },
            {
                "role": "toolResult",
                "toolName": text,
                "content": [{"type": "text", "text": text}],
            },
            {"role": "bashExecution", "command": text, "output": text, "exitCode": 1},
            {"role": "custom", "customType": text, "content": text},
            {"role": "system", "content": text},
            {"role": text, "content": text},
        ]
    )
    last = entries[-1]["id"]
    rest: list[dict[str, Any]] = [
        {"type": "compaction", "summary": text, "firstKeptEntryId": last, "tokensBefore": 1},
        {"type": "branch_summary", "fromId": text, "summary": text},
        {"type": "custom_message", "customType": text, "content": text, "display": True},
        {"type": "model_change", "provider": text, "modelId": text},
        {"type": "context_edit", "targetId": text, "replacement": None},
        {"type": text, "value": text},
        {"type": "label", "targetId": last, "label": text},
        {"type": "session_info", "name": text},
    ]
    for number, entry in enumerate(rest):
        made = {"id": f"r{number}", "parentId": last, "timestamp": text}
        entries.append({**entry, **made})
        last = made["id"]
    return entries


def html_of(session: Session, *, whole: bool = True) -> str:
    return "".join(export_html(session, session.leaf, whole=whole))


def markdown_of(session: Session) -> str:
    return "".join(export_markdown(session, session.leaf))


class Page(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

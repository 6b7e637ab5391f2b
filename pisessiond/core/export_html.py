"""A branch or the whole tree as one HTML page that needs nothing else.

The page is read without scripts: folds are `<details>`. Nothing of a session is ever markup, an
attribute, a link or a name; it stands as text in elements, and a policy in the page forbids
everything but its own style and search (`export_page`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from html import escape
from itertools import islice

from pisessiond.core.export_graph import name_of, page_graph
from pisessiond.core.export_page import FIND, HEAD, SCRIPT, STYLE
from pisessiond.core.export_parts import Part, Told, tell
from pisessiond.core.export_sizes import facts_of, label_of, size_text, title_of
from pisessiond.core.export_walk import DEEPEST, Step, walk_branch, walk_tree
from pisessiond.core.preview import preview
from pisessiond.core.session import Session

_STEP = 64
_GLYPHS = {
    "user": "»",
    "answer": "«",
    "work": "·",
    "shell": "$",
    "note": "i",
    "summary": "▬",
    "meta": "·",
}


def export_html(session: Session, row: int, *, whole: bool) -> Iterator[str]:
    """The branch down to `row` or the tree, in pieces; every row must have been sized."""
    title = escape(title_of(session))
    facts = " · ".join(map(escape, facts_of(session, row, whole=whole)))
    yield f"{HEAD}<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    yield f'<div class="top"><h1 dir="auto">{title}</h1>\n<p class="facts">{facts}</p></div>\n'
    graph = page_graph(session) if whole else None
    if graph is not None:
        yield '<div class="top">\n'
        yield from graph.html()
        yield "</div>\n"
    yield f"{FIND}<main>\n"
    steps = walk_tree(session) if whole else walk_branch(session, row)
    targets = graph.targets() if graph is not None else frozenset()
    yield from _Page(session, targets).body(steps)
    yield f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


class _Page:
    """The body of one page: what is being gathered until it is known how it is folded."""

    def __init__(self, session: Session, targets: Collection[int]) -> None:
        self._session = session
        self._targets = targets
        """The entries to which the graph links."""
        self._work: list[tuple[str, Told]] = []
        self._day = ""

    def body(self, steps: Iterator[Step]) -> Iterator[str]:
        while some := list(islice(steps, _STEP)):
            rows = [step.row for step in some if step.kind == "entry"]
            ends = [step.last for step in some if step.kind == "open"]
            firsts = [step.row for step in some if step.kind == "open"]
            wanted = sorted({*rows, *ends, *firsts})
            bodies = dict(zip(wanted, self._session.entries(wanted), strict=True))
            for step in some:
                if step.kind == "entry":
                    yield from self._entry(step.row, tell(bodies[step.row]))
                    continue
                yield from self._end_work()
                if step.kind == "open":
                    title = preview(bodies[step.row]) or preview(bodies[step.last])
                    yield self._opened(step, title)
                elif step.kind == "close":
                    yield "" if step.level > DEEPEST else "</div></details>\n"
                else:
                    yield f'<p class="here">● you are here{self._size(step.row)}</p>\n'
        yield from self._end_work()

    def _size(self, row: int) -> str:
        return f' <span class="size">{size_text(self._session, row)}</span>' if row >= 0 else ""

    def _opened(self, step: Step, title: str) -> str:
        label = label_of(self._session, step.row) or label_of(self._session, step.last)
        what = "ahead" if step.ahead else "branch"
        count = f"{step.count:,} entr{'y' if step.count == 1 else 'ies'}"
        words = (
            f"─ {what}{_label(label)} <bdi>{escape(title or 'without text')}</bdi>"
            f' <span class="size">{count} · {size_text(self._session, step.last)}</span>'
        )
        if step.level > DEEPEST:
            return f'<p class="note">level {step.level} {words}</p>\n'
        return f'<details class="branch"><summary>{words}</summary><div class="in">\n'

    def _entry(self, row: int, told: Told | None) -> Iterator[str]:
        if told is None:
            return
        label = label_of(self._session, row)
        size = size_text(self._session, row)
        name = name_of(row) if row in self._targets else ""
        is_new_day = told.day not in ("", self._day)
        if told.style == "work" and not label and not is_new_day:
            self._work.append((_article(told, label, size, name), told))
            return
        yield from self._end_work()
        if is_new_day:
            self._day = told.day
            yield f'<p class="day">{escape(told.day)}</p>\n'
        yield _article(told, label, size, name)

    def _end_work(self) -> Iterator[str]:
        work, self._work = self._work, []
        if len(work) < 2:
            yield from (text for text, _ in work)
            return
        tools = Counter(name for _, told in work for name in told.tool_names)
        listed = ", ".join(f"{escape(name)} {n}" for name, n in tools.most_common(6))
        steps = sum(tools.values()) or len(work)
        failed = sum(told.failed for _, told in work)
        bad = f' <span class="bad">!{failed}</span>' if failed else ""
        words = f"≡ {steps} step{'' if steps == 1 else 's'}{': ' if listed else ''}{listed}{bad}"
        yield f'<details class="work"><summary>{words}</summary><div class="in">\n'
        yield from (text for text, _ in work)
        yield "</div></details>\n"


def _article(told: Told, label: str, size: str, name: str) -> str:
    named = f' id="{name}"' if name else ""
    place = " · ".join(filter(None, (escape(told.time), "" if told.style == "meta" else size)))
    failed = '<span class="bad">failed</span>' if told.failed else ""
    if told.style == "work":
        # Steps are many: each is told by the line of its fold.
        note = f'<span class="m">{place}</span>{_label(label)}{failed} '
        parts = "".join(_part(part, note if part is told.parts[0] else "") for part in told.parts)
        return f'<article class="e step"{named}>{parts}</article>\n'
    detail = f'<span class="note">{escape(told.detail)}</span>' if told.detail else ""
    head = (
        f'<div class="head"><span class="who">{_GLYPHS[told.style]} {told.who}</span>'
        f'{_label(label)}{detail}{failed}<span class="m">{place}</span></div>'
    )
    parts = "".join(_part(part, "") for part in told.parts)
    return f'<article class="e {told.style}"{named}>{head}{parts}</article>\n'


def _label(label: str) -> str:
    return f' <bdi class="l">{escape(label)}</bdi>' if label else ""


def _part(part: Part, note: str) -> str:
    text = escape(part.text)
    if part.kind in ("text", "summary"):
        return f'<div class="x" dir="auto">{text}</div>' if text.strip() else ""
    lines = part.text.count("\n") + 1 if part.text else 0
    arrow = "→ " if part.kind == "result" else ""
    counted = f"{lines:,} line{'' if lines == 1 else 's'}"
    title = f"{note}{arrow}<b><bdi>{escape(part.title or part.kind)}</bdi></b> · {counted}"
    if not text:
        return f'<p class="note">{title}</p>'
    return f'<details class="part"><summary>{title}</summary><pre dir="auto">{text}</pre></details>'

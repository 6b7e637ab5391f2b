"""A branch as Markdown (CommonMark with GitHub's `<details>`), readable as plain text too.

What was said stays Markdown; what would act in a renderer does not get through. Every `<` that is
not ours is an entity, or stands in a fence of ours that is longer than any run of its sign inside.
Links lead to the web, to mail and within the page only; pictures are not fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pisessiond.core.export_parts import Part, Told, tell
from pisessiond.core.export_sizes import facts_of, label_of, size_text, title_of
from pisessiond.core.export_walk import walk_branch
from pisessiond.core.session import Session

_STEP = 64

# A fence, as CommonMark has it; a sign of backticks allows none behind it on the line.
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*([\w+#.-]*)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ENTITY = re.compile(r"&(?=#|\w+;)")
# What stands behind is looked at and not taken: it may hold the next one.
_LINK = re.compile(r"\](\s*)([(:])(?=\s*([^\s)]*))")
_SCHEME = re.compile(r"(?:&lt;)?([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_HARMLESS = frozenset(("http", "https", "mailto"))
_SIGNS = re.compile(r"([\\`*_\[\]|~#!])")
_LANGUAGES = {"call": "", "data": "json"}


def export_markdown(session: Session, row: int) -> Iterator[str]:
    """The branch down to `row`, in pieces; every row must have been sized."""
    yield f"# {inline(title_of(session))}\n\n"
    yield " · ".join(inline(fact) for fact in facts_of(session, row)) + "\n"
    rows = [step.row for step in walk_branch(session, row)]
    day = ""
    for start in range(0, len(rows), _STEP):
        some = rows[start : start + _STEP]
        for at, entry in zip(some, session.entries(some), strict=True):
            told = tell(entry)
            if told is None:
                continue
            if told.day not in ("", day):
                day = told.day
                yield f"\n---\n\n_{day}_\n"
            label = label_of(session, at)
            yield from _entry(told, label, size_text(session, at))


def _entry(told: Told, label: str, size: str) -> Iterator[str]:
    words = [_head(told, label), told.time, "" if told.style == "meta" else size]
    line = " · ".join(word for word in words if word)
    if told.style == "meta" and not told.parts:
        yield f"\n_{line}_\n"
        return
    if told.style == "work":
        # Steps are many: they are told by what is folded under them.
        words = [f"**\\[{inline(label)}\\]**" if label else "", *words[1:]]
        words = ["failed" if told.failed else "", *words]
        note = "".join(f" · {word}" for word in words if word)
        yield from (_part(part, note) for part in told.parts)
        return
    yield f"\n## {line}\n"
    yield from (_part(part, "") for part in told.parts)


def _head(told: Told, label: str) -> str:
    who = f"{told.who} ({inline(told.detail)})" if told.detail else told.who
    failed = ", failed" if told.failed else ""
    tag = f"**\\[{inline(label)}\\]** " if label else ""
    return f"{tag}{who}{failed}"


def _part(part: Part, note: str) -> str:
    if part.kind in ("text", "summary"):
        return f"\n{prose(part.text)}\n" if part.text.strip() else ""
    lines = part.text.count("\n") + 1 if part.text else 0
    counted = f"{lines:,} line{'' if lines == 1 else 's'}"
    arrow = "→ " if part.kind == "result" else ""
    summary = f"{arrow}{inline(part.title) or part.kind} · {counted}{note}"
    body = "" if not part.text else f"\n{fenced(part.text, _LANGUAGES.get(part.kind, ''))}\n"
    return f"\n<details>\n<summary>{summary}</summary>\n{body}\n</details>\n"


def inline(text: str) -> str:
    """One line of anybody's text among our own words: nothing in it is markup."""
    return _SIGNS.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that it cannot end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def prose(text: str) -> str:
    """Markdown that somebody wrote, with whatever would act in it made words."""
    pieces: list[str] = []
    plain: list[str] = []
    code: list[str] = []
    fence = language = ""
    for line in text.strip("\n").split("\n"):
        found = _FENCE.match(line)
        if fence:
            sign = line.strip()
            if len(sign) >= len(fence) and sign == fence[0] * len(sign) and found:
                pieces.append(fenced("\n".join(code), language))
                fence = ""
            else:
                code.append(line)
        elif found:
            pieces.append(_harmless("\n".join(plain)))
            plain, code = [], []
            fence, language = found[1], found[2]
        else:
            plain.append(line)
    # A fence that was never ended ends where the message does.
    rest = fenced("\n".join(code), language) if fence else _harmless("\n".join(plain))
    return "\n\n".join(piece for piece in [*pieces, rest] if piece.strip())


def _harmless(text: str) -> str:
    """Markdown outside fences: no tags, no entities, no pictures, no links that run something."""
    text = "\n".join(_line(line) for line in text.strip("\n").split("\n"))
    text = text.replace("![", "!\\[")
    return _LINK.sub(_checked_link, text)


def _line(line: str) -> str:
    if line.lstrip(" \t>-*+0123456789.)").startswith("```"):
        # A sign in backticks behind it is all that keeps it from being a fence.
        return _escaped(line)
    kept = 0
    pieces = []
    for found in _CODE.finditer(line):
        if "<" in found[2] or "&" in found[2]:
            # An entity is no entity in backticks, but is one in the tag that they stand for.
            pieces += [_escaped(line[kept : found.start()]), f"<code>{inline(found[2])}</code>"]
            kept = found.end()
    return "".join(pieces) + _escaped(line[kept:])


def _escaped(text: str) -> str:
    return _ENTITY.sub("&amp;", text).replace("<", "&lt;")


def _checked_link(found: re.Match[str]) -> str:
    scheme = _SCHEME.match(found[3].replace("\\", ""))
    if scheme is None or scheme[1].lower() in _HARMLESS:
        return found[0]
    return f"]{found[1]}\\{found[2]}"

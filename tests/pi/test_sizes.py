"""Sizes to the token, as real pi counts them."""

from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.composition import Composition
from tests.support.pi import Pi
from tests.support.seen import open_file, size_at, size_told_by_pi
from tests.support.service import entry, spell, user

Entry = dict[str, Any]


def said(entry_id: str, parent: str | None, role: str, content: Any, **rest: Any) -> Entry:
    message = {"role": role, "content": content, "timestamp": 1, **rest}
    return entry("message", entry_id, parent, message=message)


def used(entry_id: str, parent: str | None, usage: Any, stop: str = "stop") -> Entry:
    content = [{"type": "text", "text": "x" * 40}]
    return said(entry_id, parent, "assistant", content, usage=usage, stopReason=stop)


FOUR = {"input": 100, "output": 20, "cacheRead": 3, "cacheWrite": 4}
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
CASES: dict[str, tuple[list[Entry], int, int | None]] = {
    "4,000 emoji": ([user("🙂" * 4_000, "a")], 2_000, None),
    "4,000 CJK": ([user("語" * 4_000, "a")], 1_000, None),
    "an image": ([said("a", None, "user", [IMAGE])], 1_200, None),
    "an image of a tool": ([said("a", None, "toolResult", [IMAGE], toolCallId="c")], 1_200, None),
    "an image in an answer": ([said("a", None, "assistant", [IMAGE])], 0, None),
    "usage": ([user("a" * 40, "a"), used("b", "a", {"totalTokens": 500})], 20, 500),
    "usage in four parts": ([used("a", None, FOUR)], 10, 127),
    "a total of zero with parts": ([used("a", None, {**FOUR, "totalTokens": 0})], 10, 127),
    "zero usage": (
        [used("a", None, {**dict.fromkeys(FOUR, 0), "totalTokens": 0}), user("b" * 8, "b", "a")],
        12,
        None,
    ),
    "aborted usage": ([used("a", None, {"totalTokens": 500}, "aborted")], 10, None),
    "failed usage": ([used("a", None, {"totalTokens": 500}, "error")], 10, None),
    "aborted after a good one": (
        [used("a", None, {"totalTokens": 500}), used("b", "a", {"totalTokens": 900}, "aborted")],
        20,
        510,
    ),
    "usage before a compaction": (
        [
            user("a" * 400, "a"),
            used("b", "a", {"totalTokens": 500}),
            entry("compaction", "c", "b", summary="s" * 20, firstKeptEntryId="b", tokensBefore=500),
            user("d" * 8, "d", "c"),
        ],
        17,
        None,
    ),
    "usage after a compaction": (
        [
            used("b", None, {"totalTokens": 500}),
            entry("compaction", "c", "b", summary="s" * 20, firstKeptEntryId="b", tokensBefore=500),
            used("d", "c", {"totalTokens": 70}),
            user("e" * 8, "e", "d"),
        ],
        27,
        72,
    ),
    "usage before an edit": (
        [
            user("a" * 400, "a"),
            used("b", "a", {"totalTokens": 500}),
            entry("context_edit", "c", "b", targetId="a", replacement={"content": "short"}),
        ],
        12,
        None,
    ),
    "another branch's usage": (
        [user("a" * 40, "a"), used("b", "a", {"totalTokens": 500}), user("c" * 40, "c", "a")],
        20,
        None,
    ),
    "a fraction": ([used("a", None, {"totalTokens": 500.25}), user("b" * 8, "b", "a")], 12, 503),
}


@pytest.mark.parametrize("name", CASES)
def test_a_size_to_the_token(pi: Pi, tmp_path: Path, name: str) -> None:
    entries, estimated, measured = CASES[name]
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/srv"}
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(map(spell, [header, *entries])))
    session = open_file(path)
    last = entries[-1]["id"]
    size = session.size_at(session.row_of(last))
    assert (size.estimated, size.measured) == (estimated, measured)
    parts = Composition(session.sizes, session.row_of(last)).parts()
    assert sum(parts.values()) == estimated
    (told,) = pi.sizes(path, [last])
    if name == "a fraction":
        # pi goes on with the fraction; a token that was begun counts for us.
        assert told["tokens"] == 502.25
        return
    assert size_at(session, last) == size_told_by_pi(told)

"""The outline of a drawn tree: turns, what leaves them, and how deep it is nested."""

from __future__ import annotations

from typing import Any

from pisessiond.core.rows.building import Known
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.lines import Lines, Ways
from pisessiond.core.rows.outline import MAX_DEPTH, Item, make_outline
from pisessiond.core.rows.shapes import Shapes
from pisessiond.core.session import Session
from tests.support.exports import session_of

KINDS = {
    "u": {"role": "user", "content": "u"},
    "a": {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
    "c": {"role": "assistant", "content": [{"type": "toolCall", "id": "t", "name": "bash"}]},
    "r": {"role": "toolResult", "toolCallId": "t", "toolName": "bash", "content": []},
}


def session(drawing: str) -> Session:
    """A line an entry, `id parent`, in the order of the file; its first letter says its kind:
    user, answer, call, result, or `k` for a compaction that keeps the entry behind a colon."""
    entries: list[dict[str, Any]] = []
    for words in filter(None, map(str.split, drawing.split("\n"))):
        name, _, kept = words[0].partition(":")
        base = {"id": name, "parentId": None if words[1] == "-" else words[1], "timestamp": ""}
        if name.startswith("k"):
            entries.append({"type": "compaction", **base, "summary": "s", "firstKeptEntryId": kept})
        else:
            entries.append({"type": "message", **base, "message": KINDS[name[0]]})
    return session_of(entries)


def outline(of: Session, most: int = 1_000) -> list[Item]:
    shapes = Shapes()
    shapes.fill(of)
    lines = Lines(of, Ways(of), of.leaf, len(of.index))
    return make_outline(Tree(of, shapes, lines, "default"), Known(), most)


def drawn(items: list[Item]) -> str:
    """`u2-4(a3)`: the turn of lines 2 to 4 with the answer on line 3; `!` where its lines are not
    one run, `*` where one is."""

    def word(item: Item) -> str:
        where = f"{item.first}" if item.first == item.last else f"{item.first}-{item.last}"
        signs = ("" if item.is_run else "!") + ("*" if item.holds_leaf else "")
        kind = {"alternative": "b", "answer": "a", "user": "u", "work": "w", "step": "t"}.get(
            item.row.kind, item.row.kind
        )
        return f"{kind}{where}{signs}" + (f"({drawn(item.children)})" if item.children else "")

    return " ".join(map(word, items))


def check(drawing: str, expected: str) -> None:
    assert drawn(outline(session(drawing))) == expected


def test_nothing() -> None:
    check("", "")


def test_a_turn_holds_what_follows_its_question() -> None:
    check(
        """
        u1 -
        c1 u1
        r1 c1
        a1 r1
        u2 a1
        """,
        "u2-5(t3-4 a5) u6*",
    )


def test_what_comes_before_a_question_stands_alone() -> None:
    check("a1 -\nu1 a1\na2 u1", "a2 u3-4(a4*)")


def test_a_branch_stands_between_the_turns_and_holds_its_own() -> None:
    check(
        """
        u1 -
        a1 u1
        u2 a1
        a2 u2
        u3 a1
        a3 u3
        """,
        "u2-3(a3) b4-5(u4-5(a5)) u6-7(a7*)",
    )


def test_a_branch_in_the_middle_of_a_turn_stands_in_it() -> None:
    check("u1 -\na1 u1\na2 a1\na3 a1", "u2-5!(a3 b4(a4) a5*)")


def test_lines_of_other_branches_in_between_are_no_run() -> None:
    check("u1 -\na1 u1\nu2 -\na2 a1", "b4(u4) u2-5!(a3 a5*)")


def test_a_compaction_belongs_to_no_turn() -> None:
    check(
        """
        u1 -
        a1 u1
        u2 a1
        a2 u2
        k1:u2 a2
        a3 k1
        u3 a3
        """,
        "summarised2-3(u2-3(a3)) u4-5(a5) compaction6 a7 u8*",
    )


def test_many_branches_are_a_group() -> None:
    lines = ["u0 -", *[f"u{number} u0" for number in range(1, 9)]]
    _, group, _ = outline(session("\n".join(lines)))
    assert (group.row.kind, group.is_run, len(group.children)) == ("group", False, 7)
    assert [one.row.kind for one in group.children[0].children] == ["user"]


def test_the_depth_is_bounded() -> None:
    # At each answer another question was asked first: branches in branches in branches.
    lines = ["u0 -", "a0 u0"]
    for level in range(1, 120):
        lines += [f"u{level} a{level - 1}", f"a{level} u{level}"]
    for level in range(119, 0, -1):
        lines += [f"u{level}x a{level - 1}"]
    items = outline(session("\n".join(lines)))
    count = deepest = 0
    stack = [(one, 1) for one in items]
    while stack:
        item, depth = stack.pop()
        count, deepest = count + 1, max(deepest, depth)
        stack += [(child, depth + 1) for child in item.children]
    assert deepest == MAX_DEPTH
    assert count == 2 + 119 * 4


def test_of_too_many_items_the_end_of_the_main_line_is_kept() -> None:
    lines = ["u0 -"]
    for number in range(1, 50):
        lines += [f"a{number} u{number - 1}", f"u{number} a{number}"]
    assert drawn(outline(session("\n".join(lines)), most=3)) == "u98-99(a99) u100*"

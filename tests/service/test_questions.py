"""What an open session answers: pages of the tree, of bodies and of the projection, totals."""

import json
from typing import Any

import pytest

from pisessiond.core.errors import EntryNotFound
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.open_session import OpenSession
from pisessiond.service.views import EntriesPage, TreePage
from tests.support.service import ME, Entry, House, Listener, answer, entry, label, user

pytestmark = pytest.mark.anyio


def tool(text: str, entry_id: str, parent: str) -> Entry:
    message = {"role": "toolResult", "toolCallId": "t", "content": [{"type": "text", "text": text}]}
    return entry("message", entry_id, parent, message=message)


# u1 ─ a1 ┬ t1 ─ a2 ─ m1 (model) ─ u2 ─ l1 (label on u2)
#         └ u3 ─ a3
TREE = [
    user("one", "u1"),
    answer("two", "a1", "u1", usage=100, timestamp="2026-11-30T00:00:01.000Z"),
    tool("three", "t1", "a1"),
    user("side", "u3", "a1"),
    answer("side two", "a3", "u3"),
    answer("four", "a2", "t1", usage=200),
    entry("model_change", "m1", "a2", provider="p", modelId="m"),
    user("five", "u2", "m1"),
    label("l1", "u2", "u2", "mark"),
]
PREORDER = ["u1", "a1", "t1", "a2", "m1", "u2", "l1", "u3", "a3"]
SIDE_FIRST = ["u1", "a1", "u3", "a3", "t1", "a2", "m1", "u2", "l1"]
FILTERED = {
    "all": PREORDER,
    "default": ["u1", "a1", "t1", "a2", "u2", "u3", "a3"],
    "no-tools": ["u1", "a1", "a2", "u2", "u3", "a3"],
    "user-only": ["u1", "u2", "u3"],
    "labeled-only": ["u2"],
}


@pytest.fixture
async def tree(house: House) -> OpenSession:
    return await house.opened(*TREE)


async def page(session: OpenSession, count: int, **wanted: Any) -> TreePage:
    given: dict[str, Any] = {"around": None, "after": None, "before": None, "filter": "all"}
    return await session.tree(count=count, **{**given, **wanted})


def ids(page: TreePage) -> list[Any]:
    return [node.id for node in page.nodes]


# The tree


@pytest.mark.parametrize("name", FILTERED)
async def test_a_filter_shows_what_pi_shows(tree: OpenSession, name: str) -> None:
    whole = await page(tree, 100, filter=name)
    assert ids(whole) == FILTERED[name]
    assert (whole.total, whole.before, whole.after) == (len(FILTERED[name]), None, None)


@pytest.mark.parametrize("name", FILTERED)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
async def test_pages_put_together_are_the_tree(tree: OpenSession, name: str, count: int) -> None:
    expected = FILTERED[name]
    forward, cursor = [], None
    while True:
        part = await page(tree, count, after=cursor, filter=name)
        forward += ids(part)
        cursor = part.after
        if cursor is None:
            break
    assert forward == expected
    backward: list[Any] = []
    cursor = expected[-1]
    while cursor is not None:
        part = await page(tree, count, before=cursor, filter=name)
        backward = ids(part) + backward
        cursor = part.before
    assert backward == expected[:-1]
    for middle in PREORDER:
        around = await page(tree, count, around=middle, filter=name)
        got = ids(around)
        start = expected.index(got[0]) if got else 0
        assert got == expected[start : start + count]
        assert len(got) == min(count, len(expected))
        assert around.before == (got[0] if start > 0 else None)
        assert around.after == (got[-1] if start + len(got) < len(expected) else None)
        assert middle in got or middle not in expected


async def test_the_active_branch_comes_first_wherever_the_leaf_is(tree: OpenSession) -> None:
    await tree.navigate("a3", origin=ME)
    assert ids(await page(tree, 100)) == SIDE_FIRST
    await tree.navigate(None, origin=ME)
    assert ids(await page(tree, 100)) == PREORDER
    assert ids(await page(tree, 2, around="leaf")) == PREORDER[:2]


async def test_a_node_says_what_a_tree_draws(tree: OpenSession) -> None:
    await tree.context_size()
    nodes = {node.id: node for node in (await page(tree, 100, filter="default")).nodes}
    u2 = nodes["u2"]
    assert (u2.parent, u2.visible_parent, u2.label) == ("m1", "a2", "mark")
    assert (u2.type, u2.role, u2.preview, u2.tokens, u2.children) == (
        "message",
        "user",
        "five",
        1,
        1,
    )
    assert u2.context_size is not None
    assert (u2.context_size.tokens, u2.context_size.source) == (201, "measured")
    assert nodes["a1"].flags == ("active", "branchPoint")
    assert nodes["u1"].visible_parent is None
    assert nodes["a3"].flags == ()
    (leaf,) = await tree.nodes(["l1"])
    assert leaf.flags == ("active", "leaf")


async def test_a_tree_of_nothing(house: House) -> None:
    session = await house.create()
    for name in FILTERED:
        assert await page(session, 10, filter=name) == TreePage(1, 0, (), None, None)
        assert await page(session, 10, around="leaf", filter=name) == TreePage(1, 0, (), None, None)


async def test_wrong_cursors_and_filters_are_refused(tree: OpenSession) -> None:
    for name in ("around", "after", "before"):
        with pytest.raises(EntryNotFound):
            await page(tree, 3, **{name: "nowhere"})
    with pytest.raises(InvalidRequest):
        await page(tree, 3, filter="everything")


# Bodies


async def bodies(session: OpenSession, **wanted: Any) -> tuple[list[Any], EntriesPage]:
    given: dict[str, Any] = {
        "ids": None,
        "branch": "leaf",
        "since": None,
        "order": "branch",
        "limit": 100,
        "cursor": None,
    }
    page = await session.entries(**{**given, **wanted})
    return [json.loads(line)["id"] for line in page.lines], page


async def test_bodies_by_id_by_branch_and_by_file(tree: OpenSession) -> None:
    assert (await bodies(tree, ids=["a3", "u1", "a3"]))[0] == ["a3", "u1", "a3"]
    assert (await bodies(tree, ids=[]))[0] == []
    assert (await bodies(tree))[0] == ["u1", "a1", "t1", "a2", "m1", "u2", "l1"]
    assert (await bodies(tree, branch="a3"))[0] == ["u1", "a1", "u3", "a3"]
    assert (await bodies(tree, order="file"))[0] == [body["id"] for body in TREE]
    assert (await bodies(tree, order="file", since="a3"))[0] == ["a2", "m1", "u2", "l1"]
    assert (await bodies(tree, since="l1"))[0] == []


async def test_bodies_come_as_they_are_stored(house: House) -> None:
    odd = b'{ "type":"custom", "id":"x1","parentId":null,"b":1.0,"a":"\\ud800" , "bad":"\xff"}\r\n'
    session = await house.opened(odd)
    (line,) = (await bodies(session))[1].lines
    assert line == odd.strip().replace(b"\xff", "\ufffd".encode())


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_bodies_come_page_by_page(tree: OpenSession, limit: int) -> None:
    found, cursor = [], None
    while True:
        got, part = await bodies(tree, order="file", limit=limit, cursor=cursor)
        assert len(got) <= limit
        found += got
        cursor = part.cursor
        if cursor is None:
            break
    assert found == [body["id"] for body in TREE]


async def test_an_answer_holds_no_more_than_eight_mebibytes(house: House) -> None:
    big = [user("x" * (3 << 20), f"b{n}", f"b{n - 1}" if n else None) for n in range(4)]
    huge = user("x" * (9 << 20), "h", "b3")
    session = await house.opened(*big, huge, user("small", "s", "h"))
    sizes, cursor = [], None
    while True:
        got, part = await bodies(session, cursor=cursor)
        sizes.append(got)
        cursor = part.cursor
        if cursor is None:
            break
    assert sizes == [["b0", "b1"], ["b2", "b3"], ["h"], ["s"]]


async def test_wrong_ids_and_cursors_are_refused(tree: OpenSession) -> None:
    for wanted in ({"ids": ["zz"]}, {"branch": "zz"}, {"since": "zz"}):
        with pytest.raises(EntryNotFound):
            await bodies(tree, **wanted)
    for wanted in ({"since": "a3"}, {"cursor": "-1"}, {"cursor": "x"}, {"cursor": "²"}):
        with pytest.raises(InvalidRequest):
            await bodies(tree, **wanted)
    assert (await bodies(tree, cursor="1000"))[0] == []


# The projection


async def test_the_projection_at_any_entry(tree: OpenSession) -> None:
    at_leaf = await tree.context("l1", limit=None, cursor=None)
    assert at_leaf.sources == ("u1", "a1", "t1", "a2", "u2")
    assert at_leaf.model == {"provider": "p", "modelId": "m"}
    assert at_leaf.thinking_level == "off"
    assert dict(at_leaf.omitted) == {"m1": "noMessage", "l1": "noMessage"}
    assert (await tree.context("a3", limit=None, cursor=None)).sources == ("u1", "a1", "u3", "a3")
    assert (await tree.context(None, limit=None, cursor=None)).messages == ()


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
async def test_the_projection_comes_page_by_page(tree: OpenSession, limit: int) -> None:
    whole = await tree.context("l1", limit=None, cursor=None)
    messages: tuple[Any, ...] = ()
    cursor = None
    while True:
        part = await tree.context("l1", limit=limit, cursor=cursor)
        assert len(part.messages) == len(part.sources) <= limit
        messages += part.messages
        cursor = part.cursor
        if cursor is None:
            break
    assert messages == whole.messages


async def test_each_entry_that_gives_nothing_has_its_reason(house: House) -> None:
    session = await house.opened(
        user("old", "u1"),
        entry("message", "s1", "u1", message={"role": "system", "content": "be"}),
        answer("kept", "a1", "s1"),
        entry("compaction", "c1", "a1", summary="s1", firstKeptEntryId="a1", tokensBefore=1),
        user("kept too", "u2", "c1"),
        entry("compaction", "c2", "u2", summary="s2", firstKeptEntryId="a1", tokensBefore=1),
        entry("branch_summary", "b1", "c2", fromId="root", summary=""),
        user("edited", "u3", "b1"),
        entry("context_edit", "e1", "u3", targetId="u3", replacement=None),
        entry("message", "n1", "e1", message=None),
    )
    page = await session.context("n1", limit=None, cursor=None)
    assert page.sources == ("c2", "a1", "u2")
    assert dict(page.omitted) == {
        "u1": "compacted",
        "s1": "compacted",
        "c1": "compacted",
        "b1": "noMessage",
        "u3": "edited",
        "e1": "noMessage",
        "n1": "noMessage",
    }


# Sizes and totals


async def test_the_size_at_the_leaf_and_elsewhere(tree: OpenSession) -> None:
    size = await tree.context_size()
    assert (size.tokens, size.source, size.measured, size.estimated) == (201, "measured", 201, 6)
    sizes = await tree.context_sizes(["u1", "a1", "a3"])
    assert [(sizes[i].tokens, sizes[i].source) for i in ("u1", "a1", "a3")] == [
        (1, "estimated"),
        (100, "measured"),
        (103, "measured"),
    ]
    with pytest.raises(EntryNotFound):
        await tree.context_sizes(["nowhere"])


async def test_an_opener_is_told_a_measured_size_at_once(house: House) -> None:
    session = await house.opened(*TREE)
    early = session.snapshot().context_size
    assert early is not None
    assert (early.tokens, early.measured, early.estimated) == (201, 201, None)
    late = await session.context_size()
    assert (late.tokens, late.measured, late.measured_at) == (201, 201, early.measured_at)


async def test_the_size_after_an_edit(tree: OpenSession) -> None:
    listener = Listener(tree)
    await tree.context_size()
    await tree.edit_context("u1", {"content": "x" * 400}, origin=ME)
    size = await tree.context_size()
    assert (size.measured, size.estimated, size.source) == (None, 105, "estimated")
    assert listener.steps[-1].context_size == size


async def test_totals_of_the_branch_and_of_the_file(house: House) -> None:
    def spent(entry_id: str, parent: str | None, tokens: int, model: str) -> Entry:
        usage = {
            "input": tokens,
            "output": 1,
            "cacheRead": 2,
            "cacheWrite": 3,
            "cost": {"total": 0.5},
        }
        call = {"type": "toolCall", "id": "t", "name": "n", "arguments": {}}
        message = {"role": "assistant", "content": [call], "usage": usage, "model": model}
        return entry("message", entry_id, parent, message=message)

    session = await house.opened(
        user("a", "u1"),
        spent("a1", "u1", 10, "m1"),
        spent("a2", "u1", 100, "m2"),
        entry("usage", "x1", "a2", kind="k", provider="p", model="m1", usage={"input": 1000}),
    )
    stats = await session.stats()
    assert stats.file.messages == {"user": 1, "assistant": 2}
    assert (stats.file.tokens.input, stats.file.tool_calls, stats.file.cost) == (1110, 2, 1.0)
    assert (stats.branch.tokens.input, stats.branch.tool_calls, stats.branch.cost) == (1100, 1, 0.5)
    assert {m.model: m.tokens.input for m in stats.branch.models} == {"m2": 100, "m1": 1000}
    await session.navigate("a1", origin=ME)
    assert (await session.stats()).branch.tokens.input == 10


async def test_problems_are_told_with_their_place(house: House) -> None:
    session = await house.opened(*TREE[:2], b"{broken\n", user("x", "x1", "nowhere"))
    assert [(p.kind, p.line, p.entry) for p in await session.check()] == [
        ("badLine", 4, None),
        ("orphan", 5, "x1"),
    ]
    (node,) = await session.nodes(["x1"])
    assert "problem" in node.flags

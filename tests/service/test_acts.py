"""What clients do to an open session, what they are answered, and what everyone is told."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.errors import (
    DuplicateEntry,
    EntryNotFound,
    InvalidEntry,
    NothingToCompact,
    NotOnBranch,
    SessionError,
)
from pisessiond.service.errors import (
    InvalidRequest,
    LeafMoved,
    ReadOnly,
    ServiceError,
    SessionNotFound,
)
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Appended
from tests.support.service import (
    ME,
    OTHER,
    Entry,
    House,
    Listener,
    answer,
    entry,
    in_file,
    label,
    service,
    spell,
    user,
)

pytestmark = pytest.mark.anyio

TALK = [
    user("hello", "u1"),
    answer("hi", "a1", "u1"),
    user("more", "u2", "a1"),
    answer("ok", "a2", "u2"),
]


@pytest.fixture(params=["jsonl", "memory"])
async def fresh(request: pytest.FixtureRequest, house: House) -> OpenSession:
    return await house.create(request.param)


@pytest.fixture
async def talk(house: House) -> OpenSession:
    """u1 - a1 - u2 - a2, from a file."""
    return await house.opened(*TALK)


def bodies(session: OpenSession) -> list[Entry]:
    return session.session.entries(range(len(session.session.index)))


# Appending


async def test_entries_are_appended_one_under_the_other(fresh: OpenSession) -> None:
    listener = Listener(fresh)
    done = await fresh.append([user("a"), answer("b"), entry("custom", customType="x")], origin=ME)
    assert done.leaf == done.ids[-1] == fresh.leaf == listener.leaf
    assert done.rev == listener.steps[0].rev
    assert [body["parentId"] for body in bodies(fresh)] == [None, *done.ids[:2]]
    appended = listener.heard[0]
    assert [node.id for node in appended.nodes] == list(done.ids)
    assert [node.preview for node in appended.nodes] == ["a", "b", "x"]
    assert (listener.steps[0].base, listener.steps[0].rev) == (1, 4)


async def test_every_act_is_told_once_with_who_did_it(talk: OpenSession) -> None:
    listener = Listener(talk)
    await talk.append([user("x", "x1", "a2")], origin=ME)
    await talk.label("u1", "start", origin=OTHER)
    await talk.rename("name", origin=ME)
    await talk.edit_context("u1", None, origin=OTHER)
    await talk.navigate("a1", origin=ME)
    await talk.clone(origin=OTHER)
    assert listener.take() == [
        ("append", "editor"),
        ("label", "script"),
        ("rename", "editor"),
        ("edit", "script"),
        ("navigate", "editor"),
        ("fork", "script"),
    ]
    assert [step.rev - step.base for step in listener.steps if step.changes] == [1] * 6
    assert listener.rev == talk.rev


async def test_a_missing_or_crooked_entry_is_refused_and_nothing_changes(
    talk: OpenSession,
) -> None:
    listener = Listener(talk)
    assert talk.path
    before = Path(talk.path).read_bytes()
    wrong: list[Entry] = [
        {"type": "message"},
        {"type": "session", "id": "s"},
        {"type": ""},
        user("x", "x1", "u1"),
        entry("label", targetId="nowhere", label="x"),
        entry("context_edit", targetId="nowhere", replacement=None),
        entry("message", message={"role": "compactionSummary", "summary": "x"}),
        deep(2_000),
        deep(700),
    ]
    for given in wrong:
        with pytest.raises(SessionError):
            await talk.append([user("fine"), given], origin=ME)
    parents: list[Any] = [[], {}, True, 5, "", "nowhere"]
    for parent in parents:
        with pytest.raises(SessionError):
            await talk.append([{**user("x"), "parentId": parent}], origin=ME, detached=True)
    with pytest.raises(EntryNotFound):
        await talk.label("nowhere", "x", origin=ME)
    with pytest.raises(EntryNotFound):
        await talk.navigate("nowhere", origin=ME)
    with pytest.raises(EntryNotFound):
        await talk.edit_context("nowhere", None, origin=ME)
    with pytest.raises(EntryNotFound):
        await talk.fork("nowhere", position="at", cwd=None, origin=ME)
    assert Path(talk.path).read_bytes() == before
    assert (talk.rev, talk.leaf, listener.heard) == (1, "a2", [])


def deep(levels: int) -> Entry:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return entry("custom", customType="x", data=value)


async def test_one_wrong_act_does_not_harm_those_that_wait_with_it(talk: OpenSession) -> None:
    outcomes: dict[str, Any] = {}

    async def append(name: str, given: Entry) -> None:
        try:
            outcomes[name] = await talk.append([given], origin=ME, detached="parentId" in given)
        except (SessionError, TypeError, RecursionError) as error:
            outcomes[name] = error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append, "first", user("1"))
        tasks.start_soon(append, "wrong", {**user("x"), "parentId": []})
        tasks.start_soon(append, "deep", deep(3_000))
        tasks.start_soon(append, "last", user("2"))
    assert isinstance(outcomes["wrong"], SessionError)
    assert isinstance(outcomes["deep"], SessionError)
    assert [body["parentId"] for body in in_file(talk)[4:]] == ["a2", outcomes["first"].ids[0]]
    assert talk.leaf == outcomes["last"].ids[0]


async def test_a_detached_entry_leaves_the_leaf(talk: OpenSession) -> None:
    done = await talk.append([user("side", "x1", "a1")], origin=ME, detached=True)
    assert (done.leaf, done.ids, talk.leaf) == ("a2", ("x1",), "a2")
    assert in_file(talk)[-1]["parentId"] == "a1"
    done = await talk.append([user("root", "x2")], origin=ME, detached=True)
    assert talk.leaf == "a2"


async def test_a_leaf_entry_moves_the_leaf_as_it_will_on_opening(
    house: House, talk: OpenSession
) -> None:
    done = await talk.append([entry("leaf", targetId="a1")], origin=ME)
    assert (done.leaf, talk.leaf) == ("a1", "a1")
    await talk.append([user("here")], origin=ME)
    assert in_file(talk)[-1]["parentId"] == "a1"
    await talk.append([entry("leaf", targetId=None)], origin=ME)
    assert talk.leaf is None
    await talk.append([user("first")], origin=ME)
    assert in_file(talk)[-1]["parentId"] is None


# Retries


async def test_a_retry_repeats_the_answer_and_not_the_act(fresh: OpenSession) -> None:
    given = [{**user("a"), "id": "x1"}, {**answer("b"), "id": "x2"}]
    first = await fresh.append(given, origin=ME)
    listener = Listener(fresh)
    again = await fresh.append(given, origin=OTHER)
    assert (again.ids, again.leaf) == (first.ids, first.leaf)
    assert (len(bodies(fresh)), listener.heard) == (2, [])


async def test_half_a_retry_adds_the_rest(fresh: OpenSession) -> None:
    await fresh.append([{**user("a"), "id": "x1"}], origin=ME)
    done = await fresh.append([{**user("a"), "id": "x1"}, answer("b")], origin=ME)
    assert done.ids[0] == "x1"
    assert [body["id"] for body in bodies(fresh)] == list(done.ids)


@pytest.mark.parametrize("other", [{"message": {"role": "user", "content": "z"}}, {"more": 1}])
async def test_a_known_id_with_another_body_is_refused(fresh: OpenSession, other: Entry) -> None:
    await fresh.append([{**user("a"), "id": "x1"}], origin=ME)
    with pytest.raises(DuplicateEntry):
        await fresh.append([{**user("a"), "id": "x1", **other}], origin=ME)
    assert len(bodies(fresh)) == 1


async def test_a_retry_that_overtakes_the_first_is_still_one_entry(talk: OpenSession) -> None:
    answers = []

    async def append(text: str) -> None:
        try:
            answers.append((await talk.append([{**user(text), "id": "x1"}], origin=ME)).ids)
        except DuplicateEntry:
            answers.append(())

    async with anyio.create_task_group() as tasks:
        for text in ("a", "a", "b"):
            tasks.start_soon(append, text)
    assert sorted(answers) == [(), ("x1",), ("x1",)]
    assert [body["id"] for body in in_file(talk)[4:]] == ["x1"]


async def test_an_id_that_an_orphan_waits_for_is_stored_once(house: House) -> None:
    session = await house.opened(*TALK, user("lost", "o1", "x2"), user("after", "u3", "a2"))
    listener = Listener(session)
    done = await session.append([user("one"), {**user("two"), "id": "x2"}], origin=ME)
    assert listener.resets == ["rewritten"]
    assert [body["id"] for body in in_file(session)[6:]] == list(done.ids)
    assert (session.leaf, done.leaf) == ("x2", "x2")
    (orphan,) = await session.nodes(["o1"])
    assert orphan.parent == "x2"


# Compare and set


async def test_a_leaf_that_moved_is_told_before_anything_happens(talk: OpenSession) -> None:
    acts: list[Callable[[Any], Awaitable[object]]] = [
        lambda base: talk.append([user("x")], origin=ME, base_leaf=base),
        lambda base: talk.navigate("a1", origin=ME, base_leaf=base),
        lambda base: talk.label("a1", "x", origin=ME, base_leaf=base),
        lambda base: talk.rename("x", origin=ME, base_leaf=base),
        lambda base: talk.edit_context("a1", None, origin=ME, base_leaf=base),
    ]
    for act in acts:
        for base in ("u2", None, "nowhere"):
            with pytest.raises(LeafMoved) as caught:
                await act(base)
            assert (caught.value.leaf, caught.value.rev) == ("a2", 1)
    assert (talk.rev, len(in_file(talk))) == (1, 4)


async def test_metadata_in_between_does_not_count(talk: OpenSession) -> None:
    await talk.label("a1", "x", origin=OTHER)
    await talk.rename("x", origin=OTHER)
    await talk.append([entry("custom", customType="x")], origin=OTHER)
    done = await talk.append([user("x")], origin=ME, base_leaf="a2")
    with pytest.raises(LeafMoved):
        await talk.append([user("y")], origin=ME, base_leaf="a2")
    assert done.leaf == talk.leaf


async def test_of_two_that_wait_with_the_same_base_one_is_too_late(talk: OpenSession) -> None:
    outcomes = []

    async def append() -> None:
        try:
            outcomes.append((await talk.append([user("x")], origin=ME, base_leaf="a2")).leaf)
        except LeafMoved as error:
            outcomes.append(error.leaf)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append)
        tasks.start_soon(append)
    assert outcomes == [talk.leaf, talk.leaf]
    assert len(in_file(talk)) == 5


# Navigating (SESSION-RULES section 7)


async def test_navigating_to_a_user_message_stands_before_it(talk: OpenSession) -> None:
    done = await talk.navigate("u2", origin=ME)
    assert (done.leaf, done.editor_text, done.rev) == ("a1", "more", 2)
    done = await talk.navigate("u1", origin=ME)
    assert (done.leaf, done.editor_text) == (None, "hello")
    await talk.append([user("new root")], origin=ME)
    assert in_file(talk)[-1]["parentId"] is None


async def test_navigating_to_a_custom_message_stands_before_it(house: House) -> None:
    custom = entry(
        "custom_message",
        "c1",
        "a1",
        customType="x",
        content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        display=True,
    )
    session = await house.opened(*TALK[:2], custom, answer("b", "a2", "c1"))
    done = await session.navigate("c1", origin=ME)
    assert (done.leaf, done.editor_text) == ("a1", "onetwo")


async def test_navigating_elsewhere_stands_there(talk: OpenSession) -> None:
    listener = Listener(talk)
    done = await talk.navigate("a1", origin=ME)
    assert (done.leaf, done.editor_text, done.summary_entry) == ("a1", None, None)
    assert listener.heard[0].details == {"from": "a2", "to": "a1"}
    assert listener.leaf == "a1"
    assert len(in_file(talk)) == 4


async def test_navigating_to_null_stands_before_everything(talk: OpenSession) -> None:
    done = await talk.navigate(None, origin=ME)
    assert (done.leaf, done.editor_text, talk.leaf) == (None, None, None)


async def test_navigating_to_the_leaf_does_nothing(house: House) -> None:
    session = await house.opened(*TALK[:3])
    listener = Listener(session)
    done = await session.navigate("u2", origin=ME)
    assert (done.leaf, done.editor_text, done.rev) == ("u2", None, 1)
    assert listener.heard == []
    done = await session.navigate("u2", label="here", origin=ME)
    assert in_file(session)[-1]["targetId"] == "u2"
    assert in_file(session)[-1]["parentId"] == "u2"
    assert [one.details for one in listener.heard] == [
        {"from": "u2", "to": "u2"},
        {"target": "u2", "label": "here"},
    ]


async def test_exact_stands_at_the_very_entry(talk: OpenSession) -> None:
    done = await talk.navigate("u2", exact=True, origin=ME)
    assert (done.leaf, done.editor_text) == ("u2", None)
    done = await talk.navigate("u2", exact=True, origin=ME)
    assert (done.leaf, done.rev) == ("u2", 2)


async def test_a_summary_is_appended_at_the_new_place(talk: OpenSession) -> None:
    listener = Listener(talk)
    done = await talk.navigate("a1", summary="what was", label="tried", origin=ME)
    summary, mark = in_file(talk)[4:]
    assert {k: summary[k] for k in ("type", "parentId", "fromId", "summary")} == {
        "type": "branch_summary",
        "parentId": "a1",
        "fromId": "a2",
        "summary": "what was",
    }
    assert done.summary_entry == summary["id"]
    assert (mark["targetId"], mark["parentId"]) == (summary["id"], summary["id"])
    assert (done.leaf, talk.leaf) == (mark["id"], mark["id"])
    assert listener.take() == [("navigate", "editor"), ("label", "editor")]


async def test_a_label_without_summary_goes_to_the_target(talk: OpenSession) -> None:
    await talk.navigate("u2", label="here", origin=ME)
    (mark,) = in_file(talk)[4:]
    assert (mark["targetId"], mark["parentId"]) == ("u2", "a1")


async def test_no_entries_left_behind_no_summary(talk: OpenSession) -> None:
    await talk.navigate("u1", exact=True, origin=ME)
    done = await talk.navigate("a2", summary="nothing", origin=ME)
    assert (done.leaf, done.summary_entry) == ("a2", None)
    await talk.navigate(None, origin=ME)
    done = await talk.navigate("a2", summary="nothing", origin=ME)
    assert (done.leaf, done.summary_entry, len(in_file(talk))) == ("a2", None, 4)


async def test_a_summary_before_everything_is_a_root(talk: OpenSession) -> None:
    done = await talk.navigate(None, summary="all", origin=ME)
    (summary,) = in_file(talk)[4:]
    assert (summary["parentId"], summary["fromId"], done.leaf) == (None, "a2", summary["id"])


# Labels, names, edits, compactions


async def test_labels_are_set_and_cleared(talk: OpenSession) -> None:
    listener = Listener(talk)
    await talk.label("u1", " start ", origin=ME)
    assert (await talk.nodes(["u1"]))[0].label == " start "
    await talk.label("u1", None, origin=ME)
    assert (await talk.nodes(["u1"]))[0].label is None
    assert [one.details for one in listener.heard] == [
        {"target": "u1", "label": " start "},
        {"target": "u1", "label": None},
    ]
    assert "label" not in in_file(talk)[-1]


async def test_a_name_is_one_line(talk: OpenSession) -> None:
    listener = Listener(talk)
    await talk.rename(" one\r\ntwo\n", origin=ME)
    assert talk.session.name == "one two"
    assert listener.heard[0].details == {"name": "one two"}
    await talk.rename(None, origin=ME)
    assert talk.snapshot().name is None
    assert listener.heard[1].details == {"name": None}


async def test_an_edit_replaces_takes_out_and_puts_back(talk: OpenSession) -> None:
    async def texts() -> list[Any]:
        page = await talk.context(talk.leaf, limit=None, cursor=None)
        return [message["content"] for message in page.messages]

    whole = await texts()
    await talk.edit_context("a1", {"content": "short"}, origin=ME)
    assert (await texts())[1] == [{"type": "text", "text": "short"}]
    await talk.edit_context("u1", None, origin=ME)
    assert len(await texts()) == 3
    await talk.edit_context("a1", "restore", origin=ME)
    await talk.edit_context("u1", "restore", origin=ME)
    assert await texts() == whole


async def test_only_what_is_on_the_branch_and_has_content_is_edited(talk: OpenSession) -> None:
    await talk.label("u1", "x", origin=ME)
    with pytest.raises(InvalidEntry):
        await talk.edit_context(talk.leaf or "", None, origin=ME)
    await talk.navigate("a1", origin=ME)
    with pytest.raises(NotOnBranch):
        await talk.edit_context("a2", None, origin=ME)


async def test_a_compaction_is_cut_as_pi_cuts(house: House) -> None:
    long = "x" * 40_000
    session = await house.opened(
        user(long, "u1"),
        answer(long, "a1", "u1"),
        user(long, "u2", "a1"),
        answer(long, "a2", "u2", usage=30_000),
        user("last", "u3", "a2"),
    )
    listener = Listener(session)
    preview = await session.prepare_compaction()
    done = await session.compact(summary="short", origin=ME)
    (compaction,) = in_file(session)[5:]
    assert compaction["id"] == done.entry == done.leaf
    assert compaction["firstKeptEntryId"] == preview.first_kept
    assert compaction["tokensBefore"] == preview.tokens_before == 30_001
    assert ("compact", "editor") in listener.take()
    size = await session.context_size()
    assert (size.measured, size.before) == (None, 30_001)
    with pytest.raises(NothingToCompact):
        await session.compact(summary="again", origin=ME)


async def test_nothing_to_compact_writes_nothing(house: House) -> None:
    session = await house.opened()
    with pytest.raises(NothingToCompact):
        await session.compact(summary="x", origin=ME)
    assert in_file(session) == []


# Forks


async def check_fork(fork: OpenSession, parent: OpenSession, *ids: str) -> None:
    page = await fork.entries(
        ids=None, branch="leaf", since=None, order="file", limit=100, cursor=None
    )
    assert [line.split(b'"id":')[1].split(b'"')[1].decode() for line in page.lines] == list(ids)
    assert fork.session.header.get("parentSession") == parent.path
    assert fork.session.header["cwd"] == parent.session.cwd


async def test_forks_and_clones(house: House, talk: OpenSession) -> None:
    before = await talk.fork("u2", position=None, cwd=None, origin=ME)
    assert (before.editor_text, before.unsaved) == ("more", False)
    await check_fork(house.sessions.get(before.session), talk, "u1", "a1")
    root = await talk.fork("u1", position="before", cwd=None, origin=ME)
    assert (root.editor_text, root.unsaved) == ("hello", True)
    await check_fork(house.sessions.get(root.session), talk)
    at = await talk.fork("u2", position="at", cwd=None, origin=ME)
    assert at.editor_text is None
    await check_fork(house.sessions.get(at.session), talk, "u1", "a1", "u2")
    clone = await talk.clone(origin=ME)
    await check_fork(house.sessions.get(clone.session), talk, "u1", "a1", "u2", "a2")
    assert clone.path is not None
    assert Path(clone.path).parent == house.sessions_folder
    with pytest.raises(InvalidEntry):
        await talk.fork("a1", position="before", cwd=None, origin=ME)
    with pytest.raises(InvalidRequest):
        await talk.fork(None, position="before", cwd=None, origin=ME)


async def test_a_fork_to_another_place_copies_everything(house: House, talk: OpenSession) -> None:
    await talk.navigate("a1", origin=ME)
    await talk.append([user("other", "x1")], origin=ME, detached=True)
    done = await talk.fork(None, position=None, cwd="/elsewhere", origin=ME)
    fork = house.sessions.get(done.session)
    assert fork.session.cwd == "/elsewhere"
    assert [body["id"] for body in bodies(fork)] == ["u1", "a1", "u2", "a2", "x1"]
    assert done.path is not None
    assert Path(done.path).parent.name == "--elsewhere--"


async def test_labels_come_along_at_the_end(house: House) -> None:
    session = await house.opened(
        TALK[0],
        label("l1", "u1", "u1", "one"),
        answer("hi", "a1", "l1"),
        label("l2", "a1", "a1", "two"),
        label("l3", "l2", "u1", "uno"),
    )
    done = await session.clone(origin=ME)
    fork = house.sessions.get(done.session)
    written = bodies(fork)
    assert [(b["id"], b["parentId"]) for b in written[:2]] == [("u1", None), ("a1", "u1")]
    assert [(b["targetId"], b["label"]) for b in written[2:]] == [("u1", "uno"), ("a1", "two")]


async def test_unsaved_and_memory_sessions_are_forked_too(fresh: OpenSession, house: House) -> None:
    await fresh.append([{**user("a"), "id": "x1"}, {**user("b"), "id": "x2"}], origin=ME)
    done = await fresh.fork("x2", position="before", cwd=None, origin=ME)
    fork = house.sessions.get(done.session)
    assert (done.unsaved, done.editor_text, done.path is None) == (True, "b", fresh.path is None)
    assert [body["id"] for body in bodies(fork)] == ["x1"]


# When the file appears


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("first-assistant", [0, 0, 0, 5]),
        ("first-message", [0, 0, 4, 5]),
        ("immediate", [1, 3, 4, 5]),
    ],
)
async def test_the_file_appears_when_the_rule_says(
    tmp_path: Path, rule: Any, expected: list[int]
) -> None:
    async with service(tmp_path, rule) as house:
        session = await house.create()
        assert session.path is not None
        path = Path(session.path)
        listener = Listener(session)
        custom = entry("custom_message", customType="x", content="c", display=True)
        seen = []
        for given in ([], [custom, entry("custom", customType="y")], [user("u")], [answer("a")]):
            if given:
                await session.append(given, origin=ME)
            seen.append(len(path.read_bytes().splitlines()) if path.exists() else 0)
            assert session.is_unsaved == (not path.exists())
        assert seen == expected
        saves = [one for one in listener.heard if one.kind == "save"]
        assert [one.details for one in saves] == ([{"path": str(path)}] if expected[0] == 0 else [])
        assert (await house.open(path)) is session


async def test_a_save_that_fails_leaves_the_session_unsaved(house: House) -> None:
    session = await house.create()
    assert session.path is not None
    await session.append([user("u")], origin=ME)
    house.files.write_only(10)
    with pytest.raises(ServiceError):
        await session.append([{**answer("a"), "id": "x1"}], origin=ME)
    assert session.is_unsaved
    assert not Path(session.path).exists()
    assert len(bodies(session)) == 1
    await session.append([{**answer("a"), "id": "x1"}], origin=ME)
    assert [body["id"] for body in in_file(session)] == [session.session.index.ids[0], "x1"]


# Old, new and empty files


async def test_an_old_file_is_migrated_by_the_first_write(house: House) -> None:
    session = await house.opened(
        {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "a"}},
        {"type": "message", "timestamp": "t", "message": {"role": "hookMessage", "content": "b"}},
        version=None,
    )
    listener = Listener(session)
    first, second = session.session.index.ids
    assert session.path is not None
    before = Path(session.path).read_bytes()
    await session.navigate(first, exact=True, origin=ME)
    assert Path(session.path).read_bytes() == before
    done = await session.append([answer("c")], origin=ME, base_leaf=first)
    assert listener.resets == ["rewritten"]
    assert listener.take()[-1] == ("append", "editor")
    written = in_file(session)
    assert [body["id"] for body in written] == [first, second, *done.ids]
    assert [body["parentId"] for body in written] == [None, first, first]
    assert written[1]["message"]["role"] == "custom"
    assert session.session.version == 3


async def test_a_newer_file_is_read_only(house: House) -> None:
    session = await house.opened(*TALK, version=4)
    assert session.snapshot().read_only
    acts: list[Callable[[], Awaitable[object]]] = [
        lambda: session.append([user("x")], origin=ME),
        lambda: session.navigate("a1", origin=ME),
        lambda: session.rename("x", origin=ME),
    ]
    for act in acts:
        with pytest.raises(ReadOnly):
            await act()
    assert len(in_file(session)) == 4
    assert (await session.context("a2", limit=None, cursor=None)).messages


async def test_a_file_without_a_byte_becomes_a_session_at_the_first_answer(house: House) -> None:
    path = house.file()
    path.write_bytes(b"")
    session = await house.open(path)
    assert session.is_unsaved
    assert path.read_bytes() == b""
    await session.append([user("a"), answer("b")], origin=ME)
    assert len(in_file(session)) == 2
    assert not session.is_unsaved


async def test_a_file_without_a_byte_that_another_program_fills_is_read(house: House) -> None:
    path = house.file()
    path.write_bytes(b"")
    session = await house.open(path)
    listener = Listener(session)
    house.file(user("theirs", "u1"))
    assert await house.open(path) is session
    assert listener.resets == ["rewritten"]
    assert session.session.index.ids == ["u1"]
    await session.append([answer("b")], origin=ME)
    assert [body["id"] for body in in_file(session)][:1] == ["u1"]


# One writer


async def test_acts_that_wait_share_a_write_and_keep_their_order(
    talk: OpenSession, house: House
) -> None:
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(append_text, talk, str(number))
    talk.news.flush()
    written = in_file(talk)[4:]
    assert [body["message"]["content"] for body in written] == [str(n) for n in range(200)]
    assert [body["parentId"] for body in written] == ["a2", *(b["id"] for b in written[:-1])]
    assert house.files.calls["sync_data"] <= 3
    listener.settle()
    assert [n.id for one in listener.heard for n in one.nodes] == [b["id"] for b in written]


async def test_an_act_that_has_not_begun_can_be_taken_back(talk: OpenSession, house: House) -> None:
    entered, release = anyio.Event(), anyio.Event()
    hold_writes(house, entered, release)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: talk.append([user("first")], origin=ME))
        await entered.wait()
        with anyio.CancelScope() as scope:
            tasks.start_soon(cancel_soon, scope)
            await talk.append([user("second")], origin=ME)
        assert scope.cancelled_caught
        release.set()
    await talk.append([user("third")], origin=ME)
    texts = [body["message"]["content"] for body in in_file(talk)[4:]]
    assert texts == ["first", "third"]


async def test_an_act_that_has_begun_runs_to_its_end(talk: OpenSession, house: House) -> None:
    entered, release = anyio.Event(), anyio.Event()
    hold_writes(house, entered, release)
    answers = []
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:

            async def cancel() -> None:
                await entered.wait()
                scope.cancel()
                release.set()

            tasks.start_soon(cancel)
            answers.append(await talk.append([user("first")], origin=ME))
    assert answers[0].leaf == talk.leaf == in_file(talk)[-1]["id"]


def hold_writes(house: House, entered: anyio.Event, release: anyio.Event) -> None:
    """Let the next write wait until the test lets it go."""

    def wait() -> None:
        anyio.from_thread.run_sync(entered.set)
        anyio.from_thread.run(release.wait)

    house.files.before("write", wait)


async def append_text(session: OpenSession, text: str) -> None:
    await session.append([user(text)], origin=ME)


async def cancel_soon(scope: anyio.CancelScope) -> None:
    await anyio.lowlevel.checkpoint()
    scope.cancel()


async def test_those_who_wait_when_the_session_ends_are_answered(
    talk: OpenSession, house: House
) -> None:
    entered, release = anyio.Event(), anyio.Event()
    hold_writes(house, entered, release)
    outcomes: list[Any] = []

    async def append(text: str) -> None:
        try:
            outcomes.append(await talk.append([user(text)], origin=ME))
        except ServiceError as error:
            outcomes.append(error)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(append, "first")
            await entered.wait()
            tasks.start_soon(append, "second")
            await anyio.lowlevel.checkpoint()
            talk.stop()
            release.set()
        assert [type(outcome) for outcome in outcomes] == [Appended, Appended]
        with pytest.raises(SessionNotFound):
            await talk.append([user("third")], origin=ME)
    assert len(in_file(talk)) == 6


# Writes that fail


async def test_a_broken_subscriber_of_one_client_is_gone_without_harm(talk: OpenSession) -> None:
    first, second = Listener(talk), Listener(talk)
    await talk.append([user("x")], origin=ME)
    talk.unsubscribe(first)
    talk.unsubscribe(first)
    await talk.append([user("y")], origin=ME)
    assert (len(first.heard), len(second.heard)) == (1, 2)


def test_a_line_is_spelled_like_a_file_line() -> None:
    assert spell({"a": 1}).endswith(b"}\n")

"""Any sequence of acts, against a session that is a list of dictionaries and plain walks.

Every act is tried on a real service over a file. After each the naive model says where the leaf
is, what the tree, the branch, the projection and the sizes are, and the file must say it too.
"""

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from pisessiond.core.compaction import CompactionSettings, prepare_compaction
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.projection import project
from pisessiond.service.open_session import OpenSession
from tests.support.loop import Loop
from tests.support.machines import run_machine
from tests.support.naive import naive_branch, naive_messages, naive_selection, naive_size
from tests.support.service import ME, Entry, House, Listener, foreign, in_file, service

TEXTS = st.sampled_from(["", "hi", "x" * 50, "🙂 ü", "long " * 30])


def naive_tree(entries: list[Entry], leaf: str | None) -> list[str]:
    """Ids in preorder, the active branch first, children by time."""
    active = {entry["id"] for entry in naive_branch(entries, leaf)}
    children: dict[str | None, list[Entry]] = {}
    for entry in entries:
        children.setdefault(entry["parentId"], []).append(entry)
    result = []
    stack: list[str | None] = [None]
    while stack:
        entry_id = stack.pop()
        if entry_id is not None:
            result.append(entry_id)
        below = children.get(entry_id, [])
        if entry_id is not None:
            below = sorted(below, key=lambda entry: entry["timestamp"])
        below = sorted(below, key=lambda entry: entry["id"] not in active)
        stack.extend(entry["id"] for entry in reversed(below))
    return result


class SessionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = Loop()
        self.house: House = self.loop.enter(service(self.folder, "immediate"))
        self.entries: list[Entry] = []
        self.leaf: str | None = None
        self.moved = False
        """Whether a client moved the leaf since the session was loaded."""
        self.count = 0

    @initialize(store=st.sampled_from(["jsonl", "memory"]))
    def start(self, store: Any) -> None:
        self.session: OpenSession = self.loop.run(self.house.create(store))
        self.listen()

    def teardown(self) -> None:
        self.loop.close()
        shutil.rmtree(self.folder)

    def listen(self) -> None:
        async def hear() -> Listener:
            # On the loop, as all who listen do: a size may become known at any moment.
            return Listener(self.session)

        self.listener = self.loop.run(hear())

    def run(self, act: Any) -> Any:
        """Run an act; the clock goes on, so that times tell the order."""
        self.house.hand.wind()
        return self.loop.run(act)

    # Acts ----------------------------------------------------------------------------------

    def added(self, *entries: Entry) -> None:
        """What our own act appended: spelled by the service, but with these members and parents."""
        stored = self.session.session.entries(
            range(len(self.entries), len(self.session.session.index))
        )
        assert len(stored) == len(entries)
        for wanted, entry in zip(entries, stored, strict=True):
            assert entry["parentId"] == self.leaf
            assert {name: entry[name] for name in wanted} == wanted
            self.entries.append(entry)
            self.leaf = entry["id"]

    def append(self, *entries: Entry) -> None:
        done = self.run(self.session.append(entries, origin=ME))
        self.added(*entries)
        assert done.leaf == self.leaf

    @rule(text=TEXTS, more=TEXTS)
    def append_a_turn(self, text: str, more: str) -> None:
        self.append(
            {"type": "message", "message": {"role": "user", "content": text}},
            {
                "type": "message",
                "message": {"role": "bashExecution", "command": "ls", "output": more},
            },
        )

    @rule(text=TEXTS, usage=st.integers(0, 500), stop=st.sampled_from(["stop", "error"]))
    def append_an_answer(self, text: str, usage: int, stop: str) -> None:
        call = {"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": text}}
        message = {
            "role": "assistant",
            "content": [{"type": "text", "text": text}, call],
            "usage": {"totalTokens": usage},
            "stopReason": stop,
        }
        self.append({"type": "message", "message": message})

    @rule(text=TEXTS, name=st.sampled_from(["a", "b"]), value=st.one_of(st.none(), TEXTS))
    def append_a_system_message(self, text: str, name: str, value: str | None) -> None:
        message = {"role": "system", "content": text, "sections": {name: value}, "timestamp": 1}
        self.append({"type": "message", "message": message})

    @rule(text=TEXTS)
    def append_other_kinds(self, text: str) -> None:
        self.append(
            {"type": "custom_message", "customType": "x", "content": text, "display": True},
            {"type": "model_change", "provider": "p", "modelId": text},
            {"type": "thinking_level_change", "thinkingLevel": text},
            {"type": "of_tomorrow", "text": text},
        )

    def some(self, data: st.DataObject) -> Entry:
        return data.draw(st.sampled_from(self.entries))

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), text=TEXTS)
    def append_elsewhere(self, data: st.DataObject, text: str) -> None:
        self.count += 1
        given = {
            "type": "message",
            "id": f"d{self.count}",
            "parentId": self.some(data)["id"],
            "message": {"role": "user", "content": text},
        }
        self.run(self.session.append([given], origin=ME, detached=True))
        self.entries.append(self.session.session.entry(len(self.entries)))
        if given["parentId"] == self.leaf:
            self.leaf = given["id"]

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), exact=st.booleans(), marked=st.booleans(), summed=st.booleans())
    def navigate(self, data: st.DataObject, exact: bool, marked: bool, summed: bool) -> None:
        target = data.draw(st.sampled_from([None, *self.entries]))
        target_id = target["id"] if target else None
        before = self.leaf
        to, text = target_id, None
        is_prompt = target is not None and (
            target["type"] == "custom_message"
            or (target["type"] == "message" and target["message"]["role"] == "user")
        )
        if is_prompt and not exact and target_id != before:
            assert target is not None
            to = target["parentId"]
            text = target.get("message", target)["content"]
        done = self.run(
            self.session.navigate(
                target_id,
                exact=exact,
                summary="summed" if summed else None,
                label="marked" if marked else None,
                origin=ME,
            )
        )
        self.moved = self.moved or to != before
        self.leaf = to
        path = [entry["id"] for entry in naive_branch(self.entries, target_id)]
        new: list[Entry] = []
        if summed and to != before and before is not None and before not in path:
            new.append({"type": "branch_summary", "fromId": before, "summary": "summed"})
        if marked and (new or target_id is not None):
            goes_to = done.summary_entry if new else target_id
            new.append({"type": "label", "targetId": goes_to, "label": "marked"})
        self.added(*new)
        assert (done.leaf, done.editor_text) == (self.leaf, text)

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), text=st.sampled_from(["one", "two", "", None]))
    def label(self, data: st.DataObject, text: str | None) -> None:
        target = self.some(data)["id"]
        self.run(self.session.label(target, text, origin=ME))
        self.added(
            {"type": "label", "targetId": target, **({} if text is None else {"label": text})}
        )

    @rule(name=st.sampled_from(["name", " other\nname ", "", None]))
    def rename(self, name: str | None) -> None:
        self.run(self.session.rename(name, origin=ME))
        self.added({"type": "session_info", "name": (name or "").strip().replace("\n", " ")})

    def editable(self) -> list[Entry]:
        return [
            entry
            for entry in naive_branch(self.entries, self.leaf)
            if entry["type"] == "custom_message"
            or (entry["type"] == "message" and entry["message"]["role"] in ("user", "assistant"))
        ]

    @precondition(lambda self: self.editable())
    @rule(data=st.data(), text=st.one_of(st.none(), TEXTS), back=st.booleans())
    def edit(self, data: st.DataObject, text: str | None, back: bool) -> None:
        target = data.draw(st.sampled_from(self.editable()))
        replacement: Any = None if text is None else {"content": text}
        if back:
            replacement = "restore"
        self.run(self.session.edit_context(target["id"], replacement, origin=ME))
        if back:
            replacement = {"content": target.get("message", target)["content"]}
        is_answer = target["type"] == "message" and target["message"]["role"] == "assistant"
        if replacement is not None and is_answer and isinstance(replacement["content"], str):
            replacement = {"content": [{"type": "text", "text": replacement["content"]}]}
        self.added({"type": "context_edit", "targetId": target["id"], "replacement": replacement})

    @rule()
    def compact(self) -> None:
        branch = naive_branch(self.entries, self.leaf)
        estimated, measured = naive_size(branch)
        tokens = estimated if measured is None else measured
        try:
            wanted = prepare_compaction(
                project(naive_selection(branch)), tokens, CompactionSettings()
            )
        except NothingToCompact:
            with pytest.raises(NothingToCompact):
                self.run(self.session.compact(summary="short", origin=ME))
            return
        self.run(self.session.compact(summary="short", origin=ME))
        self.added(
            {
                "type": "compaction",
                "summary": "short",
                "firstKeptEntryId": wanted.first_kept_entry_id,
                "tokensBefore": tokens,
            }
        )

    @precondition(lambda self: self.leaf)
    @rule(data=st.data())
    def compact_by_hand(self, data: st.DataObject) -> None:
        first = data.draw(st.sampled_from(naive_branch(self.entries, self.leaf)))["id"]
        self.append(
            {
                "type": "compaction",
                "summary": "by hand",
                "firstKeptEntryId": first,
                "tokensBefore": 1,
            }
        )

    # Other writers, other sessions ---------------------------------------------------------

    @rule(data=st.data(), text=TEXTS, silent=st.booleans(), looked=st.booleans())
    def another_writer(self, data: st.DataObject, text: str, silent: bool, looked: bool) -> None:
        parent = data.draw(st.sampled_from([None, *self.entries]))
        self.count += 1
        message = {"role": "user", "content": text}
        body: Entry = {"customType": "x"} if silent else {"message": message}
        self.house.hand.wind()
        entry = {
            "type": "custom" if silent else "message",
            "id": f"f{self.count}",
            "parentId": parent["id"] if parent else None,
            "timestamp": self.house.hand.now_iso(),
            **body,
        }
        foreign(self.session, entry)
        if not self.moved or self.goes_on(entry):
            self.leaf = entry["id"]
        self.entries.append(entry)
        if looked:
            self.run(self.session.look())
        else:
            self.append({"type": "custom", "customType": "right after"})

    def goes_on(self, entry: Entry) -> bool:
        for above in naive_branch([*self.entries, entry], entry["id"])[-2::-1]:
            if above["id"] == self.leaf or above["type"] in (
                "message custom_message compaction branch_summary".split()
            ):
                return bool(above["id"] == self.leaf)
        return self.leaf is None

    @precondition(lambda self: self.session.path)
    @rule()
    def reopen(self) -> None:
        """Another daemon opens the file."""
        path = str(self.session.path)
        self.loop.close()
        self.loop = Loop()
        hand = self.house.hand
        self.house = self.loop.enter(service(self.folder, "immediate", hand=hand))
        self.session = self.loop.run(self.house.sessions.open(path=path))
        self.moved = False
        self.leaf = self.entries[-1]["id"] if self.entries else None
        self.listen()

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        end = data.draw(st.sampled_from([None, *self.entries]))
        end_id = end["id"] if end else self.leaf
        done = self.run(
            self.session.fork(end["id"] if end else None, position="at", cwd=None, origin=ME)
        )
        fork = self.house.sessions.get(done.session)
        branch = naive_branch(self.entries, end_id)
        expected = [entry["id"] for entry in branch if entry["type"] != "label"]
        got = fork.session.entries(range(len(fork.session.index)))
        assert [entry["id"] for entry in got if entry["type"] != "label"] == expected
        labels = {k: v for k, v in self.naive_labels().items() if k in expected}
        assert {e["targetId"]: e["label"] for e in got if e["type"] == "label"} == labels
        parent = None
        for entry in got:
            assert entry["parentId"] == parent
            parent = entry["id"]

    # What must hold ------------------------------------------------------------------------

    def naive_labels(self) -> dict[str, str]:
        labels: dict[str, str] = {}
        for entry in self.entries:
            if entry["type"] == "label":
                labels.pop(entry["targetId"], None) if not entry.get("label") else labels.update(
                    {entry["targetId"]: entry["label"]}
                )
        return labels

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        if hasattr(self, "session"):
            self.loop.run(self.check())

    async def check(self) -> None:
        session = self.session
        self.listener.settle()
        assert session.leaf == self.leaf == self.listener.leaf
        assert self.listener.rev == session.rev
        assert self.listener.resets == []
        assert list(session.session.index.ids) == [entry["id"] for entry in self.entries]
        assert session.session.entries(range(len(self.entries))) == self.entries
        if session.path:
            assert in_file(session) == self.entries
        names = [e["name"] for e in self.entries if e["type"] == "session_info"]
        assert session.session.name == (names[-1] or None if names else None)
        labels = {target: text for target, (text, _) in session.session.labels.items()}
        assert labels == self.naive_labels()
        page = await session.tree(around=None, after=None, before=None, count=10_000, filter="all")
        assert [node.id for node in page.nodes] == naive_tree(self.entries, self.leaf)
        branch = naive_branch(self.entries, self.leaf)
        bodies = await session.entries(
            ids=None, branch="leaf", since=None, order="branch", limit=10_000, cursor=None
        )
        assert [json.loads(line) for line in bodies.lines] == branch
        size = await session.context_size()
        if self.listener.steps and self.listener.steps[-1].changes:
            told = self.listener.steps[-1].context_size
            if told is not None and None in (told.largest, told.model, told.thinking_level):
                # What was not at hand when it was told is told soon.
                told = replace(
                    told,
                    parts=size.parts,
                    largest=size.largest,
                    model=size.model,
                    thinking_level=size.thinking_level,
                )
            assert told is None or told == size
        places = [self.leaf, *(e["id"] for e in self.entries[:: max(1, len(self.entries) // 5)])]
        sizes = await session.context_sizes([place for place in places if place is not None])
        assert self.leaf is None or sizes[self.leaf] == size
        for place in places:
            await self.check_place(place, sizes.get(place) if place else size)

    async def check_place(self, place: str | None, size: Any) -> None:
        branch = naive_branch(self.entries, place)
        context = await self.session.context(place, limit=None, cursor=None)
        assert list(context.messages) == naive_messages(branch)
        estimated, measured = naive_size(branch)
        assert (size.estimated, size.measured) == (estimated, measured)


def run(examples: int, steps: int) -> None:
    run_machine(SessionMachine, examples, steps)


def test_a_session_does_what_a_list_does() -> None:
    run(30, 25)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_session_does_what_a_list_does_for_long() -> None:
    run(300, 60)

"""What each handler passes on to the service and answers of what it gives back."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pisessiond.core.problems import Problem
from pisessiond.protocol.methods import METHODS
from pisessiond.service.listing import Wanted
from tests.server.support import Running

pytestmark = pytest.mark.anyio


async def test_initialize_announces_version_limits_and_methods(daemon: Running) -> None:
    async with daemon.fresh() as client:
        answer = await client.initialize()
        assert answer["serverInfo"] == {"name": "pisessiond", "version": "9.9"}
        announced = answer["capabilities"]["experimental"]["pisessiond"]
        assert (announced["protocolVersion"], announced["build"]) == (1, "9.9")
        assert announced["limits"]["message"] == 64 << 20
        assert set(announced["methods"]) < set(METHODS)
        assert "session/append" in announced["methods"]


async def test_a_plain_editor_may_initialize_too(daemon: Running) -> None:
    async with daemon.fresh() as client:
        given = {"processId": 1, "capabilities": {}, "clientInfo": {"name": "Helix"}}
        await client.call("initialize", given)
        (status,) = (await client.call("daemon/status"))["clients"]
        assert status["name"] == "Helix"


@pytest.mark.parametrize(
    ("options", "kind", "data"),
    [
        ({"protocolVersions": [2, 3]}, "VersionUnsupported", {"supported": [1]}),
        ({"protocolVersions": []}, "VersionUnsupported", {"supported": [1]}),
        ({"agentDir": "/another"}, "WrongAgentDir", {"address": "/there"}),
    ],
)
async def test_initialize_says_what_would_do(
    daemon: Running, options: dict[str, Any], kind: str, data: dict[str, Any]
) -> None:
    async with daemon.fresh() as client:
        ours = {"protocolVersions": [1, 7], "client": {"id": "i", "name": "n"}, **options}
        params = {"initializationOptions": {"pisessiond": ours}}
        error = await client.refused("initialize", params)
        assert error["data"] == {"kind": kind, **data}
        await client.initialize(agentDir="/agent/../agent")


async def test_status(daemon: Running) -> None:
    async with daemon.client("a") as client:
        await client.call("session/open", {"session": "s"})
        status = await client.call("daemon/status")
        assert (status["pid"], status["version"], status["log"]) == (os.getpid(), "9.9", None)
        assert status["started"].endswith("Z")
        assert status["uptime"] >= 0
        assert status["memory"]["rss"] > 1 << 20
        (session,) = status["sessions"]
        assert (session["session"], session["rev"], session["subscribers"]) == ("s", 1, 1)
        (connected,) = status["clients"]
        assert (connected["id"], connected["transport"]) == ("a-id", "unix")
        assert (connected["sessions"], connected["queuedBytes"]) == (["s"], 0)


async def test_paths_of_a_client_start_at_its_folder(daemon: Running) -> None:
    async with daemon.client(cwd="/base", sessionDir="/sessions") as client:
        await client.call("session/create", {"cwd": "project", "id": "new"})
        made = daemon.sessions.asked[-1]
        assert (made["cwd"], made["session_dir"]) == ("/base/project", "/sessions")
        assert (made["origin"].client, made["origin"].client_id) == ("test", "test-id")
        await client.call("session/open", {"path": "project/new.jsonl"})
        assert daemon.sessions.asked[-1]["path"] == "/base/project/new.jsonl"
    async with daemon.client() as client:
        error = await client.refused("session/create", {"cwd": "project"})
        assert error["data"]["path"] == "cwd"


async def test_creating_what_exists_is_refused(daemon: Running) -> None:
    async with daemon.client() as client:
        error = await client.refused("session/create", {"cwd": "/p", "id": "s"})
        assert error["data"] == {"kind": "SessionExists"}


async def test_search(daemon: Running) -> None:
    async with daemon.client(cwd="/base") as client:
        params = {"query": "word", "cwd": "p", "session": "./s.jsonl", "since": "2026-11-01"}
        answer = await client.call("session/search", params)
        assert (answer["cursor"], answer["pending"]) == ("next", 3)
        (hit,) = answer["hits"]
        assert hit["snippet"] == {"text": "a word", "matches": [{"start": 2, "end": 6}]}
        assert hit["entry"] == 7
        assert hit["copies"] == [{"session": "t", "path": "/p/t.jsonl"}]
        wish = daemon.sessions.asked[-1]["search"]
        assert (wish.cwd, wish.session, wish.limit) == ("/base/p", "/base/s.jsonl", 20)
        assert wish.since == 1_793_491_200_000
        for name, value in (("since", "soon"), ("query", "x" * 10_001), ("limit", 0)):
            refused = await client.refused("session/search", {"query": "x", name: value})
            assert refused["data"]["path"] == name


async def test_list(daemon: Running) -> None:
    async with daemon.client() as client:
        answer = await client.call("session/list", {"limit": 5})
        assert [one["session"] for one in answer["sessions"]] == ["s"]
        assert answer["cursor"] is None
        assert answer["folders"] == [{"path": "/sessions", "shared": False}]
        assert (await client.refused("session/list", {"limit": 0}))["data"]["path"] == "limit"


async def test_a_watched_list_tells_what_changes(daemon: Running) -> None:
    async with daemon.client() as client:
        await client.call("session/list", {"cwd": "/p", "watch": True})
        (subscriber,) = daemon.sessions.list_subscribers
        (row,) = (await daemon.sessions.list(Wanted())).sessions
        subscriber.sessions_changed([row, replace(row, session="t", cwd="/q")], [])
        told = await client.receive()
        assert told["method"] == "sessions/didChange"
        assert [one["session"] for one in told["params"]["sessions"]] == ["s"]
        subscriber.sessions_changed([], ["/gone.jsonl"])
        assert (await client.receive())["params"] == {"sessions": [], "gone": ["/gone.jsonl"]}
        assert (await client.call("session/list", {}))["sessions"]
    with anyio.fail_after(5):
        while daemon.sessions.list_subscribers:
            await anyio.sleep(0.01)


async def test_tree_and_entries(daemon: Running) -> None:
    async with daemon.client() as client:
        entries = [{"id": one} for one in ("a", "b", "c")]
        await client.call("session/append", {"session": "s", "entries": entries})
        page = await client.call("session/tree", {"session": "s", "count": 2})
        assert [node["id"] for node in page["nodes"]] == ["a", "b"]
        assert (page["total"], page["after"], "before" in page) == (3, "b", False)
        assert page["nodes"][1]["parent"] == "a"
        answer = await client.call("session/entries", {"session": "s", "ids": ["c", "a"]})
        assert answer["entries"] == [{"id": "c"}, {"id": "a"}]


async def test_context_of_the_leaf_of_an_entry_and_of_nothing(daemon: Running) -> None:
    async with daemon.client() as client:
        for given, told in (({}, "leaf"), ({"entry": "e"}, "e"), ({"entry": None}, None)):
            page = await client.call("session/context", {"session": "s", **given})
            assert page["messages"][0]["at"] == told
        assert page["omitted"] == [{"id": "b", "reason": "edited"}]
        assert page["thinkingLevel"] == "off"


async def test_sizes(daemon: Running) -> None:
    async with daemon.client() as client:
        size = await client.call("session/contextSize", {"session": "s"})
        assert (size["tokens"], size["source"], "parts" in size) == (12, "estimated", False)
        many = await client.call("session/contextSize", {"session": "s", "entries": ["a", 7]})
        assert many == {"sizes": {"a": size, "7": size}}
        asked = {"session": "s", "window": 5_000}
        assert (await client.call("session/contextSize", asked))["window"] == 5_000
        many = await client.call("session/contextSize", {**asked, "entries": ["a"]})
        assert many["sizes"]["a"]["window"] == 5_000
        error = await client.refused("session/contextSize", {"session": "s", "window": 0})
        assert error["data"]["path"] == "window"


async def test_stats_and_check(daemon: Running) -> None:
    daemon.session().problems.append(Problem("badLine", "no JSON", line=3, offset=80))
    async with daemon.client() as client:
        stats = await client.call("session/stats", {"session": "s"})
        assert stats["branch"]["tokens"]["cacheWrite"] == 4
        assert stats["file"]["cost"] == 0.0000031
        (problem,) = (await client.call("session/check", {"session": "s"}))["problems"]
        assert (problem["kind"], problem["line"], problem["offset"]) == ("badLine", 3, 80)


async def test_base_leaf_is_compared(daemon: Running) -> None:
    async with daemon.client() as client:
        await client.call("session/append", {"session": "s", "entry": {"id": "a"}})
        params = {"session": "s", "entry": {"id": "b"}, "baseLeaf": None}
        error = await client.refused("session/append", params)
        assert error["data"] == {"kind": "LeafMoved", "leaf": "a", "rev": 2}
        await client.call("session/append", {**params, "baseLeaf": "a"})
        assert daemon.session().leaf == "b"


async def test_navigate(daemon: Running) -> None:
    async with daemon.client() as client:
        await client.call("session/append", {"session": "s", "entry": {"id": "a"}})
        await client.call("session/open", {"session": "s"})
        moved = await client.call("session/navigate", {"session": "s", "target": None})
        assert moved == {"rev": 3, "leaf": None, "editorText": "text"}
        (change,) = (await client.receive())["params"]["changes"]
        assert (change["kind"], change["from"], change["to"]) == ("navigate", "a", None)
        error = await client.refused("session/navigate", {"session": "s", "target": "zz"})
        assert error["data"] == {"kind": "EntryNotFound", "entry": "zz"}


async def test_fork_and_clone(daemon: Running) -> None:
    async with daemon.client(cwd="/base") as client:
        forked = await client.call("session/fork", {"session": "s", "entry": "a", "cwd": "x"})
        assert (forked["path"], forked["unsaved"]) == ("/base/x", True)
        assert (forked["editorText"], forked["rev"]) == ("text", 1)
        params = {"session": "s", "entry": "a", "cwd": "x", "dryRun": True}
        tried = await client.call("session/fork", params)
        assert (tried["session"], tried["path"]) == ("s", daemon.session().path)
        assert tried["preview"]["leaves"] == {"entries": 3, "turns": 1}
        assert daemon.session().asked[0] == {"position": None, "cwd": "/base/x"}
        cloned = await client.call("session/clone", {"session": "s"})
        assert (cloned["session"], "editorText" in cloned) == ("s", False)


async def test_a_label_that_was_cleared_is_said_in_the_change(daemon: Running) -> None:
    async with daemon.client() as client:
        await client.call("session/append", {"session": "s", "entry": {"id": "a"}})
        await client.call("session/open", {"session": "s"})
        for label in ("x", None):
            params = {"session": "s", "target": "a", "label": label}
            await client.call("session/label", params)
            (change,) = (await client.receive())["params"]["changes"]
            assert (change["target"], change["label"]) == ("a", label)
            assert change["nodes"][0]["label"] == label


async def test_edit_context(daemon: Running) -> None:
    async with daemon.client() as client:
        for replacement in (None, "restore", {"content": "x"}):
            params = {"session": "s", "target": "a", "replacement": replacement}
            assert await client.call("session/editContext", params) == {"rev": 1, "leaf": None}
        params = {"session": "s", "target": "a", "replacement": "other"}
        assert (await client.refused("session/editContext", params))["code"] == -32602


async def test_a_repeated_request_repeats_the_answer_and_not_the_act(daemon: Running) -> None:
    params = {"session": "s", "entry": {"type": "custom"}, "requestId": "r1"}
    async with daemon.client() as client:
        first = await client.call("session/append", params)
    async with daemon.client() as client:
        assert await client.call("session/append", params) == first
        error = await client.refused("session/append", {**params, "entry": {}})
        assert error["data"]["path"] == "requestId"
    async with daemon.client("another") as client:
        assert (await client.call("session/append", params))["rev"] == 3
    assert [one.request_id for one in daemon.session().origins] == ["r1", "r1"]

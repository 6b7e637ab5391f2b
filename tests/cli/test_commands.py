"""The commands against a daemon that says what the test tells it to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from pisessiond.cli.main import cli, run
from tests.cli import samples
from tests.client.scripted import OPENED, Message, Script, changed, refuse, reply, scripted_daemon

GRAPH = json.loads(
    (Path(__file__).parents[1] / "graphs" / "login-fix-turns.json").read_text("utf-8")
)
NODES = [
    samples.node("aaaaaaaa* - user: Fix the \x1b[31mlogin test", size=9_400),
    samples.node("bbbbbbbb aaaaaaaa assistant: [green] Done", size=84_000),
]
ROWS = [
    samples.row("aaaaaaaa user", title="Fix the \x1b[31mlogin test", tokens=9_400),
    samples.row("bbbbbbbb answer", title="Done", label="green", tokens=84_000, flags=["ahead"]),
    samples.row("dddddddd work", title="2 steps", tokens=85_000, fold="closed", rows=1)
    | {"id": "w:cccccccc"},
]
INSIDE = [samples.row("cccccccc step", title="ls", tokens=85_000, level="w:cccccccc", depth=1)]
DONE = {"rev": 2, "leaf": "bbbbbbbb"}
FORKED = {
    **DONE,
    "session": "s2",
    "path": "/srv/demo/s2.jsonl",
    "unsaved": True,
    "editorText": "a\nb",
}


def _append(message: Message) -> dict[str, Any]:
    params = message["params"]
    return {**DONE, "ids": [entry["id"] for entry in params["entries"]]}


def _compact(message: Message) -> dict[str, Any]:
    if message["params"].get("dryRun"):
        return {"rev": 1, "leaf": "aaaaaaaa", "preview": samples.PREVIEW}
    return {**DONE, "entry": "cccccccc", "tokensBefore": 186_000, "tokensAfter": 34_000}


def _navigate(message: Message) -> dict[str, Any]:
    if message["params"].get("dryRun"):
        return {"rev": 1, "leaf": "aaaaaaaa", "preview": samples.MOVE}
    return {**DONE, "editorText": "Fix it"}


def _fork(message: Message) -> dict[str, Any]:
    return FORKED | ({"preview": samples.MOVE} if message["params"].get("dryRun") else {})


def _sizes(message: Message) -> dict[str, Any]:
    entries = message["params"].get("entries")
    return {"sizes": dict.fromkeys(entries, samples.SIZE)} if entries else dict(samples.SIZE)


def _rows(message: Message) -> dict[str, Any]:
    params = message["params"]
    if "around" in params:
        return {"rev": 1, "level": None, "total": 3, "rows": [], "path": ["w:cccccccc"]}
    rows = ROWS if params.get("level") is None else INSIDE
    return {"rev": 1, "level": params.get("level"), "total": len(rows), "rows": rows}


CONTEXT = {
    "rev": 1,
    "messages": [{"role": "user", "content": "Fix it"}],
    "sources": ["aaaaaaaa"],
    "model": {"provider": "demo", "modelId": "opus-5"},
    "thinkingLevel": "off",
    "activeTools": None,
    "omitted": [{"id": "m1", "reason": "noMessage"}],
    "cursor": None,
}
LISTED = {
    "session": "s1",
    "path": "/srv/demo/s1.jsonl",
    "cwd": "/srv/demo",
    "name": "login-fix",
    "firstMessage": None,
    "messages": 2,
    "created": None,
    "modified": "2026-11-12T14:33:00.000Z",
    "parentSession": None,
    "open": 1,
    "unsaved": False,
    "lastExternal": None,
}
ENTRY = {"type": "message", "id": "aaaaaaaa", "message": {"role": "user", "content": "Fix it"}}


@pytest.fixture
def script() -> Script:
    return Script(
        session_tree={"rev": 1, "total": 2, "nodes": NODES},
        session_rows=_rows,
        session_graph=GRAPH,
        session_append=_append,
        session_navigate=_navigate,
        session_compact=_compact,
        session_fork=_fork,
        session_compare=samples.COMPARED,
        session_cancel={"cancelled": samples.PROGRESS},
        session_summarizers={"summarizers": samples.CHOICES},
        session_clone={**FORKED, "editorText": None},
        session_label=DONE,
        session_rename=DONE,
        session_prompt={**DONE, "queued": False, "entry": "dddddddd"},
        session_abort=DONE,
        session_editContext=DONE,
        session_contextSize=_sizes,
        session_context=CONTEXT,
        session_entries={"rev": 1, "entries": [ENTRY], "cursor": None},
        session_stats=samples.STATS,
        session_check={"problems": []},
        session_export={"rev": 1, "text": "# login-fix\n", "bytes": 12},
        session_import={"session": "s3", "path": "/srv/demo/s3.jsonl"},
        session_delete={"session": "s1", "path": "/srv/demo/s1.jsonl", "trashed": True},
        session_list={"sessions": [LISTED], "cursor": None},
        session_search={"hits": [samples.HIT], "cursor": None, "pending": 0},
        daemon_status=samples.STATUS,
        daemon_shutdown={},
    )


Run = Callable[..., Result]


@pytest.fixture
def daemon(script: Script) -> Iterator[str]:
    with scripted_daemon(script) as path:
        yield path


@pytest.fixture
def command(daemon: str) -> Run:
    def call(*arguments: str, **named: Any) -> Result:
        return CliRunner().invoke(cli, [*arguments], env={"PISESSIOND_SOCKET": daemon}, **named)

    return call


SAYS = {
    "status": (["status"], "process 4711"),
    "stop": (["stop"], "the daemon is stopped"),
    "list": (["list", "--width", "80"], "s1  login-fix"),
    "search": (["search", "login", "--width", "80"], "aaaaaaaa  login-fix\n    Fix the login"),
    "tree": (["tree", "s1", "--width", "80"], "┃ » Fix the login test"),
    "tree-ascii": (["tree", "s1", "--ascii"], ": < [green] Done"),
    "tree-closed": (["tree", "s1", "--no-ids"], "\n┃▸≡ 2 steps"),
    "tree-open": (["tree", "s1", "--open", "all"], "cccccccc ┃   · ls"),
    "tree-open-entry": (["tree", "s1", "--open", "dddddddd"], "cccccccc ┃   · ls"),
    "tree-narrow": (["tree", "s1", "--width", "60"], "\n┃ » Fix the login test"),
    "tree-narrow-ids": (["tree", "s1", "--width", "60", "--ids"], "\naaaaaaaa ┃ » Fix the"),
    "graph": (["graph", "s1", "--width", "80"], "██────┬──┐  « The fixture's clock"),
    "graph-end": (["graph", "s1", "--width", "80"], "« Docs updated.                         end"),
    "graph-ascii": (["graph", "s1", "--width", "30", "--ascii"], "\n#++ < The fixture's cloc~"),
    "show": (["show", "s1"], "user · aaaaaaaa\n  Fix it"),
    "append": (["append", "s1", "--text", "Hi"], "· leaf bbbbbbbb · context 84k 42%"),
    "navigate": (["navigate", "s1", "aaaaaaaa"], "its text, to be sent again:\n  Fix it"),
    "navigate-start": (["navigate", "s1", "--start"], "moved"),
    "dry-run": (["compact", "s1", "--dry-run"], "~31k ~16% and the summary, at most 13k"),
    "compact": (
        ["compact", "s1", "--summary", "S"],
        "compacted · leaf bbbbbbbb · 186k 93% → ~34k ~17%",
    ),
    "compact-asked": (["compact", "s1", "--summarizer", "extract"], "→ ~34k ~17%"),
    "move-dry-run": (["navigate", "s1", "aaaaaaaa", "--dry-run"], "context 84k 42% → 74k 37%"),
    "summarised": (["navigate", "s1", "aaaaaaaa", "--summarize"], "moved · leaf bbbbbbbb"),
    "fork-dry-run": (["fork", "s1", "aaaaaaaa", "--dry-run"], "Fork from  » Fix the login"),
    "compare": (["compare", "s1", "bbbbbbbb"], "A  green"),
    "cancel": (["cancel", "s1"], "cancelled: compaction of nvim, 1.2k received"),
    "summarizers": (["summarizers", "s1"], "extract               ready"),
    "fork": (["fork", "s1", "aaaaaaaa"], "/srv/demo/s2.jsonl (nothing on disk yet)"),
    "clone": (["clone", "s1"], "cloned · session s2"),
    "label": (["label", "s1", "aaaaaaaa", "green"], "labelled [green]"),
    "rename": (["rename", "s1", "--clear"], "name cleared"),
    "prompt": (["prompt", "s1", "Go on."], "pi has it as dddddddd"),
    "abort": (["abort", "s1"], "pi was told to stop"),
    "omit": (["edit-context", "s1", "aaaaaaaa", "--omit"], "omitted, +0 · leaf bbbbbbbb"),
    "context": (["context", "s1"], "1 entry gives no message here"),
    "context-at": (["context", "s1", "aaaaaaaa"], "context 84k of 200k  42% measured"),
    "context-size": (["context", "s1", "--size", "--window", "200000"], "tool results"),
    "context-size-at": (["context", "s1", "aaaaaaaa", "--size"], "due above 184k"),
    "stats": (["stats", "s1"], "whole file"),
    "check": (["check", "s1"], "no problems"),
    "export": (["export", "s1", "--format", "markdown"], "# login-fix"),
    "import": (["import", "a.jsonl", "--new-id"], "imported · session s3"),
    "delete": (["delete", "s1", "--yes"], "moved to the trash: login-fix"),
    "call": (["call", "daemon/status"], '"pid": 4711'),
}


@pytest.mark.parametrize("name", SAYS)
def test_a_command_says_what_came_of_it(command: Run, name: str) -> None:
    arguments, expected = SAYS[name]
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    assert expected in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("name", sorted(set(SAYS) - {"call", "tree-ascii", "graph-ascii"}))
def test_json_is_the_daemons_answer_as_one_document(command: Run, name: str) -> None:
    arguments, _ = SAYS[name]
    result = command(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert isinstance(json.loads(result.stdout), dict)
    assert result.stdout.count("\n") == 1


def test_a_graph_that_comes_in_pieces_is_drawn_whole(command: Run, script: Script) -> None:
    whole = command("graph", "s1").stdout

    def piece(message: Message) -> dict[str, Any]:
        start = message["params"]["start"]
        return {**GRAPH, "start": start, "lines": GRAPH["lines"][start : start + 7]}

    script.answers["session/graph"] = piece
    assert command("graph", "s1").stdout == whole


SENT: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    "path": (["stats", "some.jsonl"], "session/open", {"path": "some.jsonl"}),
    "latest": (["check"], "session/open", {"latest": {"cwd": str(Path.cwd())}}),
    "id": (["check", "s1"], "session/open", {"session": "s1"}),
    "search": (
        ["search", "two", '"a phrase"', "--role", "user", "--since", "2026-11-01"],
        "session/search",
        {"query": 'two "a phrase"', "role": "user", "since": "2026-11-01", "limit": 20},
    ),
    "filter": (["tree", "s1", "--filter", "all"], "session/rows", {"filter": "all"}),
    "zoom": (["graph", "s1", "--zoom", "branches"], "session/graph", {"zoom": "branches"}),
    "base": (["label", "s1", "a", "x", "--base-leaf", "b"], "session/label", {"baseLeaf": "b"}),
    "which pi": (["label", "s1", "a", "x", "--pi", "42"], "session/label", {"pi": 42}),
    "when idle": (["navigate", "s1", "a", "--when-idle"], "session/navigate", {"whenIdle": True}),
    "clear": (["label", "s1", "a", "--clear"], "session/label", {"label": None}),
    "start": (["navigate", "s1", "--start"], "session/navigate", {"target": None}),
    "at": (["fork", "s1", "a", "--at"], "session/fork", {"entry": "a", "position": "at"}),
    "restore": (
        ["edit-context", "s1", "a", "--restore"],
        "session/editContext",
        {"replacement": "restore"},
    ),
    "replace": (
        ["edit-context", "s1", "a", "--text", "x"],
        "session/editContext",
        {"replacement": {"content": "x"}},
    ),
    "export": (
        ["export", "s1", "--whole", "--entry", "a"],
        "session/export",
        {"format": "html", "whole": True, "entry": "a"},
    ),
    "export-to": (
        ["export", "s1", "--out", "a.md"],
        "session/export",
        {"format": "markdown", "path": str(Path.cwd() / "a.md")},
    ),
    "import": (
        ["import", "a.jsonl", "--id", "x", "--cwd", "."],
        "session/import",
        {"path": str(Path.cwd() / "a.jsonl"), "id": "x", "cwd": str(Path.cwd())},
    ),
    "delete": (
        ["delete", "s1", "--yes", "--discard"],
        "session/delete",
        {"session": "s1", "discard": True},
    ),
    "content": (
        ["edit-context", "s1", "a", "--content", "[]"],
        "session/editContext",
        {"replacement": {"content": []}},
    ),
    "compact-with": (
        ["compact", "s1", "--summarizer", "pi", "--instructions", "Names", "--base-leaf", "b"],
        "session/compact",
        {"summarizer": "pi", "customInstructions": "Names", "baseLeaf": "b"},
    ),
    "compact-input": (
        ["compact", "s1", "--dry-run", "--input"],
        "session/compact",
        {"dryRun": True, "withInput": True},
    ),
    "navigate-with": (
        ["navigate", "s1", "a", "--summarize", "--instead", "Names", "--label", "x"],
        "session/navigate",
        {
            "summarize": True,
            "customInstructions": "Names",
            "replaceInstructions": True,
            "label": "x",
        },
    ),
    "navigate-adding": (
        ["navigate", "s1", "a", "--summarize", "--instructions", "Names", "--summarizer", "pi"],
        "session/navigate",
        {"customInstructions": "Names", "summarizer": "pi"},
    ),
    "compare-two": (["compare", "s1", "a", "b"], "session/compare", {"a": "a", "b": "b"}),
    "compare-leaf": (["compare", "s1", "a"], "session/compare", {"a": "a", "b": "leaf"}),
    "open": (["call", "--open", "s1", "session/tree"], "session/tree", {"session": "s1"}),
}


@pytest.mark.parametrize("name", SENT)
def test_a_command_sends_what_it_was_given(command: Run, script: Script, name: str) -> None:
    arguments, method, expected = SENT[name]
    assert command(*arguments).exit_code == 0
    (params,) = script.params(method)
    assert expected.items() <= params.items()


def test_a_dry_run_names_turns_however_many_pages_they_fill(command: Run, script: Script) -> None:
    nodes = samples.CUT_NODES
    places = {node["id"]: at for at, node in enumerate(nodes)}

    def page(message: Message) -> dict[str, Any]:
        params = message["params"]
        first = places[params["after"]] + 1 if "after" in params else places[params["around"]]
        shown = nodes[first : first + 2] if "after" in params else nodes[first : first + 1]
        answer = {"rev": 1, "total": len(nodes), "nodes": shown}
        return answer | ({"after": shown[-1]["id"]} if shown[-1] is not nodes[-1] else {})

    script.answers["session/tree"] = page
    told = command("compact", "s1", "--dry-run").stdout
    for title in ("Fix the login test", "Use an injected clock instead", "Now the docs"):
        assert f"» {title}" in told


def test_search_waits_for_files_that_are_still_being_read(
    command: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.cli.search_commands.PAUSE_SECONDS", 0.01)
    pending = iter([2, 1, 0])
    none: dict[str, Any] = {"hits": [], "cursor": None}
    script.answers["session/search"] = lambda _: {**none, "pending": next(pending)}
    assert command("search", "login").stdout == "nothing found\n"
    script.answers["session/search"] = {**none, "pending": 2}
    told = command("search", "login", "--wait", "0").stdout
    assert "2 session files still being read" in told


def test_a_search_in_one_session_knows_it_as_other_commands_do(
    command: Run, script: Script
) -> None:
    assert command("search", "login", "--session", "latest").exit_code == 0
    opening, search = script.heard[-2:]
    assert opening["params"]["latest"] == {"cwd": os.getcwd()}
    assert (search["method"], search["params"]["session"]) == ("session/search", "s1")
    script.answers["session/open"] = refuse("SessionNotFound", "there is none")
    result = command("search", "login", "--session", "s2")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "pisessiond: there is none\n"


def test_an_answer_names_the_model_that_is_chosen(command: Run, script: Script) -> None:
    assert command("append", "s1", "--role", "assistant", "--text", "Hi").exit_code == 0
    message = script.params("session/append")[0]["entries"][0]["message"]
    assert (message["provider"], message["model"]) == ("demo", "opus-5")


def test_entries_come_one_a_line_on_standard_input(command: Run, script: Script) -> None:
    lines = '{"type":"custom","data":"a\u2028b"}\r\n\n{"type":"custom","id":"x"}'
    result = command("append", "s1", "-", "--json", input=lines)
    assert json.loads(result.stdout)["ids"][1] == "x"
    first, _ = script.params("session/append")[0]["entries"]
    assert first["data"] == "a\u2028b"


def test_a_bad_line_on_standard_input_is_named_and_nothing_is_sent(
    command: Run, script: Script
) -> None:
    result = command("append", "s1", "-", input='{"type":"custom"}\nnope\n')
    assert result.exit_code == 2
    assert "line 2 of standard input" in result.stderr
    assert not script.params("session/append")


def test_follow_prints_each_change_and_ends_with_the_daemon(command: Run, script: Script) -> None:
    change = {"kind": "append", "origin": "external", "nodes": NODES[:1]}

    def opened(message: Message) -> list[Message | bytes]:
        return [reply(message, OPENED), changed(1, 2, change), b"Content-Length: x\r\n\r\n"]

    script.answers["session/open"] = opened
    result = command("follow", "s1", "--width", "80")
    assert result.exit_code == 2
    assert "another program: append aaaaaaaa user Fix the login test" in result.stdout
    lines = [json.loads(line) for line in command("follow", "s1", "--json").stdout.splitlines()]
    assert [line.get("rev") for line in lines] == [1, 2, None]
    assert lines[0]["snapshot"]["session"] == "s1"
    assert lines[1]["changes"] == [change]
    assert lines[2]["error"]["kind"] == "ConnectionLost"


def test_follow_says_that_its_session_is_gone(command: Run, script: Script) -> None:
    params = {"session": "s1", "reason": "gone"}
    gone: Message = {"jsonrpc": "2.0", "method": "session/didReset", "params": params}

    def opened(message: Message) -> Any:
        if len(script.params("session/open")) > 1:
            return refuse("SessionNotFound", "list the sessions")
        return [reply(message, OPENED), gone]

    script.answers["session/open"] = opened
    result = command("follow", "s1")
    assert (result.exit_code, result.stdout[:9]) == (1, "login-fix")
    told = "pisessiond: the session is gone: it was deleted, or its file was moved\n"
    assert result.stderr == told


def test_a_list_of_none_says_whether_any_would_have_counted(command: Run, script: Script) -> None:
    folders = [{"path": "/srv/sessions", "shared": False}]
    none = {"sessions": [], "cursor": None, "folders": folders, "unread": 0}
    script.answers["session/list"] = none
    assert command("list").stdout == "no session in /srv/sessions\n"
    assert command("list", "--name", "x").stdout == "no such session in /srv/sessions\n"
    assert command("list", "--all").stdout == "no session in any folder\n"
    assert command("list", "--all", "--live").stdout == "no such session\n"


def test_an_import_that_is_refused_says_what_else_to_do(command: Run, script: Script) -> None:
    script.answers["session/import"] = refuse("SessionNotFound", "list the sessions")
    result = command("import", "none.jsonl")
    assert (result.exit_code, result.stderr) == (1, "pisessiond: there is no file none.jsonl\n")
    script.answers["session/import"] = refuse("SessionExists", "it is there")
    result = command("import", "a.jsonl")
    assert result.exit_code == 1
    assert result.stderr == "pisessiond: it is there\n  to import a copy beside it: --new-id\n"
    script.answers["session/import"] = refuse("ReadOnly", "no room")
    assert command("import", "a.jsonl").stderr == "pisessiond: no room\n"


def test_an_empty_label_or_name_takes_it_away(command: Run, script: Script) -> None:
    assert command("label", "s1", "aaaaaaaa", "").stdout.startswith("label cleared · ")
    assert command("rename", "s1", "").stdout.startswith("name cleared · ")


def test_a_prompt_that_waits_says_for_what(
    command: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.cli.pi_commands.ASKS_AFTER_SECONDS", 0.01)

    def taken(_: Message) -> dict[str, Any]:
        time.sleep(0.3)
        return {**DONE, "queued": True}

    script.answers["session/prompt"] = taken
    result = command("prompt", "s1", "Go on.", "--steer")
    assert "it may be asking its user whether you may" in result.stderr
    assert result.stdout == "pi has it; it comes between its steps\n"
    monkeypatch.setattr("pisessiond.cli.pi_commands.ASKS_AFTER_SECONDS", 60)
    result = command("prompt", "s1", "Go on.")
    assert (result.stderr, result.stdout) == ("", "pi has it; it waits for the run\n")


def test_follow_paints_the_rows_that_come_and_asks_once_they_are_stale(
    command: Run, script: Script
) -> None:
    rows: dict[str, Any] = {"kind": "rows", "origin": "external", "upsert": [], "gone": []}
    moved: list[Any] = [{"kind": "navigate", "origin": "external"}, {**rows, "stale": [None]}]
    come = {"kind": "append", "origin": "external", "nodes": NODES[:1]}
    here = samples.row("aaaaaaaa here", id="here", title="you are here")
    grown: list[Any] = [come, {**rows, "upsert": [ROWS[0], here], "stale": []}]

    def answered(message: Message) -> list[Message | bytes]:
        told: list[Message | bytes] = [changed(2, 3, *grown), b"Content-Length: x\r\n\r\n"]
        return [reply(message, _rows(message)), *told]

    script.answers["session/open"] = lambda one: [reply(one, OPENED), changed(1, 2, *moved)]
    script.answers["session/rows"] = answered
    said = command("follow", "s1", "--width", "80", "--filter", "all").stdout
    assert "another program: append aaaaaaaa\n┃ » Fix the login test " in said
    assert "you are here" not in said
    (opening,) = script.params("session/open")
    assert opening["rows"] == {"filter": "all"}
    (asked,) = script.params("session/rows")
    assert asked == {"session": "s1", "around": "here", "count": 1, "filter": "all"}


def test_follow_tells_what_running_pi_do(command: Run, script: Script) -> None:
    def told(*pis: dict[str, Any]) -> Message:
        params = {"session": "s1", "clients": [], "pis": list(pis)}
        return {"jsonrpc": "2.0", "method": "session/didPresence", "params": params}

    idle = {"pid": 7, "state": "idle", "waitingForUser": False, "leaf": "aaaaaaaa", "owner": True}
    works = {**idle, "state": "turn"}

    def opened(message: Message) -> list[Message | bytes]:
        ends: list[Message | bytes] = [
            told(works, {**idle, "pid": 8}),
            told(works),
            b"Content-Length: x\r\n\r\n",
        ]
        waits = told({**idle, "waitingForUser": True})
        return [reply(message, {**OPENED, "pis": [idle]}), told(works), waits, waits, *ends]

    script.answers["session/open"] = opened
    assert command("follow", "s1").stdout.splitlines()[2:] == [
        "pi 7: idle",
        "pi 7: at work",
        "pi 7: waiting for its user",
        "pi 7: at work",
        "pi 8: idle",
        "pi 8: gone",
    ]
    lines = [json.loads(line) for line in command("follow", "s1", "--json").stdout.splitlines()]
    assert [[pi["pid"] for pi in line["pis"]] for line in lines if "pis" in line] == [
        [7],
        [7],
        [7],
        [7, 8],
        [7],
    ]


def test_follow_says_nothing_where_nobody_did_anything(command: Run, script: Script) -> None:
    here = samples.row("aaaaaaaa here", id="here", title="you are here")
    rows = {"kind": "rows", "origin": "repair", "upsert": [here], "gone": [], "stale": []}

    def opened(message: Message) -> list[Message | bytes]:
        return [reply(message, OPENED), changed(1, 1, rows), b"Content-Length: x\r\n\r\n"]

    script.answers["session/open"] = opened
    said = command("follow", "s1", "--width", "80").stdout
    assert said.count("  leaf ") == 1


def test_a_refusal_is_a_sentence_and_exit_code_1(command: Run, script: Script) -> None:
    script.answers["session/rename"] = refuse("ReadOnly", "the file is \x1b[31mread only")
    result = command("rename", "s1", "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "pisessiond: the file is read only\n"
    result = command("rename", "s1", "x", "--json")
    assert result.exit_code == 1
    error = {"kind": "ReadOnly", "message": "the file is \x1b[31mread only"}
    assert json.loads(result.stdout) == {"error": error}


def test_a_check_that_is_refused_is_no_check_that_found_something(
    command: Run, script: Script
) -> None:
    script.answers["session/open"] = refuse("SessionNotFound", "there is none")
    result = command("check", "s2")
    assert (result.exit_code, result.stderr) == (2, "pisessiond: there is none\n")
    result = command("check", "s2", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (2, "SessionNotFound")


WRONG = [
    ["nonsense"],
    ["tree", "s1", "--filter", "odd"],
    ["graph", "s1", "--zoom", "odd"],
    ["append", "s1"],
    ["append", "s1", "--text", "a", "--entry", "{}"],
    ["append", "s1", "--entry", "[]"],
    ["append", "s1", "-"],
    ["navigate", "s1"],
    ["navigate", "s1", "a", "--start"],
    ["label", "s1", "a"],
    ["edit-context", "s1", "a", "--omit", "--restore"],
    ["edit-context", "s1", "a", "--content", "{"],
    ["call", "x", "nope"],
    ["compact", "s1", "--summary-file", "/nonexistent/file"],
    ["compact", "s1", "--summary", "x", "--review"],
    ["compact", "s1", "--summary", "x", "--instructions", "y"],
    ["compact", "s1", "--input"],
    ["compact", "s1", "--yes"],
    ["navigate", "s1", "a", "--summarize", "--summary", "x"],
    ["navigate", "s1", "a", "--instructions", "x"],
    ["navigate", "s1", "a", "--summarize", "--instructions", "x", "--instead", "y"],
]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_is_exit_code_2_and_changes_nothing(
    command: Run, script: Script, arguments: list[str]
) -> None:
    assert command(*arguments).exit_code == 2
    assert all(message["method"].startswith("init") for message in script.heard)


def test_where_no_daemon_can_be_started_it_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PISESSIOND_SOCKET", raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("PISESSIOND_HOME", str(tmp_path / "file" / "state"))
    result = CliRunner().invoke(cli, ["tree", "s1"])
    assert result.exit_code == 2
    assert "part of the path is no folder" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    result = CliRunner().invoke(cli, ["tree", "s1", "--json"])
    assert json.loads(result.stdout)["error"]["kind"] == "NoDaemon"


def test_serve_wants_one_place_to_serve() -> None:
    assert CliRunner().invoke(cli, ["serve", "--stdio", "--socket", "s"]).exit_code == 2


def _commands() -> dict[str, click.Command]:
    return dict(cli.commands)


@pytest.mark.parametrize("name", _commands())
def test_help_has_a_short_line_and_an_example(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"])
    assert shown.exit_code == 0
    assert f"pisessiond {name}" in shown.output.split("Examples:")[1]
    assert not _commands()[name].get_short_help_str(limit=60).endswith("...")


def _program(*arguments: str, **named: Any) -> subprocess.Popen[bytes]:
    environment = {key: value for key, value in os.environ.items() if key != "PISESSIOND_SOCKET"}
    return subprocess.Popen(
        [sys.executable, "-m", "pisessiond", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, **named.pop("env", {})},
        **named,
    )


def test_ctrl_c_ends_a_command_without_a_word(daemon: str, script: Script) -> None:
    with _program("follow", "s1", "--socket", daemon) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
        assert program.wait(10) == 130
        assert program.stderr.read() == b""


def test_a_broken_pipe_ends_a_command_without_a_word(daemon: str, script: Script) -> None:
    many = [samples.row(f"{number:08x} user", title="x" * 50, tokens=1) for number in range(5_000)]
    script.answers["session/rows"] = {"rev": 1, "level": None, "total": 5_000, "rows": many}
    with _program("tree", "s1", "--socket", daemon) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.wait(10) == 141
        assert program.stderr.read() == b""


def test_a_terminal_without_glyphs_gets_ascii(daemon: str) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    with _program("tree", "s1", "--socket", daemon, env=environment) as program:
        out, _ = program.communicate(timeout=10)
    assert program.returncode == 0
    assert b"| > Fix the login test" in out


def test_a_command_imports_no_server_no_loop_and_no_pydantic(daemon: str) -> None:
    slow = {"asyncio", "anyio", "pydantic", "pygls", "lsprotocol", "rich", "msgspec"}
    code = f"""
import sys
from pisessiond.cli.main import run
assert run(["tree", "s1", "--socket", {daemon!r}]) == 0
ours = {{name for name in sys.modules if name.startswith("pisessiond.")}}
layers = {{name.split(".")[1] for name in ours}}
print(sorted({slow!r} & set(sys.modules)), sorted(layers))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "[] ['cli', 'client', 'protocol']"


def test_exit_codes_of_the_program_itself(daemon: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert run(["tree", "s1", "--socket", daemon]) == 0
    assert run(["tree", "s1", "--socket", "/nonexistent/socket"]) == 2
    assert run(["tree", "--nonsense"]) == 2
    assert "no daemon listens on" in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [["list"], ["tree"], ["config"], ["inspect", "s.jsonl"]])
def test_a_folder_that_is_gone_is_told(
    daemon: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.setenv("PISESSIOND_SOCKET", daemon)
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert run(arguments) == 2
    told = capfd.readouterr().err
    assert told == "pisessiond: the folder you are in is gone; go to another one\n"

"""Rows, branches and who is there, by a real daemon and clients of the library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client.blocking import connect
from pisessiond.client.blocking_session import BlockingSession
from pisessiond.client.entries import user_message
from pisessiond.client.errors import RpcFailure
from pisessiond.client.row_mirror import RowMirror
from tests.support.real_daemon import RealDaemon, real_daemon
from tests.support.service import answer, entry, user

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def daemon() -> Iterator[RealDaemon]:
    with real_daemon() as running:
        yield running


@pytest.fixture
def talk(daemon: RealDaemon, request: pytest.FixtureRequest) -> Path:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "pytest -q"}}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": "x" * 2_000}
    asked = {"role": "assistant", "content": [{"type": "text", "text": "I look"}, call]}
    return daemon.session_file(
        request.node.name,
        user("Fix the login", "u1"),
        entry("message", "a1", "u1", message=asked),
        entry("message", "r1", "a1", message=result),
        answer("Done", "a2", "r1", usage=720),
        user("Otherwise", "u2", "u1"),
        answer("Also done", "a3", "u2", usage=300),
    )


def _ask(session: BlockingSession, mirror: RowMirror, levels: list[str | None]) -> None:
    for level in levels:
        try:
            mirror.hold(level, session.whole_level(level)["rows"])
        except RpcFailure as failure:
            if level is None or failure.kind != "InvalidParams":
                raise
            mirror.close(level)


def _open_all(session: BlockingSession, mirror: RowMirror) -> RowMirror:
    def closed() -> list[str | None]:
        return [
            row["id"] for row in mirror.rows() if row["rows"] and row["id"] not in mirror.opened
        ]

    while levels := closed():
        _ask(session, mirror, levels)
    return mirror


def _all_of(session: BlockingSession) -> RowMirror:
    mirror = RowMirror()
    _ask(session, mirror, [None])
    return _open_all(session, mirror)


def _drawn(mirror: RowMirror) -> list[dict[str, Any]]:
    return [{key: row[key] for key in row if key != "after"} for row in mirror.rows()]  # type: ignore[literal-required]


def test_one_draws_what_another_does(daemon: RealDaemon, talk: Path) -> None:
    with connect(str(daemon.socket)) as mine, connect(str(daemon.socket)) as theirs:
        session, other = mine.open(path=str(talk), rows="default"), theirs.open(path=str(talk))
        session.size()
        mirror = _all_of(session)
        acts: list[Any] = [
            lambda: other.append(user_message("One")),
            lambda: other.append(entries=[user_message("Two"), user_message("Three")]),
            lambda: other.label("a2", "good"),
            lambda: other.navigate("a2", exact=True),
            lambda: other.append(user_message("Four")),
            lambda: other.edit_context("a1", None),
            lambda: other.fork("a2", position="at"),
            lambda: other.rename("other"),
            lambda: other.navigate(None),
        ]
        updates = session.changes(timeout=10)
        for act in acts:
            act()
            rev = session.rows()["rev"]
            told = 0
            while told < rev:
                update = next(updates)
                told = update.rev
                _ask(session, mirror, mirror.apply(update))
            _open_all(session, mirror)
        assert _drawn(mirror) == _drawn(_all_of(session))
        assert any(row["forks"] for row in mirror.rows())


def test_who_comes_back_is_told_that_what_it_drew_is_stale(daemon: RealDaemon, talk: Path) -> None:
    with connect(str(daemon.socket)) as client:
        session = client.open(path=str(talk), rows="default")
        opened = session.opened
        since = {"epoch": opened["epoch"], "rev": opened["rev"]}
        again = {"path": str(talk), "since": since, "rows": {"filter": "default"}}
        assert client.call("session/open", again).get("changes", []) == []
        session.append(user_message("One"))
        answer_ = client.call("session/open", again)
        assert answer_["mode"] == "deltas"
        append, rows = answer_["changes"]
        assert (append["kind"], rows["kind"], rows["stale"]) == ("append", "rows", [None])
        assert answer_["rows"]["rows"][-1]["id"] == "here"


def test_a_picker_gets_every_branch(daemon: RealDaemon, talk: Path) -> None:
    with connect(str(daemon.socket)) as client:
        session = client.open(path=str(talk))
        answer_ = session.branches()
        told = [(one["entry"], one["active"], one["first"]) for one in answer_["branches"]]
        assert told == [("a3", True, "Fix the login"), ("a2", False, "I look")]
        assert [one["size"] and one["size"]["tokens"] for one in answer_["branches"]] == [300, 720]
        (found,) = session.branches("LOOK")["branches"]
        assert found["entry"] == "a2"
        page = session.branches(limit=1)
        assert session.branches(limit=1, cursor=page["cursor"] or "")["branches"] == [found]


def test_everyone_knows_who_else_has_the_session_open(daemon: RealDaemon, talk: Path) -> None:
    with connect(str(daemon.socket), name="nvim") as mine:
        session = mine.open(path=str(talk))
        assert session.clients == [{"client": mine.client_id, "name": "nvim"}]
        updates = session.changes(timeout=10)
        with connect(str(daemon.socket), name="vscode") as theirs:
            other = theirs.open(path=str(talk))
            assert [one["name"] for one in other.clients] == ["nvim", "vscode"]
            other.append(user_message("One"))
            while not next(updates).changes:
                pass
            assert session.clients == other.clients


def test_the_largest_entries_lead_to_their_rows(daemon: RealDaemon, talk: Path) -> None:
    with connect(str(daemon.socket)) as client:
        session = client.open(path=str(talk))
        session.navigate("a2", exact=True)
        assert all("row" not in one for one in session.size().get("largest") or ())
        session.rows(around="here")
        largest = session.size().get("largest") or []
        assert {one["entry"]: one.get("row") for one in largest}["r1"] == "w:a1"

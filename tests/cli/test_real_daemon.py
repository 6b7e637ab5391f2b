"""Commands, scripts and the demo against a real daemon."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pisessiond.cli.entry_view import entry_lines, message_lines
from pisessiond.cli.row_reading import read_rows
from pisessiond.cli.row_view import RowView
from pisessiond.client import blocking
from pisessiond.client.entries import user_message
from pisessiond.client.errors import RpcFailure
from pisessiond.client.mirror import Mirror
from tests.support.real_daemon import wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "clients" / "python"
CORPUS = ROOT / "tests" / "golden" / "corpus"
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
FILE_NAME = "2026-11-12T13-51-40-000Z_019a7c10-5e1a-7000-8000-10ca1f1d0001.jsonl"


@dataclass
class Daemon:
    socket: str
    file: Path
    """A copy of the sample session, where the daemon finds it."""
    process: subprocess.Popen[bytes]

    def run(self, *arguments: str, code: int = 0, **named: Any) -> str:
        """What a command prints, once it has ended as it should."""
        done = self._python("-m", "pisessiond", *arguments, **named)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    def script(self, name: str, *arguments: str, code: int = 0) -> str:
        done = self._python(str(SCRIPTS / name), self.socket, str(self.file), *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def _python(self, *arguments: str, **named: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PISESSIOND_SOCKET": self.socket, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            check=False,
            timeout=60,
            **named,
        )


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    # Not `tmp_path`: the path of a socket is short.
    with tempfile.TemporaryDirectory() as folder:
        agent_dir = Path(folder, "agent")
        file = agent_dir / "sessions" / "--srv-login--" / FILE_NAME
        file.parent.mkdir(parents=True)
        shutil.copy(SCRIPTS / "sample.jsonl", file)
        socket = f"{folder}/s"
        serve = ["serve", "--socket", socket, "--agent-dir", str(agent_dir)]
        command = [sys.executable, "-m", "pisessiond", *serve, "--log-file", f"{folder}/log"]
        with subprocess.Popen(command, cwd=ROOT) as process:
            try:
                wait_for(Path(socket), process)
                yield Daemon(socket, file, process)
            finally:
                process.terminate()
                process.wait(10)


def test_words_lead_to_their_entry(daemon: Daemon) -> None:
    (hit, *_) = json.loads(daemon.run("search", '"INJECTED clock"', "--json"))["hits"]
    assert hit["path"] == str(daemon.file.resolve())
    assert "injected clock" in daemon.run("show", hit["session"], hit["entry"]).lower()
    assert hit["entry"] in daemon.run("search", "injected", "--session", str(daemon.file))
    assert daemon.run("search", "injectd") == "nothing found\n"


def test_a_whole_session_is_drawn_as_lanes(daemon: Daemon) -> None:
    file = str(daemon.file)
    drawn = daemon.run("graph", file, "--width", "80")
    assert "█─────┬──┐  « The fixture's clock is naive" in drawn
    assert re.search(r"░ +█  │  « It passes alone, but .* end · 2 +12k", drawn)
    assert "═           ▬ Compaction 15k → ~68" in drawn

    graph = json.loads(daemon.run("graph", file, "--json"))
    assert graph["here"] == graph["total"] - 1
    rows = {line["id"]: line for line in graph["lines"]}
    assert rows["e:95e1742d"]["lane"] == 2
    for row in json.loads(daemon.run("tree", file, "--json"))["rows"]:
        if row["kind"] not in ("summarised", "alternative"):
            line = rows[row["id"]]
            assert all(line[name] == row[name] for name in row.keys() & line.keys())

    daemon.run("navigate", file, "3b6fd081")
    moved = json.loads(daemon.run("graph", file, "--zoom", "branches", "--json"))
    assert [line["lane"] for line in moved["lines"] if line["kind"] == "alternative"] == [1, 2]
    assert moved["lines"][moved["here"]]["lane"] == 0


def test_a_session_is_steered_from_the_command_line(daemon: Daemon) -> None:
    file = str(daemon.file)
    drawn = daemon.run("tree", file, "--width", "80")
    assert "┠─▸ [green] Patch time.time in" in drawn
    assert "● you are here" in drawn

    answer = json.loads(daemon.run("append", file, "--text", "One more", "--json"))
    assert answer["leaf"] == answer["ids"][0]
    assert daemon.file.read_text("utf-8").splitlines()[-1].count(answer["leaf"]) == 1

    moved = daemon.run("navigate", file, "95e1742d")
    assert "leaf 82d6c09b" in moved
    assert "Patch time.time in the test only." in moved

    lines = '{"type":"custom","customType":"a"}\n{"type":"custom","customType":"b"}\n'
    ids = json.loads(daemon.run("append", file, "-", "--json", input=lines))["ids"]
    assert len(ids) == 2
    assert "labelled [blue]" in daemon.run("label", file, "51c7e2aa", "blue")
    assert "[blue] Labels get lost" in daemon.run("tree", file, "--filter", "labeled-only")
    assert "named other" in daemon.run("rename", file, "other")
    assert "omitted" in daemon.run("edit-context", file, "64f0ab12", "--omit")
    assert "restored" in daemon.run("edit-context", file, "64f0ab12", "--restore")
    assert "Now the login test" in daemon.run("show", file, "64f0ab12")
    assert "compactionSummary" in daemon.run("context", file)
    assert "whole file" in daemon.run("stats", file)
    assert daemon.run("check", file) == "no problems\n"
    assert "other" in daemon.run("list", "--all")
    assert daemon.run("list", "--cwd", "/nowhere").startswith("no session in ")

    fork = json.loads(daemon.run("fork", file, "7d22b58e", "--at", "--json"))
    assert "fork() leaves label entries out" in daemon.run("tree", fork["session"])
    clone = json.loads(daemon.run("clone", file, "--json"))
    assert Path(clone["path"]).exists()
    assert "process" in daemon.run("status")


def test_a_compaction_is_looked_at_before_it_is_written(daemon: Daemon) -> None:
    file = str(daemon.file)
    assert "pisessiond: " in daemon.run("compact", file, "--summary", "S", code=1)
    for number in range(3):
        daemon.run("append", file, "--text", f"{number} " + "word " * 10_000)
    preview = daemon.run("compact", file, "--dry-run")
    assert "── cut ──" in preview
    assert "compacted" in daemon.run("compact", file, "--summary", "All said.")
    assert "▬ Compaction " in daemon.run("tree", file)


def test_what_would_happen_is_told_and_nothing_happens(daemon: Daemon) -> None:
    file, before = str(daemon.file), daemon.file.read_bytes()
    moved = daemon.run("navigate", file, "95e1742d", "--dry-run", "--width", "80")
    assert " Its text comes back, to be changed and sent again.\n" in moved
    assert " 5 entries (1 turn) are left; they stay in the tree. Files are not undone." in moved
    assert "You go on after this answer." in daemon.run("navigate", file, "3b6fd081", "--dry-run")
    forked = daemon.run("fork", file, "95e1742d", "--dry-run", "--width", "80")
    assert "5 entries (1 turn) of the active branch stay in this session alone." in forked
    answer = json.loads(daemon.run("navigate", file, "--start", "--dry-run", "--json"))
    assert answer["preview"]["leaf"] is None
    assert answer["preview"]["sizeAfter"]["tokens"] == 0
    assert daemon.run("navigate", file, "nope", "--dry-run", code=1).startswith("pisessiond: ")
    compared = daemon.run("compare", file, "3b6fd081", "--width", "80")
    assert " since  « The fixture's clock is naive" in compared
    assert "A  Passes, but hides" in compared
    assert "B  active branch" in compared
    assert "src/login/clock.py" in compared
    assert daemon.file.read_bytes() == before


def test_refusals_have_a_sentence_a_kind_and_exit_code_1(daemon: Daemon) -> None:
    file = str(daemon.file)
    before = daemon.file.read_bytes()
    for kind, arguments in {
        "EntryNotFound": ["navigate", file, "nope"],
        "SessionNotFound": ["tree", "nope"],
        "NotASession": ["tree", "README.md"],
        "MethodNotFound": ["call", "session/nonsense"],
        "LeafMoved": ["rename", file, "x", "--base-leaf", "51c7e2aa"],
    }.items():
        json_option = [] if arguments[0] == "call" else ["--json"]
        said = daemon.run(*arguments, *json_option, code=1, cwd=ROOT)
        if json_option:
            assert json.loads(said)["error"]["kind"] == kind
        assert len(daemon.run(*arguments, code=1, cwd=ROOT).splitlines()) == 1
    assert daemon.file.read_bytes() == before


def test_another_process_follows_every_change(daemon: Daemon) -> None:
    follow = [sys.executable, "-m", "pisessiond", "follow", str(daemon.file), "--json"]
    environment = {**os.environ, "PISESSIOND_SOCKET": daemon.socket}
    with subprocess.Popen(follow, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            lines = map(json.loads, other.stdout)
            first = next(lines)
            assert first["snapshot"]["path"] == str(daemon.file.resolve())
            rev = first["rev"]
            daemon.run("append", str(daemon.file), "--text", "Hello")
            daemon.run("navigate", str(daemon.file), "--start")
            daemon.run("label", str(daemon.file), "51c7e2aa", "blue")
            for kind in ("append", "navigate", "label"):
                # Meanwhile sizes were counted, and clients came and went.
                update = next(line for line in lines if line["rev"] > rev and "changes" in line)
                rev += 1
                assert update["rev"] == rev
                assert [change["kind"] for change in update["changes"]] == [kind, "rows"]
                assert update["changes"][0]["origin"]["client"] == "pisessiond-cli"
            daemon.run("stop")
            assert daemon.process.wait(10) == 0
            (end,) = (line for line in lines if "error" in line)
            assert end["error"]["kind"] == "ConnectionLost"
            assert other.wait(10) == 2
        finally:
            other.kill()


def test_a_mirror_of_the_notifications_equals_the_tree_asked_for_anew(daemon: Daemon) -> None:
    with blocking.connect(daemon.socket) as mine, blocking.connect(daemon.socket) as theirs:
        session, other = mine.open(path=str(daemon.file)), theirs.open(path=str(daemon.file))
        mirror = Mirror(session.whole_tree()["nodes"], session.leaf, session.context_size)
        acts: list[Callable[[], Any]] = [
            lambda: other.append(user_message("One")),
            lambda: other.navigate("3b6fd081"),
            lambda: other.append(entries=[user_message("Two"), user_message("Three")]),
            lambda: other.label("95e1742d", None),
            lambda: other.navigate(None),
            lambda: other.append(user_message("A new root")),
        ]
        updates = session.changes(timeout=10)
        for act in acts:
            rev = act()["rev"]
            while (update := next(updates)).rev < rev:
                assert mirror.apply(update)
            assert mirror.apply(update)
        fresh = Mirror(session.whole_tree()["nodes"], session.leaf, session.size())
        assert mirror.leaf == fresh.leaf
        assert _comparable(mirror) == _comparable(fresh)


def _comparable(mirror: Mirror) -> dict[Any, Any]:
    members = ("parent", "type", "preview", "contextSize")
    return {
        node["id"]: ([node.get(member) for member in members], node.get("label") or None)
        for node in mirror.nodes
    }


def test_the_scripts_do_what_they_say(daemon: Daemon) -> None:
    assert "82d6c09b" in daemon.script("print_tree.py")
    said = daemon.script("append_and_follow.py", "Hello")
    assert "append" in said
    assert "Hello" in said
    assert "Use" not in daemon.script("fork_at_label.py", "nothing", code=1)
    forked = daemon.script("fork_at_label.py", "green").splitlines()
    assert forked[0].endswith(".jsonl")
    assert forked[1] == "Patch time.time in the test only."
    assert "not compacted" in daemon.script("compact_with_own_summary.py", code=1)
    with blocking.connect(daemon.socket) as client:
        session = client.open(path=str(daemon.file))
        session.append(entries=[user_message(f"{n} " + "word " * 10_000) for n in range(3)])
    assert "entries summarised" in daemon.script("compact_with_own_summary.py")


def test_scripts_are_short() -> None:
    for path in SCRIPTS.glob("*.py"):
        if path.name not in {"demo.py", "watch_tree.py"}:
            assert len(path.read_text("utf-8").splitlines()) < 40, path.name


def test_the_demo_shows_every_act_in_a_second_process(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "demo.py")],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PISESSIOND_HOME": str(tmp_path / "mine")},
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert not (tmp_path / "mine").exists()
    for act in ("append", "navigate", "compact", "fork"):
        assert f"   driver: {act} " in done.stdout
    print(f"demo: {time.monotonic() - begun:.1f} s")
    assert time.monotonic() - begun < 50


def test_every_file_of_the_corpus_is_drawn_or_refused_in_a_sentence(daemon: Daemon) -> None:
    drawn, refused = 0, {}
    with blocking.connect(daemon.socket) as client:
        for original in sorted(CORPUS.glob("*/*.jsonl")):
            copy = daemon.file.parent / original.name
            shutil.copyfile(original, copy)
            try:
                session = client.open(path=str(copy))
            except RpcFailure as failure:
                refused[original.name] = failure.kind
                continue
            session.size()
            read = read_rows(session, "all", ["all"])
            lines = list(RowView(100).draw(read.rows, read.opened))
            assert sum(row["kind"] == "here" for row in read.rows) == 1
            assert len(lines) == len(read.rows)
            told = sum(row["entries"] for row in read.rows if row["id"] not in read.opened)
            assert told == len(session.whole_tree()["nodes"]), original.name
            assert not any(CONTROLS.search(line) for line in lines), original.name
            context = session.context()
            list(message_lines(context["messages"], context["sources"], 100))
            for page in (session.entries(), session.entries(order="file")):
                for entry in page["entries"]:
                    assert not any(CONTROLS.search(line) for line in entry_lines(entry))
            session.close()
            assert copy.read_bytes() == original.read_bytes(), original.name
            drawn += 1
    assert drawn > 60
    assert set(refused.values()) == {"NotASession"}


def test_inspect_and_schema_need_no_daemon(daemon: Daemon) -> None:
    found = json.loads(daemon.run("inspect", str(daemon.file), "--json"))
    assert found["entryCount"] == 25
    assert "25" in daemon.run("inspect", str(daemon.file))
    error = json.loads(daemon.run("inspect", "README.md", "--json", code=1, cwd=ROOT))
    assert error["error"]["kind"] == "NotASession"
    assert "openrpc" in json.loads(daemon.run("schema"))

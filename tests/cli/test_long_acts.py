"""Commands that wait for a model: what they say meanwhile, Ctrl-C, refusals, reviews."""

from __future__ import annotations

import json
import os
import pty
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pisessiond.cli import long_act
from pisessiond.cli.main import cli
from tests.cli import samples
from tests.client.scripted import OPENED, Message, Script, refuse, reply, scripted_daemon

DONE = {"rev": 2, "leaf": "cccccccc", "entry": "cccccccc"}
COMPACTED = {**DONE, "tokensBefore": 186_000, "tokensAfter": 34_000}
SAID = "compacted · leaf cccccccc · 186k 93% → ~34k ~17%\n"


def progress(asked: Message, **value: Any) -> Message:
    params = {"token": asked["params"]["workDoneToken"], "value": value}
    return {"jsonrpc": "2.0", "method": "$/progress", "params": params}


def waiting(message: Message) -> list[Message]:
    """How far it is, and no answer yet."""
    return [
        progress(message, kind="begin", title="Compacting", cancellable=True),
        progress(message, kind="report", message="1.2k \x1b[31mreceived"),
    ]


def answering(result: Any) -> Callable[[Message], list[Message]]:
    """What comes of the request that is cancelled."""
    return lambda message: [reply({"id": message["params"]["id"]}, result)]


@pytest.fixture
def script() -> Script:
    return Script(
        session_compact=COMPACTED,
        session_contextSize=samples.SIZE,
        session_summarizers={"summarizers": samples.CHOICES},
        session_tree={"rev": 1, "total": 0, "nodes": []},
    )


@pytest.fixture
def daemon(script: Script) -> Iterator[str]:
    with scripted_daemon(script) as path:
        yield path


Run = Callable[..., Result]


@pytest.fixture
def command(daemon: str) -> Run:
    def call(*arguments: str, env: dict[str, str] | None = None, **named: Any) -> Result:
        environment = {"PISESSIOND_SOCKET": daemon, **(env or {})}
        return CliRunner().invoke(cli, [*arguments], env=environment, **named)

    return call


class Program:
    """A command in a process of its own, its standard error a terminal or a pipe."""

    def __init__(self, daemon: str, *arguments: str, on_terminal: bool = False) -> None:
        self._reading, writing = pty.openpty() if on_terminal else os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pisessiond", *arguments],
            stdout=subprocess.PIPE,
            stderr=writing,
            env={**os.environ, "PISESSIOND_SOCKET": daemon, "TERM": "xterm"},
        )
        os.close(writing)
        self.said = ""
        """What came on standard error so far."""

    def until(self, words: str) -> None:
        """Wait until that was said."""
        while words not in self.said:
            assert self._read(), self.said

    def end(self) -> tuple[int, str]:
        """Its exit code, and what it wrote to standard output."""
        out, _ = self.process.communicate(timeout=20)
        while self._read():
            pass
        os.close(self._reading)
        return self.process.returncode, out.decode()

    def _read(self) -> bool:
        try:
            data = os.read(self._reading, 65536)
        except OSError:  # so ends a terminal on Linux
            return False
        self.said += data.decode()
        return bool(data)


# Meanwhile


def test_nothing_is_said_of_what_is_quick(command: Run) -> None:
    result = command("compact", "s1")
    assert (result.exit_code, result.stdout, result.stderr) == (0, SAID, "")


def test_a_terminal_sees_how_far_it_is_on_one_line(daemon: str, script: Script) -> None:
    script.answers["session/compact"] = waiting
    script.answers["$/cancelRequest"] = answering(COMPACTED)
    program = Program(daemon, "compact", "s1", on_terminal=True)
    program.until("compacting, 1.2k received")
    program.process.send_signal(signal.SIGINT)
    assert program.end() == (0, SAID)
    assert "\x1b[31m" not in program.said
    *_, line, rest = program.said.split("\r\x1b[K")
    assert line == "compacting, 1.2k received"
    assert rest.split() == "pisessiond: too late to cancel, it is done".split()


def test_without_a_terminal_it_is_a_line_now_and_then(daemon: str, script: Script) -> None:
    script.answers["session/compact"] = waiting
    script.answers["$/cancelRequest"] = answering(refuse("Cancelled", "It was cancelled."))
    program = Program(daemon, "compact", "s1")
    program.until("compacting, 1.2k received\n")
    program.process.send_signal(signal.SIGINT)
    assert program.end() == (130, "")
    assert program.said.endswith("\npisessiond: cancelled; nothing was written\n")
    assert "\x1b" not in program.said


def test_programs_that_want_json_are_told_in_json(daemon: str, script: Script) -> None:
    script.answers["session/compact"] = waiting
    script.answers["$/cancelRequest"] = answering(refuse("Cancelled", "It was cancelled."))
    program = Program(daemon, "compact", "s1", "--json", on_terminal=True)
    program.until("compacting, 1.2k received")
    program.process.send_signal(signal.SIGINT)
    code, out = program.end()
    assert (code, json.loads(out)["error"]["kind"]) == (130, "Cancelled")


def test_programs_that_want_json_hear_nothing_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_act, "PATIENCE_SECONDS", 0.0)
    doing = long_act.Doing("compacting", is_quiet=True)
    with doing as hear:
        hear({"kind": "report", "message": "1.2k received"})
        doing._teller.join(10)
        assert not doing._teller.is_alive()
    assert capsys.readouterr().err == ""


def test_a_failure_that_was_quicker_than_ctrl_c_is_told(daemon: str, script: Script) -> None:
    script.answers["session/navigate"] = waiting
    failure = refuse("SummaryFailed", "opus answered nothing; try again.", reason="empty")
    script.answers["$/cancelRequest"] = answering(failure)
    program = Program(daemon, "navigate", "s1", "a", "--summarize")
    program.until("summarising the branch left, 1.2k received\n")
    program.process.send_signal(signal.SIGINT)
    assert program.end() == (130, "")
    assert program.said.endswith("\npisessiond: opus answered nothing; try again.\n")


# Refusals


def test_whoever_names_nobody_is_told_who_there_is(command: Run, script: Script) -> None:
    script.answers["session/compact"] = refuse("NoSummarizer", "Nobody is set up.", choices=["pi"])
    result = command("compact", "s1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "pisessiond: Nobody is set up.",
        "  session               anthropic/opus-5                  the default, ready",
        "  openai/gpt-9          not ready: No key; set OPENAI_API_KEY.",
        "  extract               ready",
    ]
    script.answers["session/summarizers"] = refuse("InternalError")
    assert command("compact", "s1").stderr.splitlines()[1:] == ["  pi"]
    error = json.loads(command("compact", "s1", "--json").stdout)["error"]
    assert (error["kind"], error["choices"]) == ("NoSummarizer", ["pi"])


def test_what_holds_the_session_can_be_ended(command: Run, script: Script) -> None:
    busy = refuse("Busy", "The session is busy: nvim runs compact.", operation="compact")
    script.answers["session/compact"] = script.answers["session/navigate"] = busy
    for arguments in (["compact", "s1"], ["navigate", "s1", "a"]):
        assert command(*arguments).stderr.splitlines() == [
            "pisessiond: The session is busy: nvim runs compact.",
            "  to end it: pisessiond cancel s1",
        ]


def test_what_a_running_pi_is_at_is_ended_by_abort(command: Run, script: Script) -> None:
    busy = refuse("Busy", "pi 7 is at work (turn).", operation="turn", client="pi")
    script.answers["session/navigate"] = busy
    said = command("navigate", "s1", "a").stderr.splitlines()
    assert said == ["pisessiond: pi 7 is at work (turn).", "  to end it: pisessiond abort s1"]


def test_a_pi_that_does_not_answer_is_not_to_be_ended_from_here(
    command: Run, script: Script
) -> None:
    mute = refuse("Busy", "pi 7 does not answer.", operation="pi does not answer", client="pi")
    script.answers["session/navigate"] = mute
    said = command("navigate", "s1", "a").stderr.splitlines()
    assert said == ["pisessiond: pi 7 does not answer."]


def test_a_program_is_told_why_there_is_no_summary(command: Run, script: Script) -> None:
    failure = refuse("SummaryFailed", "It was cut off.", reason="length", summarizer="opus")
    script.answers["session/compact"] = failure
    error = json.loads(command("compact", "s1", "--json").stdout)["error"]
    assert error == {
        "kind": "SummaryFailed",
        "message": "It was cut off.",
        "reason": "length",
        "summarizer": "opus",
    }
    assert command("compact", "s1").stderr == "pisessiond: It was cut off.\n"


def test_nothing_that_runs_is_nothing_that_ends(command: Run, script: Script) -> None:
    script.answers["session/cancel"] = {"cancelled": None}
    assert command("cancel", "s1").stdout == "nothing runs in this session\n"


def test_follow_tells_when_a_compaction_begins_and_how_it_ended(
    command: Run, script: Script
) -> None:
    def told(state: str, **more: Any) -> Message:
        params = {**samples.PROGRESS, "session": "s1", "state": state, **more}
        return {"jsonrpc": "2.0", "method": "session/didProgress", "params": params}

    def opened(message: Message) -> list[Message | bytes]:
        ended = told("cancelled", message="Cancelled by vscode; nothing was written.")
        all_told = [told("begin"), told("report"), ended]
        return [reply(message, OPENED), *all_told, b"Content-Length: x\r\n\r\n"]

    script.answers["session/open"] = opened
    lines = command("follow", "s1").stdout.splitlines()[2:]
    assert lines == [
        "nvim: compaction begins",
        "nvim: compaction: Cancelled by vscode; nothing was written.",
    ]
    told_json = map(json.loads, command("follow", "s1", "--json").stdout.splitlines())
    states = [line["progress"]["state"] for line in told_json if "progress" in line]
    assert states == ["begin", "report", "cancelled"]


# Reviews


@pytest.fixture
def reviewed(script: Script) -> Script:
    def compact(message: Message) -> dict[str, Any]:
        if message["params"].get("dryRun") == "summary":
            return {"rev": 1, "leaf": "aaaaaaaa", "summary": "Old words.", "draft": "d1"}
        return COMPACTED

    script.answers["session/compact"] = compact
    return script


def editor(folder: Path, body: str) -> dict[str, str]:
    """An editor that does this to the file `$1`."""
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"VISUAL": str(path), "TMPDIR": str(folder)}


def stored(script: Script) -> list[dict[str, Any]]:
    return [params for params in script.params("session/compact") if "summary" in params]


def left_behind(folder: Path) -> list[Path]:
    return list(folder.glob("summary-*"))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_review_without_a_terminal_or_an_editor_asks_no_model(
    command: Run, reviewed: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    result = command("compact", "s1", "--review")
    assert result.exit_code == 2
    assert "$EDITOR" in result.stderr
    assert reviewed.params("session/compact") == []


def test_a_changed_summary_is_stored_with_its_draft(
    command: Run, reviewed: Script, scratch: Path
) -> None:
    env = editor(scratch, 'grep -q "Old words" "$1" && echo "New words." > "$1"')
    result = command("compact", "s1", "--review", "--instructions", "Names", env=env)
    assert (result.exit_code, result.stdout) == (0, SAID)
    first = reviewed.params("session/compact")[0]
    assert (first["dryRun"], first["customInstructions"]) == ("summary", "Names")
    (params,) = stored(reviewed)
    assert (params["summary"], params["draft"]) == ("New words.", "d1")
    assert left_behind(scratch) == []


def test_a_summary_that_was_saved_unchanged_is_stored(
    command: Run, reviewed: Script, scratch: Path
) -> None:
    env = editor(scratch, 'cp "$1" "$1~" && mv "$1~" "$1"')
    assert command("compact", "s1", "--review", env=env).exit_code == 0
    assert stored(reviewed)[0]["summary"] == "Old words."


def test_a_summary_that_was_not_saved_is_stored_when_that_is_said(
    command: Run, reviewed: Script, scratch: Path
) -> None:
    result = command("compact", "s1", "--review", env=editor(scratch, "true"))
    assert (result.exit_code, stored(reviewed)) == (1, [])
    assert result.stderr == "pisessiond: nothing was written\n"
    result = command("compact", "s1", "--review", "--yes", env=editor(scratch, "true"))
    assert result.exit_code == 0
    assert stored(reviewed)[0]["summary"] == "Old words."


def test_an_emptied_summary_is_not_stored(command: Run, reviewed: Script, scratch: Path) -> None:
    result = command("compact", "s1", "--review", "--yes", env=editor(scratch, 'echo > "$1"'))
    assert (result.exit_code, stored(reviewed)) == (1, [])
    assert "the summary is empty; nothing was written" in result.stderr
    assert left_behind(scratch) == []


def test_a_text_somebody_worked_on_is_kept_when_it_cannot_be_stored(
    command: Run, reviewed: Script, scratch: Path
) -> None:
    write = reviewed.answers["session/compact"]

    def refusing(message: Message) -> Any:
        moved = refuse("LeafMoved", "The leaf has moved.", leaf="x", rev=7)
        return moved if "summary" in message["params"] else write(message)

    reviewed.answers["session/compact"] = refusing
    env = editor(scratch, 'echo "New words." > "$1"')
    result = command("compact", "s1", "--review", env=env)
    (kept,) = left_behind(scratch)
    assert kept.read_text() == "New words.\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert result.stderr.splitlines() == [
        f"pisessiond: the summary is kept in {kept}",
        "pisessiond: The leaf has moved.",
    ]


def test_an_editor_that_fails_stores_nothing(command: Run, reviewed: Script, scratch: Path) -> None:
    result = command("compact", "s1", "--review", "--yes", env=editor(scratch, "exit 3"))
    assert result.exit_code != 0
    assert stored(reviewed) == []


def test_a_summary_is_read_from_standard_input(command: Run, script: Script) -> None:
    result = command("compact", "s1", "--summary", "-", input="All said.")
    assert result.exit_code == 0
    assert stored(script)[0]["summary"] == "All said."

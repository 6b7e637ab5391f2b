"""`make demo`: a daemon, one process that drives a session, and a second one that watches it.

The second process is `watch_tree.py`. It draws the tree from the notifications it gets, and this
one goes on to the next act only when the watcher has shown the last, so both can be read together.
Everything happens in a folder of its own; no key, no other service, nothing of yours is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pisessiond.client.blocking import connect
from pisessiond.client.blocking_session import BlockingSession
from pisessiond.client.entries import user_message
from pisessiond.client.errors import NoDaemon

HERE = Path(__file__).parent
STARTED = time.monotonic()
PATIENCE = 10.0
"""Seconds until something that does not come has failed."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pisessiond-demo-") as folder:
        socket, agent_dir = f"{folder}/socket", Path(folder, "agent")
        file = agent_dir / "sessions" / "--srv-login--" / "2026-11-12T13-51-40-000Z_sample.jsonl"
        file.parent.mkdir(parents=True)
        shutil.copy(HERE / "sample.jsonl", file)
        # Nothing of the demo stays in the user's home, and no setting of his counts.
        os.environ["PISESSIOND_HOME"] = f"{folder}/state"

        serve = ["-m", "pisessiond", "serve", "--socket", socket, "--agent-dir", str(agent_dir)]
        with process(*serve, "--log-file", f"{folder}/log") as daemon:
            wait_for_daemon(socket, daemon)
            say(f"the daemon is process {daemon.pid}")
            watch = [str(HERE / "watch_tree.py"), socket, str(file)]
            with process(*watch, stdout=subprocess.PIPE) as watcher:
                say(f"the watcher is process {watcher.pid}; it draws what it is told:")
                with connect(socket, name="driver") as client:
                    session = client.open(path=str(file))
                    screen = Screen(watcher, session.opened["rev"])
                    drive(session, screen)
                    watched = screen.show_rest()
                    client.stop_daemon()
            stopped = daemon.wait(PATIENCE)
    took = time.monotonic() - STARTED
    say(f"the watcher {'saw everything' if watched == 0 else 'failed'}; {took:.1f} s in all")
    return 0 if watched == stopped == 0 else 1


def drive(session: BlockingSession, screen: Screen) -> None:
    """Every kind of act once; the watcher must show each before the next begins."""
    answer: Any = session.append(entries=log_read())
    screen.show("append", "a question, its answer and a long log", answer["rev"])
    answer = session.navigate("3b6fd081")
    screen.show("navigate", "to the branch labelled green", answer["rev"])
    answer = session.append(user_message("Which fault does it hide?"))
    screen.show("append", "there, so that the main line is another", answer["rev"])
    answer = session.navigate("demo0004", exact=True)
    screen.show("navigate", "back to the end of the log", answer["rev"])
    summary = "## Goal\nA login test that passes in every zone. The log shows no other failure."
    answer = session.compact(summary=summary)
    screen.show("compact", "with a summary of our own", answer["rev"])
    fork = session.fork("0d84e6f3", position="before")
    # The answer tells of the new session; the one forked from has grown by one revision.
    text = fork.get("editorText")
    screen.show("fork", f"before a message; its text comes back: {text!r}", answer["rev"] + 1)
    answer = session.rename("done")
    screen.show("rename", "which ends the watcher", answer["rev"])


def log_read() -> list[dict[str, Any]]:
    """A turn whose tool result is long enough for a compaction: about 25,000 tokens."""
    log = "\n".join(
        f"12:{n // 60:02}:{n % 60:02} test {n:04} passed in zone {n % 24:+}" for n in range(2700)
    )
    usage = {"input": 38_000, "output": 120, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 38_120}
    model = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}
    call = {"type": "toolCall", "id": "call_9", "name": "read", "arguments": {"path": "ci.log"}}
    done = {"type": "text", "text": "All 2,700 runs pass, in every zone."}
    result = {"role": "toolResult", "toolCallId": "call_9", "toolName": "read", "isError": False}
    messages: list[dict[str, Any]] = [
        user_message("Does it pass in every zone? Read the log of CI.")["message"],
        {"role": "assistant", "content": [call], **model, "usage": usage, "stopReason": "toolUse"},
        {**result, "content": [{"type": "text", "text": log}]},
        {"role": "assistant", "content": [done], **model, "usage": usage, "stopReason": "stop"},
    ]
    now = int(time.time() * 1000)
    return [
        {"type": "message", "id": f"demo000{n}", "message": {"timestamp": now, **message}}
        for n, message in enumerate(messages, 1)
    ]


class Screen:
    """The watcher's output, passed on revision by revision."""

    def __init__(self, watcher: subprocess.Popen[str], rev: int) -> None:
        self._watcher = watcher
        self._show_until(rev)

    def show(self, act: str, what: str, rev: int) -> None:
        """Names an act, then passes on what the watcher says until it has seen it."""
        say(f"{act} {what}")
        began = time.monotonic()
        if not any(line.startswith(f"driver: {act} ") for line in self._show_until(rev)):
            sys.exit(f"the watcher was not told of: {act} {what}")
        print(f"   (seen {(time.monotonic() - began) * 1000:.0f} ms after the answer)")

    def show_rest(self) -> int:
        """Passes on what is left and gives the watcher's exit code."""
        for line in self._watcher.stdout or ():
            print(f"   {line}", end="")
        return self._watcher.wait(PATIENCE)

    def _show_until(self, rev: int) -> list[str]:
        assert self._watcher.stdout is not None
        # A watcher that hangs is ended, so that reading its output ends too.
        alarm = threading.Timer(PATIENCE, self._watcher.kill)
        alarm.start()
        lines = []
        try:
            for line in self._watcher.stdout:
                lines.append(line)
                print(f"   {line}", end="", flush=True)
                if line.startswith("-- rev ") and int(line.split()[-1]) >= rev:
                    return lines
        finally:
            alarm.cancel()
        sys.exit(f"the watcher ended before it saw revision {rev}")


@contextmanager
def process(*arguments: str, **named: Any) -> Iterator[subprocess.Popen[str]]:
    """A Python program of ours, ended by its id when the block ends, however that ends."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, text=True, **named) as started:  # noqa: S603
        try:
            yield started
        finally:
            if started.poll() is None:
                started.terminate()
            try:
                started.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                started.kill()


def wait_for_daemon(socket: str, daemon: subprocess.Popen[str]) -> None:
    """Returns once the daemon answers."""
    while True:
        try:
            with connect(socket, name="driver"):
                return
        except NoDaemon as error:
            if daemon.poll() is not None or time.monotonic() - STARTED > PATIENCE:
                sys.exit(f"the daemon did not start: {error}")
        time.sleep(0.02)


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

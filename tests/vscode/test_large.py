"""A session of ten thousand entries: its first rows are there at once, and it is kept up."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Final

import pytest

from pisessiond.client import blocking
from pisessiond.client.entries import user_message
from pisessiond.core.headers import file_name, folder_name
from tests.bench.generated import session_file
from tests.daemon import homes
from tests.daemon.homes import Home
from tests.nvim.conversations import Talk, short_talk, today
from tests.nvim.editor import project
from tests.support.service import spell
from tests.vscode.timings import measured
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

ENTRIES: Final = 10_000
FIRST_ROWS: Final = 1.0
"""Seconds from the click that opens the session to its rows."""


@pytest.fixture(scope="module")
def folder(home: Home) -> Path:
    return project(home, "large")


@pytest.fixture(scope="module")
def window(home: Home, workbench: Workbench, folder: Path) -> Window:
    short_talk(folder, "small").write(home.agent)
    return workbench.window(folder).opens()


def real(home: Home, folder: Path, name: str) -> None:
    """Work as it is done, a year of it: folded to some thousand rows."""
    header, *lines = session_file(ENTRIES).read_bytes().splitlines()
    last = json.loads(lines[-1])["id"]
    message = {"role": "user", "content": f"the end of {name}", "timestamp": 1}
    ended = [
        {"type": "message", "id": f"{name}-1", "parentId": last, "message": message},
        {"type": "session_info", "id": f"{name}-2", "parentId": f"{name}-1", "name": name},
    ]
    begun = {**json.loads(header), "id": name, "cwd": str(folder)}
    place = home.agent / "sessions" / folder_name(str(folder))
    path = place / file_name(name, begun["timestamp"])
    stamped = [spell({"timestamp": begun["timestamp"], **one}) for one in ended]
    path.write_bytes(spell(begun) + b"".join(line + b"\n" for line in lines) + b"".join(stamped))


def flat(home: Home, folder: Path, name: str) -> None:
    """Nothing but questions and answers, each of them a row."""
    talk = Talk(folder, today(), name)
    for number in range(ENTRIES // 2):
        talk.user(f"question {number}")
        talk.answer(f"answer {number}", 30_000)
    talk.user(f"the end of {name}")
    talk.add("session_info", name=name)
    talk.write(home.agent)


def test_first_rows_are_there_within_a_second(window: Window, home: Home, folder: Path) -> None:
    names = [(make, f"{make.__name__}-{number}") for make in (real, flat) for number in range(3)]
    for make, name in names:
        make(home, folder, name)
    for _, name in names:
        window.sees(name, "Sessions")
        window.row(name, "Sessions").first.click()
        began = time.perf_counter()
        window.sees(f"^You: the end of {name}")
        seconds = time.perf_counter() - began
        measured("click on a session of 10,000 entries to its rows", seconds)
        homes.report(f"{name}: first rows", seconds, FIRST_ROWS)
    window.until(lambda: window.sees("^You are here").selected, "the leaf in sight")


def test_a_large_session_is_kept_up(window: Window, home: Home, folder: Path) -> None:
    path = next(one for one in _sessions(home, folder) if "flat-2" in one.name)
    window.sees("^You: the end of flat-2")
    with blocking.connect(home.place.own_socket, name="script") as client:
        session = client.open(path=str(path))
        for number in range(5):
            text = f"appended {number}"
            began = time.perf_counter()
            session.append(user_message(text))
            window.sees(f"^You: {text}")
            measured("append to 10,000 entries to its row", time.perf_counter() - began)
    # Earlier rows come when they are asked for.
    window.select("^You: appended 4")
    window.key("Home")
    earlier = window.sees("earlier rows").label
    window.row("earlier rows").first.click()
    window.until(lambda: earlier not in [row.label for row in window.rows()], "more rows")


def _sessions(home: Home, folder: Path) -> list[Path]:
    return list((home.agent / "sessions" / folder_name(str(folder))).glob("*.jsonl"))

"""Client libraries come back: what they wrote is there once, what they see converges."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import anyio
import pytest

from pisessiond.client import aio, blocking
from pisessiond.client.entries import user_message
from pisessiond.client.errors import ConnectionLost, RpcFailure
from pisessiond.client.mirror import Mirror
from pisessiond.client.repeating import may_repeat
from tests.daemon.homes import Home, report, wait_until
from tests.support.service import answer, user

pytestmark = pytest.mark.slow

KILLS = 20
WRITERS = 3


@pytest.fixture(autouse=True)
def at_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])


def beginning(home: Home) -> Path:
    entries = [user("Hello", "00000000"), answer("Yes?", "00000001", "00000000")]
    return home.session("shared", entries)


@pytest.mark.timeout(300)
def test_twenty_kills_under_load_double_nothing_and_all_converge(home: Home) -> None:
    path = beginning(home)
    done = threading.Event()
    written: list[list[str]] = [[] for _ in range(WRITERS)]
    faults: list[BaseException] = []
    mirrors: list[Mirror] = []

    def write(number: int) -> None:
        try:
            with blocking.connect(name=f"writer {number}", reconnect=True) as client:
                session = client.open(path=str(path))
                while not done.is_set():
                    done_so_far = session.append(user_message(f"{number} {len(written[number])}"))
                    written[number].append(str(done_so_far["ids"][0]))
                    time.sleep(0.005)
        except BaseException as error:  # noqa: BLE001
            faults.append(error)

    def watch() -> None:
        try:
            with blocking.connect(name="watcher", reconnect=True) as client:
                session = client.open(path=str(path))
                mirror = Mirror(session.whole_tree()["nodes"], session.leaf, session.context_size)
                mirrors.append(mirror)
                while True:
                    try:
                        for update in session.changes(timeout=2):
                            if not mirror.apply(update):
                                nodes = session.whole_tree()["nodes"]
                                mirror.__init__(nodes, session.leaf, session.context_size)  # type: ignore[misc]
                    except TimeoutError:
                        if done.is_set():
                            return
        except BaseException as error:  # noqa: BLE001
            faults.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    threads.append(threading.Thread(target=watch))
    for one in threads:
        one.start()
    longest = 0.0
    try:
        for _ in range(KILLS):
            size = path.stat().st_size
            wait_until(lambda size=size: path.stat().st_size > size + 2000 or faults)  # type: ignore[misc]
            assert faults == []
            with blocking.connect() as client:
                pid = client.status()["pid"]
            os.kill(pid, signal.SIGKILL)
            began = time.monotonic()
            with blocking.connect() as client:
                client.status()
            longest = max(longest, time.monotonic() - began)
    finally:
        done.set()
        for one in threads:
            one.join(60)
    assert faults == []
    report("the next call after SIGKILL, under load", longest, 3.0)

    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    ids = [line["id"] for line in lines]
    assert len(ids) == len(set(ids))
    acknowledged = [one for writer in written for one in writer]
    assert set(acknowledged) <= set(ids)
    texts = [line["message"]["content"] for line in lines[3:] if line["type"] == "message"]
    assert len(texts) == len({json.dumps(text) for text in texts})
    print(f"\n{KILLS} kills, {len(acknowledged)} appends acknowledged, {len(texts)} in the file")

    with blocking.connect() as client:
        session = client.open(path=str(path))
        fresh = Mirror(session.whole_tree()["nodes"], session.leaf, session.context_size)
    (seen,) = mirrors
    assert {node["id"] for node in seen.nodes} == {node["id"] for node in fresh.nodes}
    assert seen.leaf == fresh.leaf


@pytest.mark.anyio
async def test_a_client_on_asyncio_comes_back_and_misses_nothing(home: Home) -> None:
    path = beginning(home)
    with anyio.fail_after(60):
        async with (
            aio.connect(name="reader", reconnect=True) as reader,
            aio.connect(name="writer", reconnect=True) as writer,
        ):
            session, other = await reader.open(path=str(path)), await writer.open(path=str(path))
            seen: set[str] = set()

            async def read(wanted: str) -> None:
                async for update in session.changes():
                    for change in update.changes:
                        seen.update(str(node["id"]) for node in change.get("nodes", ()))
                    if update.snapshot is not None:
                        nodes = (await session.whole_tree())["nodes"]
                        seen.update(str(node["id"]) for node in nodes)
                    if wanted in seen:
                        return

            first = str((await other.append(user_message("Before")))["ids"][0])
            await read(first)
            pid = (await reader.status())["pid"]
            os.kill(pid, signal.SIGKILL)
            second = str((await other.append(user_message("Across")))["ids"][0])
            await read(second)
            assert (await reader.status())["pid"] != pid
            # A plain stop is the same to them.
            await anyio.to_thread.run_sync(lambda: home.run("stop"))
            third = str((await other.append(user_message("After")))["ids"][0])
            await read(third)
    ids = [json.loads(line)["id"] for line in path.read_bytes().splitlines()]
    assert ids[3:] == [first, second, third]


@pytest.mark.anyio
async def test_what_was_on_no_disk_is_said_to_be_gone(home: Home) -> None:
    with anyio.fail_after(60):
        async with aio.connect(reconnect=True) as client:
            session = await client.create("/srv", store="memory")
            await session.append(user_message("Only here"))
            os.kill((await client.status())["pid"], signal.SIGKILL)
            with pytest.raises(RpcFailure) as gone:
                async for _ in session.changes():
                    pass
            assert gone.value.kind == "SessionNotFound"


def test_what_must_not_be_done_twice_is_left_to_the_caller(home: Home) -> None:
    path = beginning(home)
    with blocking.connect(reconnect=True) as client:
        session = client.open(path=str(path))
        os.kill(client.status()["pid"], signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            session.fork("00000000")
        # The connection is back all the same.
        assert session.label("00000000", "a")["leaf"] is not None
    assert may_repeat("session/append", {"entry": {"id": "a"}})
    assert not may_repeat("session/append", {"entries": [{"id": "a"}, {}]})
    assert not may_repeat("session/navigate", {"target": "a", "label": "b"})


def test_without_reconnect_a_loss_is_said(home: Home) -> None:
    with blocking.connect() as client:
        os.kill(client.status()["pid"], signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            client.sessions()


def copies(home: Home) -> tuple[Path, Path]:
    """Two files of one session id, so that the first to be opened has it for a handle."""
    first = beginning(home)
    second = first.with_name(f"copy-{first.name}")
    second.write_bytes(first.read_bytes())
    return first, second


def _told(path: Path) -> list[str]:
    """Which of these words are in a file."""
    text = path.read_text("utf-8")
    return [words for words in ("to the first", "to the second") if words in text]


def kill(home: Home) -> None:
    (daemon,) = home.daemons()
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.wait(10)


def test_an_act_lands_in_its_own_file_where_a_new_daemon_gives_another_handle(home: Home) -> None:
    first, second = copies(home)
    with (
        blocking.connect(name="one", reconnect=True) as one,
        blocking.connect(name="two", reconnect=True) as two,
    ):
        of_first, of_second = one.open(path=str(first)), two.open(path=str(second))
        assert (of_first.handle, of_second.handle) == ("shared", str(second))
        kill(home)

        of_second.append(user_message("to the second"))
        of_first.append(user_message("to the first"))

        assert (of_first.handle, of_second.handle) == (str(first), "shared")
    assert _told(first) == ["to the first"]
    assert _told(second) == ["to the second"]


@pytest.mark.anyio
async def test_so_it_does_for_whoever_reads_and_acts_on_a_loop(home: Home) -> None:
    first, second = copies(home)
    async with (
        aio.connect(name="one", reconnect=True) as one,
        aio.connect(name="two", reconnect=True) as two,
    ):
        of_first, of_second = await one.open(path=str(first)), await two.open(path=str(second))
        assert (of_first.handle, of_second.handle) == ("shared", str(second))
        await anyio.to_thread.run_sync(kill, home)

        await of_second.append(user_message("to the second"))
        done = await of_first.append(user_message("to the first"))
        with anyio.fail_after(10):
            while of_first.leaf != done["ids"][0]:
                async for _ in of_first.changes(1):
                    break
    assert _told(first) == ["to the first"]
    assert _told(second) == ["to the second"]

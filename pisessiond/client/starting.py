"""Reaches the one daemon: connects, and starts it when there is none. Imports no server code.

The order keeps sixteen clients that come at once from starting two daemons: connect; take the
start lock; connect *again*, since who held the lock before may have started it; only then start
one. The lock is handed on to the daemon, so that it is held until that one listens, whatever
becomes of the client meanwhile.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from typing import TYPE_CHECKING, Final

from pisessiond.client.address import (
    Place,
    check_place,
    find_place,
    home_folder,
    make_place,
    socket_path,
)
from pisessiond.client.errors import NoDaemon, NotRunning, no_daemon

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

PATIENCE: Final = 20.0
"""Seconds until a daemon that could be started and is not there counts as none. On a quiet machine
it takes half a second."""

REPORT: Final = "pisessiond-report: "
"""Begins the line in which a daemon tells its starter how it went; after it `ready`, `running`, or
a sentence."""

_POLL: Final = 0.02
_ABSENT: Final = (errno.ENOENT, errno.ECONNREFUSED)


def reach_daemon(
    place: Place | None = None, *, start: bool = True, patience: float = PATIENCE
) -> socket.socket:
    """A connection to the daemon of a place, which is started if it is not there.

    Args:
        place: Whose daemon; None finds it by the environment.
        start: False only connects.
        patience: Seconds after which it counts as failed.

    Raises:
        NotRunning: There is none, and none was to be started.
        NoDaemon: There is none and none could be started; the sentence says why.
    """
    place = place or find_place()
    check_place(place)
    path = socket_path(place)
    deadline = time.monotonic() + patience
    connection = try_connect(path)
    if connection is None and start:
        make_place(place)
        for _ in _attempts(deadline):
            connection = try_connect(socket_path(place)) or _start(place, deadline)
            if connection is not None:
                break
        else:
            raise NoDaemon(_hung(place))
    if connection is None:
        raise NotRunning("no daemon is running")
    return connection


def try_connect(path: str) -> socket.socket | None:
    """A connection to a socket; None when nobody is there, or its queue is full.

    Raises:
        NoDaemon: It may not be used, or is no socket.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A full queue would make a plain connect wait as long as a stopped daemon stays stopped.
    connection.setblocking(False)
    error = connection.connect_ex(path)
    if not error:
        connection.setblocking(True)
        return connection
    connection.close()
    if error in _ABSENT or error == errno.EAGAIN:
        return None
    raise no_daemon(path, OSError(error, os.strerror(error)))


def _attempts(deadline: float) -> Iterator[None]:
    yield
    while time.monotonic() < deadline:
        time.sleep(_POLL)
        yield


def _start(place: Place, deadline: float) -> socket.socket | None:
    """Starts the daemon if this process gets to do so now; None: look again."""
    lock = os.open(place.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # A umask may have taken bits that the next one to open it needs.
        os.fchmod(lock, 0o600)
        if not try_lock(lock):
            return None
        # Who held the lock until now may have started it.
        if (connection := try_connect(socket_path(place))) is not None:
            return connection
        if is_locked(place.life_lock):
            # Someone lives: its socket file vanished and is made again within a second, or it is
            # on its way out.
            return None
        report = _spawn_and_hear(place, lock, deadline)
    finally:
        # The lock itself is the daemon's from here on.
        os.close(lock)
    if report not in ("ready", "running"):
        raise NoDaemon(report)
    return try_connect(socket_path(place))


def try_lock(file: int) -> bool:
    """Takes the lock of an open file, unless someone has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: str) -> bool:
    """Whether someone holds the lock of a file. Ask only with the start lock held.

    To ask is to hold it for a moment, which could get in the way of a daemon that starts.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(file)
    finally:
        os.close(file)


def _spawn_and_hear(place: Place, lock: int, deadline: float) -> str:
    """What a daemon that was just started says: `ready`, `running`, or why it is not."""
    import subprocess

    child = _spawn(place, lock)
    assert child.stderr is not None
    with child.stderr as pipe:
        heard = _read_report(pipe.fileno(), deadline)
    # The child was but the parent of the daemon, so that a daemon which ends leaves nothing behind
    # in a starter that lives on; it has ended long ago.
    try:
        child.wait(1)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    for line in heard.splitlines():
        if line.startswith(REPORT):
            return line.removeprefix(REPORT)
    if time.monotonic() >= deadline:
        return _hung(place)
    # It ended without a word of its own: the last line is what Python had to say.
    words = [line.strip() for line in heard.splitlines() if line.strip()]
    why = words[-1] if words else f"it ended at once; its log is {place.log}"
    return f"the daemon could not be started: {why}"


def _spawn(place: Place, lock: int) -> subprocess.Popen[bytes]:
    import subprocess
    import sys

    # -P: the folder it runs in is no place to import from.
    command = [sys.executable, "-P", "-m", "pisessiond", "serve", "--start-lock", str(lock)]
    environment = {
        name: value
        for name, value in os.environ.items()
        # These are one client's wishes; the daemon serves all of them.
        if name not in ("PI_CODING_AGENT_SESSION_DIR", "PISESSIOND_SOCKET", "TMPDIR")
        and not name.startswith(("XDG_", "LISTEN_"))
    }
    environment["PYTHONPATH"] = _import_path(environment.get("PYTHONPATH"))
    try:
        environment["HOME"] = home_folder()
    except NoDaemon:
        pass  # Both folders were given by name.
    try:
        return subprocess.Popen(  # noqa: S603 - this very program
            [*command, "--agent-dir", place.agent_dir],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env=environment,
            pass_fds=[lock],
            # Its own session: what is sent to the starter's terminal is none of its business.
            start_new_session=True,
        )
    except OSError as error:
        raise NoDaemon(f"the daemon could not be started: {error.strerror}") from error


def _import_path(given: str | None) -> str:
    """PYTHONPATH for a process in another folder, which is to find this very package.

    A checkout that is run where it lies is found by the current folder alone, and relative paths
    mean the current folder too.
    """
    paths = [os.path.abspath(path) for path in (given or "").split(os.pathsep) if path]
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if ours not in paths and os.path.basename(ours) not in ("site-packages", "dist-packages"):
        paths.append(ours)
    return os.pathsep.join(paths)


def _read_report(pipe: int, deadline: float) -> str:
    import select

    heard = b""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while REPORT.encode() not in heard or not heard.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            break
        data = os.read(pipe, 65536)
        if not data:
            break
        heard += data
    return heard.decode(errors="replace")


def _hung(place: Place) -> str:
    """Why there is still no daemon, from what the last one said of itself."""
    record = read_record(place)
    where = f"its log is {place.log}"
    if not record:
        return f"the daemon did not start in time; {where}"
    host, pid = record.get("host"), record.get("pid")
    if host != os.uname().nodename:
        return (
            f"a daemon on the machine {host} holds the state folder {place.folder}; give this "
            "machine one of its own with PISESSIOND_HOME"
        )
    return (
        f"the daemon (process {pid}) lives but does not listen; if it was stopped, continue it "
        f"with: kill -CONT {pid}; {where}"
    )


def read_record(place: Place) -> dict[str, object]:
    """What the last daemon of a place said of itself; empty when nothing can be read."""
    import json

    try:
        with open(place.record, "rb") as file:
            record = json.loads(file.read(65536))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def is_alive(pid: int) -> bool:
    """Whether a process with that number exists. It says nothing of who it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

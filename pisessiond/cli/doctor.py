"""`pisessiond doctor`: looks for whatever keeps the daemon from working, and says what to do.

It starts nothing, changes nothing, and asks a daemon that runs for its status only.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from pisessiond.cli.output import Output
from pisessiond.client.address import Place

State = Literal["ok", "note", "trouble"]

FREE_BYTES: Final = 100 << 20
"""Less free space than this is worth a word: sessions of some tens of megabytes are common."""
WATCHES: Final = 8192
ANSWER_SECONDS: Final = 5.0
NETWORK_FILE_SYSTEMS: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "afs", "lustre", "drvfs")
)


class Finding(NamedTuple):
    """One thing that was looked at."""

    topic: str
    state: State
    """A note is unusual and works; a trouble does not work."""
    message: str
    remedy: str | None = None


def finding_lines(findings: list[Finding], output: Output) -> Iterator[str]:
    """The findings for people, each trouble with what to do."""
    marks = {"ok": "ok      ", "note": "note    ", "trouble": "TROUBLE "}
    looks = {"ok": "dim", "note": "warn", "trouble": "error"}
    for one in findings:
        yield f"{output.paint(marks[one.state], looks[one.state])}{one.topic}: {one.message}"
        if one.remedy is not None:
            yield f"        -> {one.remedy}"
    troubles = sum(one.state == "trouble" for one in findings)
    yield f"{troubles} trouble{'' if troubles == 1 else 's'} found" if troubles else "all is well"


def examine() -> Iterator[Finding]:
    """Everything there is to say, in the order in which things can fail."""
    from pisessiond.client.address import check_place, find_place
    from pisessiond.client.errors import NoDaemon

    yield _python()
    yield _pi()
    try:
        place = find_place()
    except NoDaemon as error:
        yield Finding("address", "trouble", str(error))
        return
    yield from _home(place)
    yield _agent_dir(place)
    yield _bridge(place)
    yield from _settings()
    try:
        check_place(place)
    except NoDaemon as error:
        remedy = "the sentence says what; then start again"
        yield Finding("state folder", "trouble", str(error), remedy)
        return
    yield _state_folder(place)
    address = _address(place)
    yield address
    if address.state != "trouble":
        if os.path.isdir(place.folder):
            yield from _takes_sockets(place)
        yield from _daemon(place)
    yield from _log(place)
    yield _disk("sessions", place.agent_dir)
    yield _disk("state", place.folder)
    yield _network(place)
    yield from _limits()


def _python() -> Finding:
    from pisessiond.protocol.build import current_build

    version = ".".join(map(str, sys.version_info[:3]))
    message = f"pisessiond {current_build()} on Python {version} ({sys.executable})"
    if not (3, 11) <= sys.version_info[:2] < (3, 16):
        return Finding("program", "trouble", message, "use Python 3.11 to 3.15")
    return Finding("program", "ok", message)


def _pi() -> Finding:
    program = shutil.which("pi")
    if program is None:
        remedy = "none needed to read and steer sessions; install pi to continue them"
        return Finding("pi", "note", "no program named pi is on the PATH", remedy)
    try:
        done = subprocess.run(  # noqa: S603 - the user's own
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("pi", "note", f"{program} does not say its version: {error}")
    version = (done.stdout.strip() or done.stderr.strip() or "?").splitlines()[0]
    return Finding("pi", "ok", f"{version} ({program})")


def _bridge(place: Place) -> Finding:
    from pisessiond.cli.pi_package import installed_folders, package_version
    from pisessiond.client.errors import ClientError

    try:
        found = installed_folders(place.agent_dir)
    except ClientError as error:
        return Finding("bridge", "note", str(error), "then look again with: pisessiond pi status")
    if not found:
        remedy = "to see and move running pi from here: pisessiond pi install"
        return Finding("bridge", "note", "pi does not load the bridge", remedy)
    which = ", ".join(f"{package_version(one)} from {one}" for one in found)
    if len(found) > 1:
        remedy = "one is enough: pisessiond pi uninstall, then pisessiond pi install"
        return Finding("bridge", "note", f"pi loads the bridge {len(found)} times: {which}", remedy)
    return Finding("bridge", "ok", f"pi loads {which}")


def _settings() -> Iterator[Finding]:
    from pisessiond.cli.config_commands import find_whose
    from pisessiond.wiring.config_report import problems

    found = problems(find_whose(None), os.getcwd())
    for problem in found:
        yield Finding("settings", "trouble", problem, "then look again with: pisessiond config")
    if not found:
        yield Finding("settings", "ok", "pi's and our own can be read")


def _home(place: Place) -> Iterator[Finding]:
    """Pi goes by HOME, the daemon by the user's entry in the system."""
    home = os.environ.get("HOME")
    if not home or os.environ.get("PI_CODING_AGENT_DIR"):
        return
    of_pi = os.path.realpath(f"{home}/.pi/agent")
    if of_pi != place.agent_dir:
        said = f"HOME is {home}: a pi started here keeps its files in {of_pi}, seen by no daemon"
        yield Finding("home", "note", said, "set PI_CODING_AGENT_DIR, for pi and for pisessiond")


def _agent_dir(place: Place) -> Finding:
    folder = place.agent_dir
    if not os.path.isdir(folder):
        remedy = "run pi once, or set PI_CODING_AGENT_DIR to where it keeps its files"
        state: State = "trouble" if os.path.lexists(folder) else "note"
        return Finding("agent folder", state, f"{folder} is not there", remedy)
    sessions = os.path.join(folder, "sessions")
    for path in (folder, sessions):
        if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            remedy = f"give yourself access: chmod u+rwx {path}"
            return Finding("agent folder", "trouble", f"you may not read and write {path}", remedy)
    return Finding("agent folder", "ok", folder)


def _state_folder(place: Place) -> Finding:
    try:
        found = os.lstat(place.folder)
    except FileNotFoundError:
        return Finding("state folder", "ok", f"{place.folder} is made at the first start")
    mode = stat.S_IMODE(found.st_mode)
    message = f"{place.folder}, mode {mode:04o}"
    if not os.access(place.folder, os.R_OK | os.W_OK | os.X_OK):
        remedy = f"give yourself access: chmod 700 {place.folder}"
        return Finding("state folder", "trouble", message, remedy)
    if mode & 0o077:
        remedy = f"nobody else needs to see it: chmod 700 {place.folder}"
        return Finding("state folder", "note", message, remedy)
    return Finding("state folder", "ok", message)


def _address(place: Place) -> Finding:
    from pisessiond.client.address import socket_path
    from pisessiond.client.errors import NoDaemon

    try:
        path = socket_path(place)
    except NoDaemon as error:
        return Finding("address", "trouble", str(error), f"see {place.address_file}")
    if os.path.lexists(path) and not stat.S_ISSOCK(os.lstat(path).st_mode):
        remedy = "move it away"
        return Finding("address", "trouble", f"{path} is there and is no socket", remedy)
    if path == place.own_socket:
        return Finding("address", "ok", path)
    return Finding("address", "note", f"{path}, named in {place.address_file}")


def _takes_sockets(place: Place) -> Iterator[Finding]:
    from pisessiond.client.address import socket_path

    folder = os.path.dirname(socket_path(place))
    path = os.path.join(folder, f"try.{os.getpid()}")
    probe = socket.socket(socket.AF_UNIX)
    try:
        probe.bind(path)
    except OSError as error:
        remedy = (
            f"write the full path of a socket in a private local folder to {place.address_file}"
        )
        yield Finding("file system", "trouble", f"{folder}: {error.strerror}", remedy)
    else:
        os.unlink(path)
        yield Finding("file system", "ok", f"{folder} takes sockets")
    finally:
        probe.close()


def _daemon(place: Place) -> Iterator[Finding]:
    from pisessiond.client.address import socket_path
    from pisessiond.client.errors import NoDaemon
    from pisessiond.client.starting import is_alive, read_record, try_connect
    from pisessiond.client.stopping import is_held

    record = read_record(place)
    pid = record.get("pid")
    who = f"process {pid}" if pid is not None else "a process without a record"
    try:
        connection = try_connect(socket_path(place))
    except NoDaemon as error:
        yield Finding("daemon", "trouble", str(error), "move away what is at the socket's path")
        return
    held = is_held(place)
    if connection is not None:
        yield from _status(connection, who)
        if not held:
            yield Finding(
                "locks", "note", "something answers at the address without holding the life lock",
                "a service manager's socket does; else end that process",
            )  # fmt: skip
        else:
            yield Finding("locks", "ok", f"held by {who}")
    elif held:
        remedy = f"wait a second; if it was stopped, continue it: kill -CONT {pid}"
        yield Finding("daemon", "trouble", f"{who} lives and does not listen", remedy)
    else:
        yield Finding("daemon", "ok", "none is running; the next command starts one")
        if isinstance(pid, int) and record.get("host") == os.uname().nodename and is_alive(pid):
            message = f"a record names process {pid}, which is another program by now"
            yield Finding("record", "ok", f"{message}; it stands in nobody's way")
    if record.get("host") not in (None, os.uname().nodename):
        remedy = "give each machine a state folder of its own with PISESSIOND_HOME"
        state: State = "trouble" if held and connection is None else "note"
        yield Finding("record", state, f"written on the machine {record['host']}", remedy)


def _status(connection: socket.socket, who: str) -> Iterator[Finding]:
    from pisessiond.client.blocking_connection import BlockingConnection
    from pisessiond.client.errors import ClientError
    from pisessiond.protocol.build import current_build

    asked = BlockingConnection(connection)
    began = time.monotonic()
    try:
        status = asked.call("daemon/status", timeout=ANSWER_SECONDS)
    except (TimeoutError, ClientError) as error:
        why = "no answer" if isinstance(error, TimeoutError) else str(error)
        remedy = f"if {who} was stopped, continue it (kill -CONT); else end it (kill -KILL)"
        yield Finding("daemon", "trouble", f"{who} does not answer: {why}", remedy)
        return
    finally:
        asked.close()
    took = (time.monotonic() - began) * 1000
    message = f"process {status['pid']}, build {status['version']}, answered in {took:.0f} ms"
    if status["version"] != current_build():
        remedy = "it is replaced when its clients are gone; or now: pisessiond stop"
        yield Finding("daemon", "note", f"{message}; this is {current_build()}", remedy)
    else:
        yield Finding("daemon", "ok", message)
    yield connected_pis(status.get("pis", []))


def connected_pis(pis: list[dict[str, Any]]) -> Finding:
    """Which running pi a daemon sees, by what its status says of them."""
    from pisessiond.cli.plain_text import clean_line

    if not pis:
        return Finding("running pi", "ok", "none is connected")
    shown = [
        f"process {one['pid']} (pi {clean_line(one['version'])}, {one['state']}"
        f"{'' if one['drives'] else ', only watched'})"
        for one in pis
    ]
    return Finding("running pi", "ok", f"connected: {', '.join(shown)}")


def _log(place: Place) -> Iterator[Finding]:
    try:
        found = os.stat(place.log)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Finding("log", "trouble", f"{place.log}: {error.strerror}", "see its mode and owner")
        return
    if not os.access(place.log, os.W_OK):
        remedy = f"move it away or give yourself access: chmod 600 {place.log}"
        yield Finding("log", "trouble", f"{place.log} cannot be written", remedy)
    elif found.st_mode & 0o077:
        remedy = f"chmod 600 {place.log}"
        yield Finding("log", "note", f"others can read {place.log}", remedy)
    else:
        yield Finding("log", "ok", f"{place.log}, {found.st_size:,} bytes")


def _disk(what: str, folder: str) -> Finding:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    space = os.statvfs(folder)
    free = space.f_bavail * space.f_frsize
    message = f"{free / 1e9:.1f} GB free for {what} ({folder})"
    if not space.f_favail and space.f_files:
        return Finding("disk", "trouble", f"no inode is free in {folder}", "remove files there")
    if free < FREE_BYTES:
        return Finding("disk", "trouble", message, "make room: appends would be refused")
    return Finding("disk", "ok", message)


def _network(place: Place) -> Finding:
    kind = _file_system(place.folder)
    if kind in NETWORK_FILE_SYSTEMS:
        remedy = "set PISESSIOND_HOME to a local folder if several machines share it"
        return Finding("file system", "note", f"the state folder is on {kind}", remedy)
    return Finding("file system", "ok", f"the state folder is on {kind or 'a local disk'}")


def _file_system(folder: str) -> str | None:
    """The kind of file system a folder is on; None where the system does not say."""
    folder = os.path.realpath(folder)
    best, kind = "", None
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, point, name, *_ = line.split(" ")
                point = point.replace("\\040", " ")
                inside = folder == point or folder.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, name
    except (OSError, ValueError):
        return None
    return kind


def _limits() -> Iterator[Finding]:
    import resource

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < 512:
        remedy = "raise it: ulimit -n 4096"
        yield Finding("open files", "note", f"at most {files} (hard limit {most})", remedy)
    else:
        yield Finding("open files", "ok", f"at most {files}")
    for name, least in (("max_user_watches", WATCHES), ("max_user_instances", 16)):
        try:
            with open(f"/proc/sys/fs/inotify/{name}", encoding="ascii") as file:
                number = int(file.read())
        except (OSError, ValueError):
            continue
        if number < least:
            remedy = f"as root: sysctl fs.inotify.{name}={least * 8}"
            yield Finding("inotify", "note", f"{name} is {number}", remedy)
        else:
            yield Finding("inotify", "ok", f"{name} is {number:,}")
    if not os.access(tempfile.gettempdir(), os.W_OK):
        yield Finding("temporary folder", "note", f"{tempfile.gettempdir()} cannot be written")

"""Where the one daemon of a user and an agent dir is found. It starts nothing.

The address follows from the home in the password database and a hash of the agent dir, so that
programs with different `HOME`, `TMPDIR` or XDG variables meet at the same daemon. Two variables
count: `PI_CODING_AGENT_DIR`, pi's own, and `PISESSIOND_HOME`, which replaces the folder below
which all state is kept (tests use it).

Everything here is cheap to import: `pisessiond attach` has 80 ms from start to the first byte.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
from typing import NamedTuple

from pisessiond.client.errors import NoDaemon, Unsafe

MAX_SOCKET_PATH = 103
"""Bytes: 104 with its end on macOS, 108 on Linux; the smaller, so that a path works on both."""

_ADDRESS_BYTES = 4096


class Place(NamedTuple):
    """The state folder of one daemon, and what lies in it."""

    folder: str
    """Private to the user: locks, log, record, socket."""
    agent_dir: str
    """The agent dir it is for, as a real path."""

    @property
    def own_socket(self) -> str:
        """Where the socket is, unless `address` says otherwise."""
        return f"{self.folder}/socket"

    @property
    def address_file(self) -> str:
        """Names the socket where the file system of the folder takes none."""
        return f"{self.folder}/address"

    @property
    def start_lock(self) -> str:
        """Held by whoever starts or ends the daemon; never unlinked."""
        return f"{self.folder}/start.lock"

    @property
    def life_lock(self) -> str:
        """Held by the daemon until it exits; never unlinked."""
        return f"{self.folder}/life.lock"

    @property
    def record(self) -> str:
        """What the daemon says of itself: labels for people, never a proof that it lives."""
        return f"{self.folder}/daemon.json"

    @property
    def log(self) -> str:
        """The log of a daemon that was started by a client."""
        return f"{self.folder}/log"

    @property
    def recovery(self) -> str:
        """The folder of what sessions hold that are not on disk yet."""
        return f"{self.folder}/recovery"

    @property
    def token(self) -> str:
        """What a client on TCP has to show."""
        return f"{self.folder}/token"


def home_folder() -> str:
    """The home in the password database.

    Raises:
        NoDaemon: The user is not in it.
    """
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        # A container run under a number that nobody has entered.
        raise NoDaemon(
            f"user {os.getuid()} is not in the password database, so there is no home to find the "
            "daemon by; enter the user, or set PISESSIOND_HOME and PI_CODING_AGENT_DIR"
        ) from None


def agent_folder(given: str | None = None) -> str:
    """Pi's agent dir as a real path: the given one, else pi's own choice."""
    chosen = given or os.environ.get("PI_CODING_AGENT_DIR")
    if not chosen:
        chosen = f"{home_folder()}/.pi/agent"
    elif chosen == "~" or chosen.startswith("~/"):
        chosen = home_folder() + chosen[1:]
    return os.path.realpath(chosen)


def state_root() -> str:
    """The folder that holds a state folder for each agent dir."""
    root = os.environ.get("PISESSIOND_HOME")
    return os.path.abspath(root) if root else f"{home_folder()}/.local/state/pisessiond"


def cache_folder(place: Place) -> str:
    """The folder for what can be made anew at any time, of the agent dir of a place."""
    name = os.path.basename(place.folder)
    root = os.environ.get("PISESSIOND_HOME")
    if root:
        return f"{os.path.abspath(root)}/cache/{name}"
    return f"{home_folder()}/.cache/pisessiond/{name}"


def config_file() -> str:
    """The file of our own settings, which need not be there."""
    root = os.environ.get("PISESSIOND_HOME")
    if root:
        return f"{os.path.abspath(root)}/config.toml"
    return f"{home_folder()}/.config/pisessiond/config.toml"


def find_place(agent_dir: str | None = None) -> Place:
    """The state folder for an agent dir, pi's own choice when None. Nothing is made."""
    from hashlib import sha256

    agent_dir = agent_folder(agent_dir)
    name = sha256(os.fsencode(agent_dir)).hexdigest()[:12]
    return Place(f"{state_root()}/{name}", agent_dir)


def socket_path(place: Place) -> str:
    """The socket of a state folder.

    Raises:
        NoDaemon: The path is too long for a socket.
        Unsafe: The address file names a place that others may write to.
    """
    path = _read_address(place) or place.own_socket
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise NoDaemon(
            f"the socket's path {path} is over {MAX_SOCKET_PATH} bytes long; write a shorter one "
            f"into {place.address_file}"
        )
    return path


def _read_address(place: Place) -> str | None:
    try:
        with open(place.address_file, "rb") as file:
            path = os.fsdecode(file.read(_ADDRESS_BYTES)).strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NoDaemon(f"{place.address_file} cannot be read: {error.strerror}") from error
    if not os.path.isabs(path) or "\0" in path or "\n" in path:
        raise NoDaemon(f"{place.address_file} does not name a socket by its full path; remove it")
    fault = folder_fault(os.path.dirname(path))
    if fault is not None and not isinstance(fault, FileNotFoundError):
        raise Unsafe(f"{place.address_file} names a place that will not do: {fault}")
    return path


def folder_fault(path: str) -> OSError | str | None:
    """Why a folder may not hold our state: a sentence, or what looking at it raised."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return error
    if stat.S_ISLNK(found.st_mode):
        return f"{path} is a symbolic link; put a folder there"
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is no folder; move it away"
    if found.st_uid != os.getuid():
        return f"{path} belongs to user {found.st_uid}, not to you; move it away"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write into {path}; look at what is in it, then: chmod 700 {path}"
    return None


def check_place(place: Place) -> None:
    """Looks whether the state folder, as far as it is there, is private.

    Raises:
        Unsafe: It, or the folder above, is a link, is someone else's, or is open to others.
        NoDaemon: It cannot be looked at.
    """
    for folder in (os.path.dirname(place.folder), place.folder):
        fault = folder_fault(folder)
        if isinstance(fault, FileNotFoundError):
            return
        if isinstance(fault, OSError):
            raise NoDaemon(_unusable(folder, fault))
        if fault is not None:
            raise Unsafe(f"the state folder is not safe: {fault}")


def make_place(place: Place) -> None:
    """Makes the state folder where it is missing: for its user alone, under any umask.

    Raises:
        Unsafe: As `check_place`.
        NoDaemon: It cannot be made, or not be written to.
    """
    _make(place.folder)
    check_place(place)
    if not os.access(place.folder, os.W_OK | os.X_OK):
        raise NoDaemon(_unusable(place.folder, PermissionError(errno.EACCES, "Permission denied")))


def make_claims_folder() -> str:
    """The folder in which all processes of a user say which session files they write to.

    Raises:
        NoDaemon: It, or the folder above, will not do.
    """
    folder = f"{state_root()}/claims"
    make_place(Place(folder, ""))
    return folder


def _make(folder: str) -> None:
    try:
        _make_private(folder)
    except OSError as error:
        raise NoDaemon(_unusable(folder, error)) from error


def _make_private(folder: str) -> None:
    if not os.path.isdir(folder):
        _make_private(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            return
        # A umask may have taken bits that the owner needs.
        os.chmod(folder, 0o700)


def _unusable(folder: str, error: OSError) -> str:
    what = {
        errno.ENOSPC: "the disk is full",
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "you may not write there",
        errno.ENOTDIR: "a part of the path is no folder",
    }.get(error.errno or 0, error.strerror or str(error))
    where = error.filename if isinstance(error.filename, str) else folder
    also = "" if where == folder else f" ({where})"
    return f"the state folder {folder} cannot be used{also}: {what}"

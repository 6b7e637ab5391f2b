"""`pisessiond attach`: carries bytes between standard input and output and the daemon.

An editor that can only run a command, or `ssh host pisessiond attach`, speaks to the shared daemon
through it. It looks at no byte, and starts in some tens of milliseconds: it imports neither click
nor anything of the server.

Exit status: 0 when either side has ended, 2 when there is no daemon and none could be started,
130 after Ctrl-C.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

from pisessiond.client.errors import NoDaemon
from pisessiond.client.starting import reach_daemon, try_connect

USAGE = """\
Usage: pisessiond attach [--socket PATH]

  Connect standard input and output to the daemon, which is started if need be.

Options:
  --socket PATH  The daemon's socket, instead of the one address.  [env: PISESSIOND_SOCKET]
  -h, --help     Show this message and exit.

Examples:
  pisessiond attach
  ssh host pisessiond attach
  docker exec -i box pisessiond attach
"""

_CHUNK = 256 * 1024


def attach(arguments: list[str]) -> int:
    """Runs the bridge until either side ends; the exit status."""
    path = os.environ.get("PISESSIOND_SOCKET")
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if option in ("-h", "--help"):
            sys.stdout.write(USAGE)
            return 0
        name, has_value, value = option.partition("=")
        if name != "--socket" or not (has_value or rest):
            sys.stderr.write(f"pisessiond: attach does not take {option}\n\n{USAGE}")
            return 2
        path = value if has_value else rest.pop(0)
    try:
        connection = _reach(path)
    except NoDaemon as error:
        sys.stderr.write(f"pisessiond: {error}\n")
        return 2
    try:
        _carry(connection)
    except KeyboardInterrupt:
        return 130
    return 0


def _reach(path: str | None) -> socket.socket:
    if not path:
        return reach_daemon()
    connection = try_connect(path)
    if connection is None:
        raise NoDaemon(
            f"no daemon listens on {path}; start one with: pisessiond serve --socket {path}"
        )
    return connection


def _carry(connection: socket.socket) -> None:
    # Two threads that block: a full pipe on one side must not hold up the other direction.
    # Reading from a terminal or a pipe cannot be broken off, hence a daemon thread, which the end
    # of the process takes with it.
    threading.Thread(target=_send, args=(connection,), daemon=True).start()
    try:
        while data := connection.recv(_CHUNK):
            _write_all(data)
    except OSError:
        pass  # Either side is gone, which is how most connections end.


def _send(connection: socket.socket) -> None:
    try:
        while data := os.read(0, _CHUNK):
            connection.sendall(data)
    except OSError:
        pass
    try:
        # Answers still come; the daemon closes when the last one is out.
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def _write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]

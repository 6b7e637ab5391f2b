"""Draws a session's tree, then what changes in it at each notification: `… SOCKET SESSION`.

What is appended comes as rows; after a move the levels that the notification names are asked for
again, and nothing else. It ends when the session is renamed to "done", and fails if a revision was
missing.
"""

import sys
from difflib import ndiff

from pisessiond.cli.change_view import update_lines
from pisessiond.cli.row_view import RowView
from pisessiond.client.blocking import connect
from pisessiond.client.blocking_session import BlockingSession
from pisessiond.client.errors import RpcFailure
from pisessiond.client.row_mirror import RowMirror

VIEW = RowView(width=76)


def draw(mirror: RowMirror) -> list[str]:
    return list(VIEW.draw(mirror.rows(), mirror.opened))


def ask(session: BlockingSession, mirror: RowMirror, level: str | None) -> None:
    """Takes in a level, if it is still there."""
    try:
        mirror.hold(level, session.whole_level(level)["rows"])
    except RpcFailure as failure:
        if level is None or failure.kind != "InvalidParams":
            raise
        mirror.close(level)


def main(socket: str, file: str) -> int:
    with connect(socket, name="watcher") as client:
        session = client.open(path=file, rows="default")
        mirror = RowMirror()
        ask(session, mirror, None)
        for row in mirror.rows():
            if row["kind"] == "alternative":
                ask(session, mirror, row["id"])
        tree = draw(mirror)
        say([f"  {line}" for line in tree], session.opened["rev"])
        rev = session.opened["rev"]
        for update in session.changes(timeout=30):
            if update.snapshot is not None:
                return 1
            for level in mirror.apply(update):
                ask(session, mirror, level)
            before, tree = tree, draw(mirror)
            changed = [line for line in ndiff(before, tree) if line[0] in "+-"]
            is_done = any(change.get("name") == "done" for change in update.changes)
            drawn = [f"  {line}" for line in tree] if is_done else changed
            if update.rev > rev:
                say([*update_lines(update, VIEW), *drawn], update.rev)
            rev = update.rev
            if is_done:
                return 0
    return 1


def say(lines: list[str], rev: int) -> None:
    print(*lines, f"-- rev {rev}", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

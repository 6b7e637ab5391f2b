"""Draws a session's tree anew at each change it is told of: `watch_tree.py SOCKET SESSION`.

Nothing is asked between changes: the tree grows from the nodes in the notifications alone. It ends
when the session is renamed to "done", and fails if a revision was missing.
"""

import sys
from collections.abc import Iterable

from pisessiond.cli.change_view import update_lines
from pisessiond.cli.tree_view import TreeView
from pisessiond.client.blocking import connect
from pisessiond.client.mirror import Mirror

WIDTH = 78


def main(socket: str, file: str) -> int:
    with connect(socket, name="watcher") as client:
        session = client.open(path=file)
        mirror = Mirror(session.whole_tree()["nodes"], session.leaf, session.context_size)
        say(TreeView(WIDTH).draw(mirror.nodes, mirror.size), session.opened["rev"])
        for update in session.changes(timeout=30):
            if not mirror.apply(update):
                return 1
            tree = TreeView(WIDTH).draw(mirror.nodes, mirror.size)
            say([*update_lines(update, WIDTH), *tree], update.rev)
            if any(change.get("name") == "done" for change in update.changes):
                return 0
    return 1


def say(lines: Iterable[str], rev: int) -> None:
    print(*lines, f"-- rev {rev}", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

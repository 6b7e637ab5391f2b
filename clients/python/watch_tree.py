"""Draws a session's tree, then what changes in it at each notification: `… SOCKET SESSION`.

Nothing is asked between changes: the tree grows from the nodes in the notifications alone. It ends
when the session is renamed to "done", and fails if a revision was missing.
"""

import sys
from difflib import ndiff

from pisessiond.cli.change_view import update_lines
from pisessiond.cli.tree_view import TreeView
from pisessiond.client.answers import Node
from pisessiond.client.blocking import connect
from pisessiond.client.mirror import Mirror

VIEW = TreeView(width=76)


def is_shown(node: Node) -> bool:
    return node["type"] == "compaction" or node.get("role") in {"user", "assistant"}


def draw(mirror: Mirror) -> list[str]:
    return list(VIEW.draw(mirror.shown(is_shown), mirror.size))


def main(socket: str, file: str) -> int:
    with connect(socket, name="watcher") as client:
        session = client.open(path=file)
        mirror = Mirror(session.whole_tree()["nodes"], session.leaf, session.context_size)
        tree = draw(mirror)
        say([f"  {line}" for line in tree], session.opened["rev"])
        for update in session.changes(timeout=30):
            if not mirror.apply(update):
                return 1
            before, tree = tree, draw(mirror)
            changed = [line for line in ndiff(before, tree) if line[0] in "+-"]
            is_done = any(change.get("name") == "done" for change in update.changes)
            drawn = [f"  {line}" for line in tree] if is_done else changed
            say([*update_lines(update, VIEW.width), *drawn], update.rev)
            if is_done:
                return 0
    return 1


def say(lines: list[str], rev: int) -> None:
    print(*lines, f"-- rev {rev}", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Begins a new session before the entry that has a label: `fork_at_label.py SOCKET SESSION LABEL`.

The text of the message it forks before is printed, to be changed and sent again.
"""

import sys

from pisessiond.client.blocking import connect


def main(socket: str, file: str, label: str) -> int:
    with connect(socket, name="fork_at_label") as client:
        session = client.open(path=file)
        nodes = session.whole_tree(filter="labeled-only")["nodes"]
        found = [node for node in nodes if node.get("label") == label]
        if not found:
            print(f"nothing is labelled {label}")
            return 1
        fork = session.fork(found[0]["id"], position="before")
        print(fork["path"])
        print(fork.get("editorText"))
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

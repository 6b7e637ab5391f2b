"""Compacts a session with a summary of our own, no model asked: `… SOCKET SESSION`."""

import sys

from pisessiond.client.blocking import connect
from pisessiond.client.errors import RpcFailure


def main(socket: str, file: str) -> int:
    with connect(socket, name="compact_with_own_summary") as client:
        session = client.open(path=file)
        try:
            preview = session.compact(dry_run=True).get("preview")
        except RpcFailure as failure:
            print(f"not compacted: {failure.message}")
            return 1
        assert preview is not None
        gone = set(preview["summarised"] + preview["turnPrefix"])
        nodes = session.whole_tree()["nodes"]
        asked = [
            node["preview"] for node in nodes if node["id"] in gone and node.get("role") == "user"
        ]
        summary = "## Goal\nAsked so far:\n" + "\n".join(f"- {text}" for text in asked)
        session.compact(summary=summary, base_leaf=session.leaf)
        print(f"{len(gone)} entries summarised, {preview['tokensBefore']} tokens before")
        print(f"the context has {session.size()['tokens']} tokens now")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

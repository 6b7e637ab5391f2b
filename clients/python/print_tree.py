"""Prints a session's active branch and how many ways leave it: `print_tree.py SOCKET SESSION`."""

import sys

from pisessiond.client.blocking import connect


def main(socket: str, file: str) -> None:
    with connect(socket, name="print_tree") as client:
        session = client.open(path=file)
        nodes = session.whole_tree(filter="default")["nodes"]
        for node in nodes:
            if "active" in node["flags"]:
                label = f"[{node['label']}] " if node.get("label") else ""
                size = node["contextSize"]["tokens"] if node["contextSize"] else "?"
                ways = f"  ({node['children']} ways)" if node["children"] > 1 else ""
                print(f"{node['id']}  {size:>7}  {label}{node['preview']}{ways}")


if __name__ == "__main__":
    main(*sys.argv[1:])

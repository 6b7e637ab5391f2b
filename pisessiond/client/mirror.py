"""A session's tree as a client holds it, kept in step by updates. It asks for nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pisessiond.client.answers import ContextSize, EntryId, Node
from pisessiond.client.update import Update

_KNOWN = {"append", "navigate", "compact", "fork", "label", "rename", "save", "problem"}
"""Kinds whose nodes say all there is. After an edit the sizes behind it are others too."""


class Mirror:
    """The nodes of one session by id, in the order they came, and where it stands."""

    def __init__(
        self, nodes: Iterable[Node], leaf: EntryId | None, size: ContextSize | None
    ) -> None:
        self._nodes = {node["id"]: node for node in nodes}
        self.leaf = leaf
        self.size = size
        self._mark_active()

    @property
    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    def shown(self, is_shown: Callable[[Node], bool]) -> list[Node]:
        """Some of the nodes, each hung under its nearest ancestor among them."""
        found: list[Node] = []
        for node in self._nodes.values():
            if is_shown(node):
                above = self._nodes.get(node["parent"]) if node["parent"] is not None else None
                while above is not None and not is_shown(above):
                    up = above["parent"]
                    above = self._nodes.get(up) if up is not None else None
                parent = above["id"] if above is not None else None
                found.append({**node, "parent": parent, "visibleParent": parent})
        return found

    def apply(self, update: Update) -> bool:
        """Takes an update in; says whether that was enough, else the tree is to be fetched anew.

        Nodes are upserts by id: what an update does not name stays as it was.
        """
        if update.progress is not None or update.presence is not None:
            return True
        for change in update.changes:
            for node in change.get("nodes", ()):
                known = self._nodes.setdefault(node["id"], node)
                known.update(node)
            target = self._nodes.get(change.get("target", ""))
            if change["kind"] == "label" and target is not None:
                target["label"] = change.get("label")
        self.leaf, self.size = update.leaf, update.context_size
        self._mark_active()
        kinds = {change["kind"] for change in update.changes} - {"rows"}
        if update.snapshot is not None or not kinds <= _KNOWN:
            return False
        # Without changes it says that all sizes are known now, those that were missing here too.
        return bool(kinds) or all(node["contextSize"] for node in self._nodes.values())

    def _mark_active(self) -> None:
        # A move changes the branch of many nodes; all follows from the leaf, so none is sent.
        active = set()
        at = self.leaf
        while at is not None and at in self._nodes and at not in active:
            active.add(at)
            at = self._nodes[at]["parent"]
        for name, node in self._nodes.items():
            flags = [flag for flag in node["flags"] if flag not in {"active", "leaf"}]
            flags += ["active"] * (name in active) + ["leaf"] * (name == self.leaf)
            node["flags"] = flags

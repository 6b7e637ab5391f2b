from __future__ import annotations

from typing import Any

from pisessiond.client.mirror import Mirror
from pisessiond.client.update import Update
from tests.cli.samples import OPENED, SIZE, node

TREE = "u1 - user: one", "a1 u1 assistant: two", "u2 a1 user: three", "u3 a1 user: four"


def mirror(leaf: str | None = "u2") -> Mirror:
    return Mirror([node(drawn, size=1000) for drawn in TREE], leaf, SIZE)


def update(leaf: str | None, *changes: dict[str, Any]) -> Update:
    return Update(2, changes, leaf, SIZE)


def active(held: Mirror) -> set[Any]:
    return {node["id"] for node in held.nodes if "active" in node["flags"]}


def test_the_active_branch_follows_from_the_leaf_alone() -> None:
    held = mirror()
    assert active(held) == {"u1", "a1", "u2"}
    assert held.apply(update("u3", {"kind": "navigate", "from": "u2", "to": "u3"}))
    assert active(held) == {"u1", "a1", "u3"}
    assert held.apply(update(None, {"kind": "navigate", "from": "u3", "to": None}))
    assert active(held) == set()


def test_nodes_are_upserts_and_applying_them_twice_changes_nothing() -> None:
    held, other = mirror(), mirror()
    change = {"kind": "append", "nodes": [node("a2 u2 assistant: five", size=1000)]}
    assert held.apply(update("a2", change))
    assert other.apply(update("a2", change))
    assert other.apply(update("a2", change))
    assert held.nodes == other.nodes
    assert [one["id"] for one in held.nodes] == ["u1", "a1", "u2", "u3", "a2"]


def test_a_label_lands_on_its_target_and_clears() -> None:
    held = mirror()
    held.apply(update("u2", {"kind": "label", "target": "u3", "label": "green"}))
    assert held.nodes[3].get("label") == "green"
    held.apply(update("u2", {"kind": "label", "target": "u3", "label": None}))
    assert held.nodes[3].get("label") is None
    assert held.apply(update("u2", {"kind": "label", "target": "gone", "label": "x"}))


def test_what_it_cannot_know_has_to_be_fetched() -> None:
    assert not mirror().apply(update("u2", {"kind": "somethingNew"}))
    assert not mirror().apply(update("u2", {"kind": "edit", "target": "u1"}))
    assert not mirror().apply(Update.of_opening(OPENED))
    assert mirror().apply(update("u2"))
    uncounted = Mirror([node("u1 - user: one")], "u1", None)
    assert not uncounted.apply(update("u1"))


def test_some_nodes_hang_under_their_nearest_ancestor_that_is_shown() -> None:
    shown = mirror().shown(lambda node: node.get("role") == "user")
    assert [(one["id"], one["parent"]) for one in shown] == [
        ("u1", None),
        ("u2", "u1"),
        ("u3", "u1"),
    ]


def test_a_cycle_does_not_hang_it() -> None:
    held = Mirror([node("a b user: x"), node("b a user: y")], "a", None)
    assert active(held) == {"a", "b"}


def test_how_far_an_operation_is_changes_nothing_and_asks_for_nothing() -> None:
    held = Mirror([node(drawn) for drawn in TREE], "u2", SIZE)
    told: Any = {"operation": "compact", "state": "begin"}
    before = held.nodes
    assert held.apply(Update(2, (), "u2", SIZE, progress=told))
    assert held.nodes == before
    # Without it such an update says that sizes are known, which they are not here.
    assert not held.apply(Update(2, (), "u2", SIZE))

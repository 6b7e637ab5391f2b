"""Rows as a client holds them: levels, upserts, what is gone, what is to be asked for again."""

from typing import Any

from pisessiond.client.answers import Row
from pisessiond.client.row_mirror import RowMirror
from pisessiond.client.update import Update
from tests.cli import samples


def _row(row_id: str, after: str | None = None, level: str | None = None, **more: Any) -> Row:
    return samples.row(f"{row_id} user", id=row_id, after=after, level=level, **more)


def _mirror() -> RowMirror:
    """`a`, a branch `b` with `b1` and work `w` (with `w1`) in it, and `here`."""
    mirror = RowMirror()
    mirror.hold(None, [_row("a"), _row("b", "a"), _row("here", "b")])
    mirror.hold("b", [_row("b1", level="b"), _row("w", "b1", "b")])
    mirror.hold("w", [_row("w1", level="w")])
    return mirror


def _update(*upsert: Row, gone: Any = (), stale: Any = (), rev: int = 2) -> Update:
    change = {"kind": "rows", "upsert": list(upsert), "gone": list(gone), "stale": list(stale)}
    return Update(rev, ({"kind": "append"}, change), "a", None)


def _drawn(mirror: RowMirror) -> list[str]:
    return [row["id"] for row in mirror.rows()]


def test_what_is_open_follows_its_row() -> None:
    assert _drawn(_mirror()) == ["a", "b", "b1", "w", "w1", "here"]
    assert _mirror().opened == {"b", "w"}


def test_an_upsert_stands_behind_its_row_and_twice_is_once() -> None:
    mirror = _mirror()
    update = _update(_row("c", "b"), _row("here", "c"), _row("w2", "w1", "w"))
    for _ in range(2):
        assert mirror.apply(update) == []
        assert _drawn(mirror) == ["a", "b", "b1", "w", "w1", "w2", "c", "here"]
    assert mirror.apply(_update(_row("first"), _row("c", "b", title="new"))) == []
    assert _drawn(mirror)[0] == "first"
    assert [row["title"] for row in mirror.rows() if row["id"] == "c"] == ["new"]


def test_a_row_may_change_its_level() -> None:
    mirror = _mirror()
    mirror.apply(_update(_row("a", "w1", "w"), _row("b1", "x", "not-drawn")))
    assert _drawn(mirror) == ["b", "w", "w1", "a", "here"]


def test_what_is_gone_takes_its_inside_along() -> None:
    mirror = _mirror()
    assert mirror.apply(_update(gone=["b", "unknown"])) == []
    assert _drawn(mirror) == ["a", "here"]
    assert mirror.opened == set()


def test_stale_levels_are_named_with_what_is_open_in_them_outer_ones_first() -> None:
    mirror = _mirror()
    assert mirror.apply(_update(stale=["w"])) == ["w"]
    assert mirror.apply(_update(stale=["w", "b", "not-drawn"])) == ["b", "w"]
    assert mirror.apply(_update(stale=[None])) == [None, "b", "w"]


def test_a_row_behind_an_unknown_one_makes_its_level_stale() -> None:
    assert _mirror().apply(_update(_row("c", "unknown"))) == [None, "b", "w"]


def test_a_snapshot_makes_everything_stale_and_progress_nothing() -> None:
    mirror = _mirror()
    snapshot: Any = samples.OPENED
    assert mirror.apply(Update(1, (), None, None, snapshot)) == [None, "b", "w"]
    told: Any = samples.PROGRESS
    assert mirror.apply(Update(1, (), None, None, progress=told)) == []


def test_a_level_held_anew_closes_what_is_no_more_on_it() -> None:
    mirror = _mirror()
    mirror.hold(None, [_row("a"), _row("c", "a"), _row("here", "c")])
    assert _drawn(mirror) == ["a", "c", "here"]
    assert mirror.opened == set()


def test_what_is_closed_is_let_go_of_with_its_inside() -> None:
    mirror = _mirror()
    mirror.close("b")
    assert _drawn(mirror) == ["a", "b", "here"]
    assert mirror.opened == set()
    assert mirror.apply(_update(_row("b2", "b1", "b"))) == []
    assert _drawn(mirror) == ["a", "b", "here"]


def test_branches_in_branches_as_deep_as_one_likes_are_drawn() -> None:
    mirror = RowMirror()
    mirror.hold(None, [_row("r0")])
    for depth in range(3_000):
        mirror.hold(f"r{depth}", [_row(f"r{depth + 1}", level=f"r{depth}")])
    assert len(mirror.rows()) == 3_001
    assert mirror.apply(_update(stale=["r0"]))[0] == "r0"
    mirror.close("r0")
    assert len(mirror.rows()) == 1

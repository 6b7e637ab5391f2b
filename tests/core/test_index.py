"""The index and the tree against plain walks, on trees drawn in text.

A drawing has an entry a word, in file order: `b<a` is an entry `b` whose parent is `a`, `a` alone
a root, `b<a@5` one with a time. A line may hold any number of words.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core import kinds
from pisessiond.core.index import NONE, Index, NeedsRebuild, Run
from pisessiond.core.lines import Head
from pisessiond.core.tree import Tree
from tests.support.naive import Word, iso, naive_parents, naive_path, words


def head(word: Word) -> Head:
    return Head(word[0], word[1], kinds.USER, word[2])


def load(drawn: Sequence[Word]) -> Index:
    index = Index()
    for place, word in enumerate(drawn):
        index.load(head(word), place * 10, 9, place + 2)
    index.finish()
    return index


def load_at_once(drawn: Sequence[Word]) -> Index:
    index = Index()
    index.load_run(
        Run(
            ids=[word[0] for word in drawn],
            parent_ids=[word[1] for word in drawn],
            kinds=bytes([kinds.USER]) * len(drawn),
            times=[word[2] for word in drawn],
            at=[place * 10 for place in range(len(drawn))],
            lengths=[9] * len(drawn),
            first_line=2,
        )
    )
    index.finish()
    return index


def check(drawing: str, flaws: str = "") -> Index:
    """The drawing is read as the naive tree reads it, by both ways of loading; its flaws are told.

    `flaws` are words such as `orphan:b`.
    """
    drawn = words(drawing)
    index = check_drawn(drawn)
    told = {(flaw.kind, str(index.ids[flaw.row])) for flaw in index.flaws}
    assert told == {tuple(flaw.split(":")) for flaw in flaws.split()}
    return index


def check_drawn(drawn: list[Word]) -> Index:
    parents, flaws = naive_parents(drawn)
    for build in (load, load_at_once):
        index = build(drawn)
        assert {(flaw.kind, index.ids[flaw.row]) for flaw in index.flaws} == flaws
        check_tree(index, drawn, parents)
    return index


def check_tree(index: Index, drawn: list[Word], parents: dict[str, str | None]) -> None:
    rows = {name: row for row, (name, _, _) in enumerate(drawn)}
    paths = {name: naive_path(name, parents) for name in parents}
    assert index.count == len(parents)
    for name, row in rows.items():
        path = [rows[above] for above in paths[name]]
        assert index.find(name) == row
        assert index.branch(row) == path
        assert index.depth[row] == len(path) - 1
        assert [index.ancestor_at(row, depth) for depth in range(len(path))] == path
    for name, row in rows.items():
        for other, other_row in rows.items():
            assert index.is_ancestor(row, other_row) == (name in paths[other])
            shared = [a for a, b in zip(paths[name], paths[other], strict=False) if a == b]
            expected = rows[shared[-1]] if shared else NONE
            assert index.common_ancestor(row, other_row) == expected
    check_children(index, drawn, rows, parents)


def check_children(
    index: Index, drawn: list[Word], rows: dict[str, int], parents: dict[str, str | None]
) -> None:
    tree = Tree(index)
    times = {name: drawn[row][2] for name, row in rows.items()}
    below: dict[str | None, list[str]] = {name: [] for name in [None, *rows]}
    for name in sorted(rows, key=rows.__getitem__):
        below[parents[name]].append(name)
    assert tree.children(NONE) == [rows[name] for name in below[None]]
    for name, row in rows.items():
        assert index.children_in_file_order(row) == [rows[child] for child in below[name]]
        assert index.child_count(row) == len(below[name])
        by_time = sorted(below[name], key=times.__getitem__)
        assert tree.children(row) == [rows[child] for child in by_time]
    for leaf in [NONE, *rows.values()]:
        check_orders(tree, index, leaf)


def check_orders(tree: Tree, index: Index, leaf: int) -> None:
    """Preorder from anywhere, forwards and backwards, is what recursion would give."""
    path = set(index.branch(leaf))
    expected: list[int] = []

    def walk(rows: list[int]) -> None:
        for row in sorted(rows, key=lambda row: row not in path):
            expected.append(row)
            walk(tree.children(row))

    walk(tree.children(NONE))
    assert list(tree.preorder(leaf)) == expected
    for place, row in enumerate(expected):
        assert list(tree.preorder(leaf, row)) == expected[place + 1 :]
        assert list(tree.before(row, leaf)) == expected[:place][::-1]


# Shapes


def test_a_line_and_a_fork() -> None:
    check("a b<a c<b d<b e<a f<d")


def test_several_roots() -> None:
    check("a b c<a d<b e")


def test_nothing() -> None:
    assert list(Tree(check("")).preorder(NONE)) == []


def test_a_parent_that_comes_after_its_child() -> None:
    check("b<a a c<b d<e e<c")


def test_a_parent_that_never_comes() -> None:
    check("a b<x c<b d<x", "orphan:b orphan:d")


def test_of_a_repeated_id_the_later_one_counts() -> None:
    check("a b<a c<b b d<b", "duplicateId:b")
    check("a a a b<a", "duplicateId:a")
    check("b<a a a<b", "duplicateId:a cycle:b")
    check("x a<x a<y", "duplicateId:a orphan:a")


def test_an_entry_that_is_its_own_parent() -> None:
    check("a<a b<a", "cycle:a")
    check("a a<a", "duplicateId:a cycle:a")


@pytest.mark.parametrize(
    ("drawing", "flaws"),
    [
        ("a<b b<a", "cycle:a"),
        ("x a<c b<a c<b", "cycle:a"),
        ("a<b b<a c<d d<c", "cycle:a cycle:c"),
        ("t<a a<b b<a", "cycle:a"),
        ("u<t t<a a<b b<a v<b w<v", "cycle:a"),
        ("t<a a<b b<a s<c c<d d<c x<s y<t", "cycle:a cycle:c"),
        ("a<c b<a c<b d<d e<d", "cycle:a cycle:d"),
    ],
)
def test_cycles_are_cut_at_their_first_member(drawing: str, flaws: str) -> None:
    check(drawing, flaws)


def test_children_stand_by_time_and_ties_by_the_file() -> None:
    index = check("a b<a@9 c<a@5 d<a@9 e<a@1")
    assert [index.ids[row] for row in Tree(index).children(0)] == list("ecbd")


def test_a_time_that_is_none_keeps_the_files_order() -> None:
    index = load([*words("a c<a@5"), ("b", "a", "no time"), *words("d<a@1")])
    assert [index.ids[row] for row in Tree(index).children(0)] == list("cbd")


DRAWINGS = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"), st.sampled_from([None, *"abcdefghx"]), st.integers(0, 5)
    ),
    max_size=10,
)


@given(drawn=DRAWINGS)
def test_any_lines_make_the_naive_tree(drawn: list[tuple[str, str | None, int]]) -> None:
    check_drawn([(name, parent, iso(second)) for name, parent, second in drawn])


@given(parents=st.lists(st.integers(0, 10**6), max_size=24), cut=st.integers(0, 24))
def test_appending_makes_what_loading_makes(parents: list[int], cut: int) -> None:
    drawn = [
        (str(row), str(number % row) if row and number % 7 else None, iso(number % 5))
        for row, number in enumerate(parents)
    ]
    index = load(drawn[:cut])
    tree = Tree(index)
    for place, word in enumerate(drawn[cut:], len(drawn[:cut])):
        index.append(head(word), place * 10, 9, place + 2)
        list(tree.preorder(index.find(word[0]) or NONE))
    check_tree(index, drawn, naive_parents(drawn)[0])


def test_what_would_change_older_rows_is_refused_and_changes_nothing() -> None:
    drawn = words("a b<a c<late")
    index = load(drawn)
    for word in words("a late b<c"):
        with pytest.raises(NeedsRebuild):
            index.append(head(word), 0, 1, 9)
    assert len(index) == 3
    check_tree(index, drawn, naive_parents(drawn)[0])
    index.append(head(("d", "nowhere", iso(0))), 0, 1, 9)
    assert [(flaw.kind, index.ids[flaw.row]) for flaw in index.flaws] == [
        ("orphan", "c"),
        ("orphan", "d"),
    ]


def test_ids_that_are_numbers_are_ids_and_truth_is_none() -> None:
    index = Index()
    ids: list[Any] = [1, 2.5, "1"]
    for place, entry_id in enumerate(ids):
        index.load(Head(entry_id, ids[place - 1] if place else None, kinds.USER, None), 0, 1, place)
    index.finish()
    assert [index.find(entry_id) for entry_id in [*ids, 1.0, True, [], None]] == [
        *(0, 1, 2, 0),
        *(None, None, None),
    ]
    assert list(index.parent) == [NONE, 0, 1]


@pytest.mark.parametrize("odd", [True, {"a": 1}, [1], 7])
def test_a_parent_that_is_no_id_makes_an_orphan(odd: Any) -> None:
    index = Index()
    index.load(Head("a", odd, kinds.USER, None), 0, 1, 2)
    index.finish()
    assert [flaw.kind for flaw in index.flaws] == ["orphan"]
    index.append(Head("b", odd, kinds.USER, None), 0, 1, 3)
    assert [flaw.kind for flaw in index.flaws] == ["orphan", "orphan"]


# Large ones: what is asked must cost no more than the tree grows


def ratio(work: Callable[[int], object], small: int, large: int) -> float:
    """How much longer the large one takes, the best of some tries."""
    times = {}
    for size in (small, large):
        tries = []
        for _ in range(3):
            start = time.perf_counter()
            work(size)
            tries.append(time.perf_counter() - start)
        times[size] = min(tries)
    return times[large] / times[small]


def chain(size: int) -> list[Word]:
    return [(str(row), str(row - 1) if row else None, iso(0)) for row in range(size)]


def test_a_chain_of_100000_is_loaded_and_walked_in_its_length() -> None:
    def work(size: int) -> None:
        index = load_at_once(chain(size))
        tree = Tree(index)
        last = size - 1
        assert sum(1 for _ in tree.preorder(last)) == size
        assert sum(1 for _ in tree.before(last, last)) == last
        assert len(index.branch(last)) == size
        assert len(tree.chains()[0]) == size
        for _ in range(1000):
            assert index.ancestor_at(last, 1) == 1
            assert index.common_ancestor(last, size // 2) == size // 2

    assert ratio(work, 10_000, 100_000) < 40


def test_a_chain_told_from_its_end_is_no_slower() -> None:
    assert ratio(lambda size: load(chain(size)[::-1]), 10_000, 100_000) < 40


def test_a_large_cycle_with_many_tails() -> None:
    def work(size: int) -> None:
        drawn = [(str(row), str((row + 1) % size), iso(0)) for row in range(size)]
        drawn += [(f"t{row}", str(row), iso(0)) for row in range(size)]
        index = load(drawn)
        assert [(flaw.kind, flaw.row) for flaw in index.flaws] == [("cycle", 0)]
        assert index.depth[1] == size - 1

    assert ratio(work, 2_000, 20_000) < 40


def test_many_cycles() -> None:
    def work(size: int) -> None:
        drawn = [(str(row), str(row ^ 1), iso(0)) for row in range(size)]
        assert len(load(drawn).flaws) == size // 2

    assert ratio(work, 2_000, 20_000) < 40


def test_5000_children_are_walked_in_their_number() -> None:
    def work(size: int) -> None:
        drawn: list[Word] = [("a", None, iso(0))]
        drawn += [(str(row), "a", iso(row % 60)) for row in range(size)]
        index = load(drawn)
        tree = Tree(index)
        assert sum(1 for _ in tree.preorder(size // 2)) == size + 1
        last = list(tree.preorder(size // 2))[-1]
        assert sum(1 for _ in tree.before(last, size // 2)) == size

    assert ratio(work, 500, 5_000) < 60


def test_a_common_ancestor_costs_no_walk() -> None:
    chance = random.Random(7)

    def pairs(size: int) -> tuple[Index, list[tuple[int, int]]]:
        start = size // 4
        drawn = chain(size)
        for row in range(start, size):
            drawn.append((f"s{row}", f"s{row - 1}" if row > start else str(row - 1), iso(0)))
        return load_at_once(drawn), [
            (chance.randrange(len(drawn)), chance.randrange(len(drawn))) for _ in range(2_000)
        ]

    made = {size: pairs(size) for size in (1_000, 100_000)}

    def work(size: int) -> None:
        index, asked = made[size]
        for a, b in asked:
            index.common_ancestor(a, b)

    assert ratio(work, 1_000, 100_000) < 12

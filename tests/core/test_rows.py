"""The tree as people see it: which rows there are, by the rules of the sidebar (UX.md 1, 2)."""

from __future__ import annotations

import textwrap

from pisessiond.core.index import NONE
from pisessiond.core.rows.row import Filter, Row
from tests.support.drawn_rows import Walk, drawing_of, drawn


def rows_of(drawing: str, filter_name: Filter = "default", leaf: str | None = "") -> Walk:
    """Every row of a drawing, standing at its last entry, at another, or before the first."""
    made = drawn(drawing)
    if leaf != "":
        made.move(made.session.row_of(leaf))
    return Walk(made.tree(filter_name), made.known())


def check(
    drawing: str, expected: str, filter_name: Filter = "default", leaf: str | None = ""
) -> None:
    found = drawing_of(rows_of(drawing, filter_name, leaf))
    assert found == textwrap.dedent(expected).strip("\n"), f"\n{found}"


def row(walk: Walk, name: str) -> Row:
    return next(row for row in walk.rows() if row.id == name)


# What is a row


def test_a_conversation_is_a_row_for_each_thing_said() -> None:
    check("u1 a1 b1 n1 S1 f1", "u1\na1\nb1\nn1\nS1\nf1\nhere")


def test_what_comes_between_is_one_work() -> None:
    check(
        "u1 c1 r1 c2 r2:read r3:read a1",
        """
        u1
        w:c1 5
          r1 2
          r2 2
          r3
        a1
        here
        """,
    )


def test_a_single_step_is_not_folded() -> None:
    check("u1 c1 r1 a1", "u1\nr1 2\na1\nhere")
    check("u1 c1", "u1\nc1\nhere")
    check("u1 t1", "u1\nt1\nhere")


def test_what_is_said_before_a_call_is_a_row_inside() -> None:
    check("u1 t1 r1 a1", "u1\nw:t1 2\n  t1\n  r1\na1\nhere")


def test_errors_and_aborts_are_shown_always() -> None:
    walk = rows_of("u1 c1 r1 c2 r2 f1 x1")
    assert drawing_of(walk) == "u1\nw:c1 4\n  r1 2\n  r2 2\nf1\nx1\nhere"
    assert [row(walk, name).outcome for name in ("e:f1", "e:x1")] == ["error", "aborted"]
    assert row(walk, "e:f1").title == "error: overloaded"


def test_what_says_nothing_counts_with_the_row_it_follows() -> None:
    check("s1 m1 u1 .1 k1 a1 h1 l1:u1", "u1 5\na1 3\nhere")
    check("u1 c1 .1 r1 .2 c2 r2 .3", "u1\nw:c1 7\n  r1 4\n  r2 3\nhere")


def test_a_fold_with_a_failure_says_so() -> None:
    walk = rows_of("u1 c1 r1:bash! c2 r2:edit r3:edit a1 b1:!")
    assert drawing_of(walk).splitlines()[1] == "w:c1 5 !1"
    work, shell = row(walk, "w:c1"), row(walk, "e:b1")
    assert (work.outcome, work.failed) == ("failed", 1)
    assert work.counts == (("edit", 2), ("bash", 1))
    assert work.title == "3 steps: edit 2, bash 1"
    assert (shell.outcome, shell.failed) == ("failed", 1)


def test_a_running_turn_is_one_work_that_says_what_it_does() -> None:
    walk = rows_of("u1 c1 r1 c2:pytest")
    work = row(walk, "w:c1")
    assert (work.outcome, work.title) == ("running", "2 steps · pytest go")
    assert row(walk, "e:c2").outcome == "running"
    # What goes on behind it, or nothing that comes, waits no more.
    for drawing in ("u1 c1 r1 c2:pytest u2", "u1 c1 r1 c2 u2<u1"):
        ended = rows_of(drawing, leaf="u2")
        assert all(row.outcome != "running" for row in ended.rows())
    walk = rows_of("u1 c1 r1 c2 u2")
    assert [row(walk, name).outcome for name in ("w:c1", "e:c2")] == ["aborted", "aborted"]


def test_a_step_is_called_after_its_call() -> None:
    walk = rows_of("u1 c1 r1 c2:read r2:read a1")
    assert row(walk, "e:r2").title == "read go"
    assert row(walk, "e:r2").first == "c2"


def test_changes_are_told_with_the_next_answer() -> None:
    walk = rows_of("u1 a1 m1:opus-5 k1:high a2 a3")
    assert row(walk, "e:a2").title == "a2 says ⇄ opus-5 high"
    assert row(walk, "e:a3").title == "a3 says"


def test_work_tells_how_long_it_took() -> None:
    assert row(rows_of("u1 c1 r1 c2 r2 a1"), "w:c1").duration == 3_000


def test_a_label_changes_neither_when_a_message_was_written_nor_how_long_work_took() -> None:
    plain, labelled = rows_of("u1 c1 r1 c2 r2 a1"), rows_of("u1 c1 r1 c2 r2 l1:r2 a1 l2:a1=good")
    assert row(labelled, "w:c1").duration == row(plain, "w:c1").duration
    assert row(rows_of("u1 a1 l1:a1=good"), "e:a1").time == row(rows_of("u1 a1"), "e:a1").time


def test_a_label_is_told_with_its_target_wherever_it_stands() -> None:
    check("u1 c1 r1 a1 l1:a1=good l2:c1=call", "u1\n[call] r1 2\n[good] a1 3\nhere")
    check("u1 a1 l1:a1=good l2:a1", "u1\na1 3\nhere")


def test_what_is_out_of_the_context_is_marked() -> None:
    check("u1 c1 r1 c2 r2 a1 e1:r1 e2:a1", "u1\nw:c1 4\n  r1 2 x\n  r2 2\na1 3 x\nhere")


# Lines and alternatives


def test_an_alternative_stands_closed_under_its_branch_point() -> None:
    check("u1 a1 u2 a2 u3<a1 a3", "u1\na1\nb:u2 2\n  u2\n  a2\nu3\na3\nhere")
    walk = rows_of("u1 a1 u2 a2 u3<a1 a3")
    alternative = row(walk, "b:u2")
    assert (alternative.title, alternative.entry, alternative.fold) == (
        "u2 says · 2",
        "a2",
        "closed",
    )
    assert "active" not in alternative.flags
    assert row(walk, "e:u3").flags == ("active",)


def test_alternatives_of_alternatives_are_inside() -> None:
    check(
        "u1 a1 u2 a2 u3<a1 a3 u4<a2 u5<u2",
        """
        u1
        a1
        b:u3 2
          u3
          a3
        u2
        b:a2 2
          a2
          u4
        u5
        here
        """,
    )


def test_labelled_ones_come_first_then_the_newest() -> None:
    drawing = "u1 u2<u1 u3<u1 u4<u1 u5<u1 l1<u5:u3=good"
    check(drawing, "u1\n[good] b:u3\n  [good] u3\nb:u4\n  u4\nb:u2\n  u2\nu5 2\nhere")


def test_more_than_five_are_one_group() -> None:
    many = "u1 " + " ".join(f"u{number}<u1" for number in range(2, 9))
    lines = drawing_of(rows_of(many)).splitlines()
    assert lines[:4] == ["u1", "g:u1 6", "  b:u7", "    u7"]
    assert lines[-2:] == ["u8", "here"]
    assert row(rows_of(many), "g:u1").title == "6 alternatives"
    five = "u1 " + " ".join(f"u{number}<u1" for number in range(2, 8))
    assert "g:u1" not in drawing_of(rows_of(five))


def test_a_branch_point_inside_work_splits_it() -> None:
    check(
        "u1 c1 r1 c2 r2 u2<r1 c3<r2 r3 c4 r4",
        """
        u1
        r1 2
        b:u2
          u2
        w:c2 6
          r2 2
          r3 2
          r4 2
        here
        """,
    )


def test_a_branch_without_a_row_is_none() -> None:
    check("u1 a1 .1 .2 u2<a1", "u1\na1\nu2\nhere")
    check("u1 c1 r1 .1 c2<r1 r2 a1", "u1\nw:c1 4\n  r1 2\n  r2 2\na1\nhere")
    # Under another filter it has one.
    check("u1 a1 .1 u2<a1", "u1\na1\nb:.1\n  .1 meta\nu2\nhere", "all")


def test_what_says_nothing_behind_alternatives_counts_with_the_row_before_them() -> None:
    check("u1 a1 u2<u1 .1<a1 .2", "u1\nb:u2\n  u2\na1 3\nhere")
    check("u1 u2<u1 .1<u1 .2", "u1 3\nb:u2\n  u2\nhere")


def test_other_roots_stand_above_the_first_row() -> None:
    check("u1 a1 u2< a2", "b:u1 2\n  u1\n  a1\nu2\na2\nhere")
    check("u1 a1<nowhere a2", "b:u1\n  u1\na1 ?\na2\nhere")


# The leaf


def test_the_leaf_is_a_row_and_what_follows_it_is_ahead() -> None:
    drawing = "u1 a1 u2 c1 r1 a2"
    check(drawing, "u1\na1\nhere\nahead 4\n  u2\n  r1 2\n  a2", leaf="a1")
    walk = rows_of(drawing, leaf="a1")
    assert row(walk, "ahead").title == 'ahead: 4 entries, to "a2 says"'
    assert row(walk, "ahead").entry == "a2"
    assert row(walk, "e:u2").flags == ("ahead",)
    assert row(walk, "here").entry == "a1"


def test_the_leaf_inside_work_splits_it() -> None:
    check(
        "u1 c1 r1 c2 r2 c3 r3 c4 r4",
        """
        u1
        w:c1 4
          r1 2
          r2 2
        here
        ahead 4
          w:c3 4
            r3 2
            r4 2
        """,
        leaf="r2",
    )


def test_before_the_first_entry_all_is_ahead() -> None:
    check("u1 a1", "here\nahead 2\n  u1\n  a1", leaf=None)
    check("u1 a1 u2<", "b:u1 2\n  u1\n  a1\nhere\nahead\n  u2", leaf=None)


def test_an_empty_session_says_so() -> None:
    walk = rows_of("")
    assert [row.title for row in walk.rows()] == ["you are here, nothing yet"]
    assert row(walk, "here").entry is None


def test_a_hidden_leaf_stands_under_what_shows() -> None:
    check("u1 a1 .1 .2 u2", "u1\na1 2\nhere\nahead 2\n  u2 2", leaf=".1")


def test_what_leaves_at_the_leaf_stands_behind_what_is_ahead() -> None:
    check("u1 a1 u2<u1 u3<u1", "u1\nhere\nahead\n  u3\nb:u2\n  u2\nb:a1\n  a1", leaf="u1")


def test_the_line_goes_on_the_way_one_last_came() -> None:
    made = drawn("u1 a1 u2 u3<a1 u4<u1 a4")
    made.move(made.session.row_of("u2"))
    made.move(made.session.row_of("u1"))
    walk = Walk(made.tree(), made.known())
    assert drawing_of(walk).splitlines() == [
        "u1",
        "here",
        "ahead 2",
        "  a1",
        "  b:u3",
        "    u3",
        "  u2",
        "b:u4 2",
        "  u4",
        "  a4",
    ]


# What is summarised


def test_what_is_before_the_first_kept_entry_is_one_row() -> None:
    check(
        "u1 a1 u2 a2 C1:u2 u3",
        """
        s:C1 2
          u1
          a1
        u2
        a2
        C1
        u3
        here
        """,
    )
    walk = rows_of("u1 a1 u2 a2 C1:u2 u3")
    assert row(walk, "s:C1").title == "2 entries summarised"
    assert row(walk, "e:u1").flags == ("active", "summarised", "notInContext")
    assert row(walk, "e:C1").title.startswith("Compaction 186k → ~")


def test_only_the_newest_compaction_summarises() -> None:
    check("u1 C1:u1 u2 C2 u3", "s:C2 3\n  u1\n  C1\n  u2\nC2\nu3\nhere")
    check("u1 u2 C1:u2 u3", "u1\nhere\nahead 3\n  u2\n  C1\n  u3", leaf="u1")


def test_work_ends_where_a_compaction_begins_to_keep() -> None:
    check(
        "u1 c1 r1 c2 r2 c3 r3 c4 r4 C1:c3",
        """
        s:C1 5
          u1
          w:c1 4
            r1 2
            r2 2
        w:c3 4
          r3 2
          r4 2
        C1
        here
        """,
    )


def test_branches_inside_the_summarised_part_stay_in_reach() -> None:
    check("u1 a1 u2<u1 a2 C1 u3", "s:C1 3\n  u1\n  b:a1\n    a1\n  u2\n  a2\nC1\nu3\nhere")


def test_an_alternative_has_a_summarised_part_of_its_own() -> None:
    check(
        "u1 a1 u2 a2 C1:a2 u3<u1",
        """
        u1
        b:a1 4
          s:C1 2
            a1
            u2
          a2
          C1
        u3
        here
        """,
    )


# Filters


EVERYTHING = "s1 u1 m1 t1 r1 c2 r2:read a1 n1 h1 b1 S1 l1:a1=good u2 c3 r3 f1"


def test_without_tools_every_text_is_a_row() -> None:
    check(EVERYTHING, "u1 3\nt1 4\n[good] a1\nn1 2\nb1\nS1 2\nu2 3\nf1\nhere", "no-tools")


def test_for_users_there_are_prompts_and_compactions() -> None:
    check(f"{EVERYTHING} C1 u3", "s:C1 17\n  u1 13\n  u2 4\nC1\nu3\nhere", "user-only")


def test_all_is_everything_flat() -> None:
    check(
        EVERYTHING,
        """
        s1 meta
        u1
        m1 meta
        t1
        r1
        r2 2
        [good] a1
        n1
        h1 meta
        b1
        S1
        l1 meta
        u2
        r3 2
        f1
        here
        """,
        "all",
    )


def test_labelled_rows_are_flat_with_compactions_and_here() -> None:
    drawing = "u1 a1 u2 a2 C1:a2 u3<u1 l1:u2=two l2:u1=one a3"
    check(drawing, "[one] u1\n[two] u2\nhere", "labeled-only")
    check(drawing, "[one] u1\n[two] u2\nC1\nhere", "labeled-only", leaf="C1")
    check("u1 c1 r1 l1:c1=call l2:r1=result", "[call] c1\n[result] r1\nhere", "labeled-only")


def test_before_the_first_entry_labels_stand_behind_here() -> None:
    walk = rows_of("u1 l1:u1=one", "labeled-only", leaf=None)
    assert drawing_of(walk) == "here\n[one] u1"
    assert walk.tree.leaf == NONE

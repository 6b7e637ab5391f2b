"""Exports to be read: what they hold, how they look, and that nothing in them acts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.export_page import SCRIPT, STYLE
from pisessiond.core.export_text import clean_block, format_tokens
from pisessiond.core.export_walk import walk_tree
from pisessiond.core.session import Session
from tests.support.exports import (
    HOSTILE,
    OURS,
    Page,
    chain,
    html_of,
    markdown_of,
    sample,
    saying,
    session_of,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "exports"
ATTRIBUTES = frozenset(
    "lang charset http-equiv content name dir class role hidden type aria-label placeholder "
    "aria-live aria-hidden open".split()
)
DRAWN = {
    **dict.fromkeys("width height cx cy r x y".split(), r"\d+"),
    "viewbox": r"0 0 \d+ \d+",
    "d": r"[MLHVQhvz0-9 -]+",
    "href": r"#n\d+",
    "id": r"n\d+",
}
"""Attributes of the graph, and what stands in them: numbers, none of which is a session's."""


def made() -> dict[str, str]:
    """The exports of the sample; what is the same in every page is left out."""
    session = sample()
    pages = {"tree.html": html_of(session), "branch.html": html_of(session, whole=False)}
    found = {
        name: text.replace(STYLE, "…").replace(SCRIPT, "…").split("<body>")[1]
        for name, text in pages.items()
    }
    return {**found, "branch.md": markdown_of(session)}


@pytest.mark.parametrize("name", ["tree.html", "branch.html", "branch.md"])
def test_the_sample_is_exported_as_the_golden_file_says(name: str) -> None:
    hint = "run: python -m tests.core.test_exports"
    assert made()[name] == (GOLDEN / name).read_text("utf-8"), hint


def check_page(text: str) -> Page:
    """A page with nothing but our elements, attributes and texts in it."""
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= OURS
    assert len(page.of("script")) == len(page.of("style")) == 1
    for _, attributes in page.elements:
        drawn = {name: value for name, value in attributes.items() if name in DRAWN}
        assert set(attributes) - set(drawn) <= ATTRIBUTES
        for name, value in drawn.items():
            assert re.fullmatch(DRAWN[name], value or ""), (name, value)
    return page


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("whole", [True, False])
def test_hostile_text_stays_text_in_a_page(text: str, whole: bool) -> None:
    page = check_page(html_of(session_of(saying(text)), whole=whole))
    assert clean_block(text).strip() in "".join(page.texts)


@given(st.text())
def test_any_text_stays_text_in_a_page(text: str) -> None:
    check_page(html_of(session_of(saying(text))))


def test_a_page_says_that_it_may_fetch_and_run_nothing_else() -> None:
    (policy,) = [m for m in Page(html_of(sample())).of("meta") if "http-equiv" in m]
    content = policy["content"] or ""
    assert content.startswith("default-src 'none'; ")
    assert "unsafe" not in content


@pytest.mark.parametrize("text", HOSTILE)
def test_no_character_that_hides_or_acts_gets_through(text: str) -> None:
    for exported in (html_of(session_of(saying(text))), markdown_of(session_of(saying(text)))):
        exported.encode()
        assert not set(exported) & set("\x00\x08\x1b\x7f\x85\x9b\u202e\u2066\u2069\u200f\u2028")


def test_every_entry_of_a_tree_is_walked_once_and_levels_are_closed() -> None:
    session = sample()
    steps = list(walk_tree(session))
    rows = [step.row for step in steps if step.kind == "entry"]
    assert sorted(rows) == list(range(len(session.index)))
    opened = [step.kind for step in steps if step.kind in ("open", "close")]
    assert opened.count("open") == opened.count("close")
    assert [step.kind for step in steps].count("here") == 1


def test_a_tree_nested_deeper_than_browsers_go_is_shown_whole() -> None:
    entries = chain({"role": "user", "content": f"n{n}"} for n in range(1200))
    for number in range(1, 600):
        # Each entry has two children, and the way goes on in the older one.
        entries[number * 2]["parentId"] = entries[number * 2 - 2]["id"]
        entries[number * 2 - 1]["parentId"] = entries[number * 2 - 2]["id"]
    session = session_of(entries)
    session.leaf = session.row_of("m1")
    text = html_of(session)
    assert all(f">n{n}<" in text for n in range(1200))
    depth = deepest = 0
    for piece in text.split("<"):
        depth += piece.startswith("details") - piece.startswith("/details")
        deepest = max(deepest, depth)
    assert depth == 0
    assert deepest < 100


def test_where_the_leaf_went_back_the_rest_is_ahead() -> None:
    session = session_of(chain({"role": "user", "content": f"n{n}"} for n in range(3)))
    session.leaf = session.row_of("m0")
    text = shown(session)
    assert text.index(">n0<") < text.index("you are here") < text.index("ahead") < text.index("n2")
    session.leaf = -1
    text = shown(session)
    assert text.index("you are here") < text.index(">n0<")


def shown(session: Session) -> str:
    """The entries of a page, behind its graph."""
    return html_of(session).partition("<main>")[2]


def test_a_page_of_all_branches_has_their_graph_with_links_to_the_entries() -> None:
    page = check_page(html_of(sample()))
    links = [link["href"] for link in page.of("a")]
    names = ["#" + (one["id"] or "") for one in page.of("article") if "id" in one]
    assert sorted(links[:-1], key=str) == sorted(names, key=str)
    assert links[-1] == links[-2], "here one stands at the last entry"
    assert len(page.of("li")) == len(page.of("svg")) == 18
    assert "lane 2" in "".join(page.texts)
    assert "2 branches leave here" in "".join(page.texts)


def test_a_page_of_one_branch_has_no_graph() -> None:
    page = check_page(html_of(sample(), whole=False))
    assert page.of("svg") == page.of("a") == []


def test_a_large_graph_is_the_shape_alone_and_closed() -> None:
    made = chain({"role": "user", "content": f"n{n}"} for n in range(3_001))
    made[-1]["parentId"] = made[10]["id"]
    text = html_of(session_of(made))
    assert "Graph · 3 lines, 2 lanes, the shape alone" in text
    (graph,) = [one for one in Page(text).of("details") if one["class"] == "graph"]
    assert "open" in graph, "three lines are few"
    middling = html_of(session_of(made[:100]))
    (graph,) = [one for one in Page(middling).of("details") if one["class"] == "graph"]
    assert "open" not in graph


def test_a_graph_that_nobody_could_read_is_not_drawn() -> None:
    made = chain({"role": "user", "content": f"n{n}"} for n in range(3_010))
    for entry in made[1:]:
        entry["parentId"] = "m0"
    page = Page(html_of(session_of(made)))
    assert page.of("svg") == page.of("a") == []
    assert "too many to be drawn" in "".join(page.texts)


def test_an_empty_session_is_a_page_too() -> None:
    session = session_of([])
    assert "you are here" in html_of(session)
    assert markdown_of(session).startswith("# s\n")


def test_steps_between_two_messages_are_folded_with_what_was_called() -> None:
    call = {"type": "toolCall", "name": "bash", "arguments": {"command": "ls"}}
    result: dict[str, Any] = {"role": "toolResult", "toolName": "bash", "isError": True}
    step: dict[str, Any] = {"role": "assistant", "content": [call]}
    said = [{"role": "user", "content": "go"}, step, result, step, result]
    text = html_of(session_of(chain(said)))
    assert '<summary>≡ 2 steps: bash 2 <span class="bad">!2</span></summary>' in text


def test_markdown_keeps_markdown() -> None:
    said = (
        "Use `a < b` and\n\n```python\nif a < b:\n    pass\n```\n\n- **x** [y](https://example.org)"
    )
    exported = markdown_of(session_of(chain([{"role": "user", "content": said}])))
    assert "```python\nif a < b:\n    pass\n```" in exported
    assert "<code>a &lt; b</code>" in exported
    assert "- **x** [y](https://example.org)" in exported


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (812, "812"),
        (9_400, "9.4k"),
        (9_949, "9.9k"),
        (84_000, "84k"),
        (1_200_000, "1.2M"),
    ],
)
def test_tokens_are_told_in_the_steps_of_pis_footer(tokens: int, text: str) -> None:
    assert format_tokens(tokens) == text


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in made().items():
        (GOLDEN / name).write_text(text, "utf-8")

"""The graph of a session in the real workbench: drawn, walked through, and kept up to date."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Final

import pytest

from tests.daemon.homes import SLACK, Home
from tests.nvim.conversations import Talk, login_fix, short_talk, today
from tests.nvim.editor import project
from tests.support.service import spell
from tests.vscode.graph_page import Graph
from tests.vscode.timings import timed
from tests.vscode.window import Window
from tests.vscode.workbench import PICTURES, Workbench

pytestmark = pytest.mark.slow

NAMES: Final = count(1)
ENTRIES: Final = 10_000
ALTERNATIVES: Final = 200


@pytest.fixture(scope="module")
def desk(home: Home, workbench: Workbench) -> Window:
    """The one window of these tests."""
    folder = project(home, "graph")
    short_talk(folder, "first").write(home.agent)
    return workbench.window(folder).opens()


@pytest.fixture(autouse=True)
def clean(desk: Window) -> Iterator[None]:
    """Leaves no editor for the next test."""
    yield
    desk.key("Escape")
    if desk.tabs():
        desk.palette("View: Close All Editors")
        desk.until(lambda: not desk.tabs(), "the end of all editors")


class Session:
    """A session that a test has for itself; pi may go on with it."""

    def __init__(self, talk: Talk, path: Path) -> None:
        self.talk = talk
        self.path = path
        self.name: str = talk.header["id"]
        self.written = len(talk.entries)

    def write(self) -> None:
        """Appends what was added since, as pi does."""
        new = self.talk.entries[self.written :]
        self.written += len(new)
        with self.path.open("ab") as file:
            file.write(b"".join(spell(one) for one in new))


def show(desk: Window, home: Home, talk: Talk) -> tuple[Session, Graph]:
    """Writes a session, opens it by its name, and its graph."""
    talk.header["id"] = f"{talk.header['id']}-{next(NAMES):02}"
    talk.add("session_info", name=talk.header["id"])
    session = Session(talk, talk.write(home.agent))
    desk.palette("Open Session…")
    desk.until(lambda: any(one.label == session.name for one in desk.picks()), session.name)
    desk.pick(f"^{session.name}")
    desk.until(lambda: session.name in desk.header(), session.name)
    with timed("Show Graph to its lines"):
        desk.palette("pi Sessions: Show Graph")
        graph = Graph(desk)
        graph.sees("^you are here")
    return session, graph


@pytest.fixture
def shown(desk: Window, home: Home) -> tuple[Session, Graph]:
    """The session of the pictures and its graph."""
    return show(desk, home, login_fix(home.folder / "graph"))


def test_a_session_is_drawn_oldest_on_top_with_lanes_as_wide_as_the_context(
    desk: Window, shown: tuple[Session, Graph]
) -> None:
    session, graph = shown
    lines = graph.lines()
    assert desk.tabs() == [f"Graph: {session.name}"]
    assert [line.position for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0].title == "Port the session store to the new API"
    by_title = {line.title: line for line in lines}
    full, waist, after = (
        by_title[title]
        for title in ("Labels now survive a fork", "Compaction 186k → ~31k", "you are here")
    )
    assert full.size == "186k 93%"
    assert "bar lane-0" in waist.lanes
    assert full.widths["0"] == pytest.approx(28 * 0.93, abs=1)
    assert after.widths["0"] == pytest.approx(28 * 0.42, abs=1)
    fork = by_title["The fixture's clock is naive, so the token expires"]
    assert [name for name in fork.lanes if name.startswith("thread")] == [
        "thread lane-2",
        "thread lane-1",
    ]
    assert fork.expanded == "true"
    assert fork.name.endswith("2 branches leave here.")
    end = by_title["time-machine breaks xdist; stopped"]
    assert (end.end, end.size, end.level, end.aside) == ("end · 10", "88k 44%", 2, True)
    assert end.name.endswith("Lane 2. The branch ends here, after 10 entries.")
    assert graph.chosen().title == "you are here"
    assert graph.notice() == ""
    desk.screenshot(PICTURES / "graph.png")


def test_zoom_shows_branches_turns_and_entries_around_the_chosen_line(
    shown: tuple[Session, Graph],
) -> None:
    _, graph = shown
    graph.focus()
    graph.click("The fixture's clock is naive")
    graph.goes_to("The fixture's clock")
    graph.press("-")
    graph.sees("Patch time.time in the test only · 6")
    graph.goes_to("The fixture's clock")
    assert (graph.zoom(), len(graph.lines())) == ("Branches", 5)
    graph.press("-")
    graph.press("+", "+")
    graph.window.until(lambda: graph.zoom() == "Entries", "all entries")
    graph.window.until(lambda: graph.chosen().of > 100, "their lines")
    graph.goes_to("The fixture's clock")
    graph.frame.locator("button[aria-label='Show less']").click()
    graph.window.until(lambda: graph.chosen().of == 23, "the turns")
    assert graph.zoom() == "Turns"
    assert graph.chosen().top > 0


def test_a_click_selects_in_the_tree_and_the_tree_finds_the_line(
    desk: Window, shown: tuple[Session, Graph]
) -> None:
    _, graph = shown
    with timed("click in the graph to the row in the tree"):
        graph.click("Passes, but hides the real fault")
        row = desk.until(lambda: desk.sees("Passes, but hides").selected, "the row selected")
    assert row
    assert graph.chosen().title == "Passes, but hides the real fault"
    desk.row_menu("^You: Fix the login test", "Show in Graph")
    graph.goes_to("^Fix the login test that fails on CI")
    assert len(desk.tabs()) == 1


def test_ctrl_enter_asks_how_and_goes_there(desk: Window, shown: tuple[Session, Graph]) -> None:
    _, graph = shown
    graph.click("time-machine breaks xdist")
    graph.goes_to("time-machine breaks")
    graph.press("Control+Enter")
    assert desk.picks()[0].label == "here"
    assert "time-machine breaks xdist" in desk.question()
    with timed("navigate from the graph to the line that says where one is"):
        desk.pick("^here")
        desk.until(
            lambda: graph.sees("^you are here").size == "88k 44%", "the leaf on the other branch"
        )
    # The branch one is on is the main line now.
    assert graph.sees("time-machine breaks xdist").level == 1
    assert graph.sees("Use an injected clock instead").aside


def test_everything_is_reached_by_keys(desk: Window, shown: tuple[Session, Graph]) -> None:
    _, graph = shown
    steps = [
        ("Home", "^Port the session store"),
        ("ArrowDown", "^40 steps"),
        ("]", "^The fixture's clock is naive"),
        ("ArrowRight", "^Try freezing the clock"),
        ("ArrowDown", "^4 steps"),
        ("ArrowDown", "^time-machine breaks"),
        ("ArrowRight", "Patch time.time"),
        ("ArrowLeft", "^Use an injected clock"),
        ("ArrowUp", "^The fixture's clock is naive"),
        ("End", "^you are here"),
        ("[", "^The fixture's clock is naive"),
        ("PageUp", "^Port the session store"),
    ]
    graph.focus()
    for key, title in steps:
        graph.press(key)
        graph.goes_to(title)
    assert graph.ask("(t) => [...document.querySelectorAll('[tabindex]')].length") == 1
    assert graph.ask("(t) => document.activeElement === t")
    graph.press("Enter")
    desk.shows_text("Port the session store to the new API")
    assert graph.chosen().title.startswith("Port the session store")
    graph.focus()
    graph.press("ArrowDown", " ")
    desk.until(lambda: desk.sees("40 steps: read 40").selected, "the row of the line")


def test_what_pi_writes_is_drawn_and_nothing_jumps(
    desk: Window, shown: tuple[Session, Graph]
) -> None:
    session, graph = shown
    graph.focus()
    graph.press("+")
    desk.until(lambda: graph.zoom() == "Entries", "all entries")
    graph.press("Home")
    graph.goes_to("Port the session store|login-fix|opus")
    before = graph.lines()[5]
    graph.listen()
    for number in range(12):
        session.talk.user(f"Question {number}")
        session.talk.answer(f"Answer {number}", 85_000 + number)
        session.write()
        desk.page.wait_for_timeout(100)
    desk.until(lambda: graph.lines()[5].of == before.of + 24, "the lines that pi wrote")
    after = graph.lines()[5]
    assert (after.name, after.top) == (before.name, before.top)
    said = desk.until(graph.said, "a sentence")
    assert all(later - earlier >= 1900 for (earlier, _), (later, _) in pairwise(said))
    # Who is where one is goes along with it.
    graph.press("End")
    here = graph.goes_to("^you are here")
    with timed("append by pi to its line"):
        session.talk.user("One more")
        session.write()
        graph.sees("^One more")
    assert graph.chosen().title == "you are here"
    assert graph.chosen().top == here.top


def test_the_accessibility_tree_has_the_lines(shown: tuple[Session, Graph]) -> None:
    session, graph = shown
    told = graph.frame.locator("body").aria_snapshot()
    print(told)
    assert f'- tree "Graph of {session.name}"' in told
    assert re.search(
        r'treeitem "Answer: The fixture.+s clock is naive, so the token expires\. On the active '
        r"branch\. Context 74 thousand tokens, 37 percent, measured\. 13:58\. 2 branches leave "
        r'here\." \[expanded\] \[level=1\]',
        told,
    )
    assert re.search(r'treeitem "You are here\..*" \[level=1\] \[selected\]', told)
    assert '- toolbar "Graph"' in told


THEMES: Final = {
    "dark": "Dark Modern",
    "light": "Light Modern",
    "hc": "Default High Contrast",
    "hc-light": "Default High Contrast Light",
}

# The least contrast of lanes' edges and of texts against what is behind them.
_CONTRASTS: Final = """
() => {
  const read = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = read(getComputedStyle(document.body).backgroundColor).slice(0, 3);
  const over = ([r, g, b, a = 1]) => [r, g, b].map((v, at) => v * a + back[at] * (1 - a));
  const contrast = (text) => {
    const [dark, bright] = [light(over(read(text))), light(back)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const least = (selector, of) => Math.min(...[...document.querySelectorAll(selector)]
    .filter((one) => of !== 'color' || one.textContent !== '')
    .map((one) => contrast(getComputedStyle(one)[of])));
  const lanes = new Set([...document.querySelectorAll('.edge, .thread')]
    .map((one) => getComputedStyle(one).strokeDasharray));
  return [least('.edge, .thread', 'stroke'), least('.line span:not(.label)', 'color'), lanes.size];
}
"""


@pytest.mark.figures
def test_lanes_and_texts_stand_out_in_every_theme(
    desk: Window, home: Home, shown: tuple[Session, Graph]
) -> None:
    _, graph = shown
    settings = home.folder / "graph" / ".vscode" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    try:
        for name, theme in THEMES.items():
            settings.write_text(json.dumps({"workbench.colorTheme": theme}), "utf-8")
            kind = f"vscode-{'high-contrast' if name.startswith('hc') else name}"
            desk.until(
                lambda kind=kind, name=name: graph.ask(  # type: ignore[misc]
                    "(t, [kind, id]) => document.body.classList.contains(kind)"
                    " && document.body.classList.contains('vscode-high-contrast-light') === id",
                    [kind, name == "hc-light"],
                ),
                theme,
            )
            edges, texts, dashes = graph.ask(_CONTRASTS)
            desk.screenshot(PICTURES / f"graph-{name}.png")
            print(f"{theme}: edges {edges:.2f}:1, texts {texts:.2f}:1, {dashes} dashes")
            assert edges >= 3, theme
            assert texts >= 4.5, theme
            assert dashes == 3
    finally:
        settings.write_text("{}", "utf-8")


def test_where_the_system_forces_its_colours_lanes_keep_their_dashes(
    desk: Window, shown: tuple[Session, Graph]
) -> None:
    _, graph = shown
    strokes = """() => ['stroke', 'strokeDasharray'].map((name) => new Set(
        [...document.querySelectorAll('.edge, .thread')].map((one) => getComputedStyle(one)[name])
    ).size)"""
    desk.page.emulate_media(forced_colors="active")
    try:
        desk.until(lambda: graph.ask(strokes) == [1, 3], "one colour and three dashes")
        desk.screenshot(PICTURES / "graph-forced.png")
    finally:
        desk.page.emulate_media(forced_colors="none")
    desk.until(lambda: graph.ask(strokes) == [3, 3], "three colours again")


def test_an_empty_session_says_so(desk: Window, home: Home) -> None:
    talk = Talk(home.folder / "graph", today(), "empty")
    _, graph = show(desk, home, talk)
    (line,) = graph.lines()
    assert line.title == "you are here, nothing yet"
    assert line.position == line.of == 1


@contextmanager
def held_back(home: Home) -> Iterator[None]:
    """Meanwhile nobody can start a daemon."""
    with Path(home.place.start_lock).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_a_daemon_that_dies_and_returns_changes_nothing_in_the_page(
    desk: Window, home: Home, shown: tuple[Session, Graph]
) -> None:
    _, graph = shown
    graph.focus()
    graph.press("-")
    desk.until(lambda: graph.zoom() == "Branches", "branches")
    graph.press("Home")
    before = graph.goes_to("^Compaction")
    notices: list[str] = []
    (daemon,) = home.daemons()
    # Nobody has another one before the notice is seen.
    with held_back(home):
        daemon.kill()
        daemon.wait(10)
        desk.until(lambda: notices.append(graph.notice()) or notices[-1], "a notice")  # type: ignore[func-returns-value]
    assert notices[-1].startswith("Offline since ")
    assert len(graph.lines()) == 5
    desk.until(lambda: graph.notice() == "", "the end of the notice")
    assert (graph.zoom(), graph.chosen().name) == ("Branches", before.name)
    graph.press("+")
    desk.until(lambda: len(graph.lines()) == 23, "the turns")


def test_a_window_that_is_loaded_anew_has_its_graph_again(
    desk: Window, shown: tuple[Session, Graph]
) -> None:
    session, graph = shown
    graph.focus()
    graph.press("-")
    desk.until(lambda: graph.zoom() == "Branches", "branches")
    graph.press("Home")
    graph.goes_to("^Compaction")
    desk.reload()
    desk.until(lambda: f"Graph: {session.name}" in desk.tabs(), "the graph")
    Graph(desk).goes_to("^Compaction")
    assert Graph(desk).zoom() == "Branches"
    desk.opens()


def long_talk(cwd: Path) -> Talk:
    """Ten thousand entries; at one place somebody tried two hundred other ways."""
    talk = Talk(cwd, today(), "long")
    turns = (ENTRIES - ALTERNATIVES * 10) // 10
    fork = None
    for turn in range(turns):
        _turn(talk, f"Question {turn}", 20_000 + turn * 200 % 150_000)
        if turn == turns // 2:
            fork = talk.leaf
            for way in range(ALTERNATIVES):
                _turn(talk.back_to(fork), f"Way {way}", 60_000 + way * 500)
            talk.back_to(fork)
    return talk


def _turn(talk: Talk, question: str, tokens: int) -> None:
    """Ten entries."""
    talk.user(question)
    for number in range(4):
        talk.step("bash", f"make {number}", "ok\n", tokens)
    talk.answer(f"{question}: done", tokens)


# Scrolls as a wheel would, one step a frame, and says how far apart frames were, and how long the
# page itself was at work in them: the first depends on what else the machine does.
_SCROLL: Final = """
async (tree, [pixels, frames]) => {
  const view = tree.parentElement;
  const gaps = [];
  const work = [];
  const plain = window.requestAnimationFrame;
  window.requestAnimationFrame = (run) => plain((now) => {
    const began = performance.now();
    run(now);
    work.push(performance.now() - began);
  });
  let most = 0;
  let empty = 0;
  let last = await new Promise(plain);
  for (let frame = 0; frame < frames; frame++) {
    view.scrollTop += pixels;
    const now = await new Promise(plain);
    gaps.push(now - last);
    last = now;
    most = Math.max(most, tree.children.length);
    const middle = view.getBoundingClientRect().top + view.clientHeight / 2;
    empty += document.elementFromPoint(200, middle)?.closest('.line') ? 0 : 1;
  }
  window.requestAnimationFrame = plain;
  const told = (times) => {
    const ordered = [...times].sort((a, b) => a - b);
    return [0.5, 0.95, 1].map((share) => ordered[Math.floor((ordered.length - 1) * share)]);
  };
  return { gaps: told(gaps), work: told(work), most, empty };
}
"""


@pytest.mark.figures
def test_ten_thousand_entries_scroll_smoothly(desk: Window, home: Home) -> None:
    talk = long_talk(home.folder / "graph")
    assert len(talk.entries) == ENTRIES
    _, graph = show(desk, home, talk)
    graph.focus()
    with timed("all of 10,000 entries: zoom to its lines"):
        graph.press("+")
        desk.until(lambda: graph.zoom() == "Entries" and graph.chosen().of > 5000, "entries")
    for what, pixels in (("a line", 22), ("five lines", 110), ("a screen", 660)):
        graph.press("Home")
        graph.goes_to("^(Question 0|session|model)")
        told = graph.ask(_SCROLL, [pixels, 90])
        gaps, work = (" / ".join(f"{one:.0f}" for one in told[name]) for name in ("gaps", "work"))
        print(
            f"scrolling {what} a frame: median / p95 / longest {gaps} ms apart, {work} ms at work;"
            f" {told['most']} lines drawn at most,"
            f" {told['empty']} of 90 frames with nothing in the middle"
        )
        assert told["most"] < 80
        assert told["work"][0] < 16 * SLACK
    # The bundle says how many branches it holds.
    graph.press("]")
    point = graph.goes_to("done")
    assert point.name.endswith(f"{ALTERNATIVES} branches leave here.")
    assert graph.ask("(t) => t.querySelector('.count').textContent") == f"+{ALTERNATIVES - 8}"
    desk.screenshot(PICTURES / "graph-long.png")

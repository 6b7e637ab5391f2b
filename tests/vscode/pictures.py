"""Makes the pictures of the extension's pages: `python -m tests.vscode.pictures [FOLDER]`.

Each is the real workbench with the session of the pictures. Those of the README go to `media/`;
with a folder as an argument, all of them go there, in every theme, to be looked at.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.daemon import homes
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import project, write_pi_settings, write_settings
from tests.nvim.pictures import CODE
from tests.vscode.graph_page import Graph
from tests.vscode.window import Window
from tests.vscode.workbench import EXTENSION, Workbench

THEMES: Final = {
    "dark": "Default Dark Modern",
    "light": "Default Light Modern",
    "contrast": "Default High Contrast",
    "contrast-light": "Default High Contrast Light",
}
_SUMMARIZER: Final = (
    '[summarizer]\nuse = "haiku"\n[summarizers.haiku]\nkind = "command"\n'
    'program = ["sh", "-c", "cat > /dev/null; echo It was so."]\n'
)
_SIZE: Final = (1300, 700)


@contextmanager
def window(theme: str) -> Iterator[Window]:
    """The session of the pictures beside a file, in one of the themes."""
    with homes.home() as home:
        write_settings(home, _SUMMARIZER)
        write_pi_settings(home, compaction={"keepRecentTokens": 3000})
        cwd = project(home, "calendar")
        (cwd / "src").mkdir()
        (cwd / "src" / "clock.py").write_text(CODE, "utf-8")
        older = short_talk(cwd, "parser")
        older.header["timestamp"] = "2026-01-01T00:00:00.000Z"
        older.write(home.agent)
        login_fix(cwd).write(home.agent)
        settings = {
            "workbench.colorTheme": THEMES[theme],
            "window.title": "calendar",
            "breadcrumbs.enabled": False,
        }
        workbench = Workbench(
            home, EXTENSION / "dist/pisession.vsix", settings=settings, size=_SIZE
        )
        try:
            shown = workbench.window(cwd).opens()
            shown.until(lambda: shown.sees("^You are here").selected, "a selected leaf")
            widen(shown, 450)
            yield shown
        finally:
            workbench.close()


def widen(shown: Window, width: int) -> None:
    """Draws the side bar to a width at which rows are read whole."""
    sash = shown.page.locator(".split-view-view .part.sidebar").bounding_box()
    assert sash is not None
    right, middle = sash["x"] + sash["width"], sash["y"] + sash["height"] / 2
    shown.page.mouse.move(right + 2, middle)
    shown.page.mouse.down()
    shown.page.mouse.move(sash["x"] + width, middle, steps=4)
    shown.page.mouse.up()


def tree(shown: Window) -> None:
    """The tree with a branch and some work opened, an entry shown beside it."""
    shown.fold("^Alternative: Patch")
    shown.sees("Passes, but hides")
    shown.select("^Answer: The fixture")
    shown.shows_text("The fixture's clock is naive")


def navigate(shown: Window) -> None:
    shown.select("^You: Use an injected clock")
    shown.key("Control+Enter")
    shown.picks()


def compact(shown: Window) -> None:
    shown.title_action("Compact")
    shown.shows_text("now ")
    shown.picks()
    shown.sees("── cut ──")


def compare(shown: Window) -> None:
    widen(shown, 300)  # Below some width VS Code puts both sides into one.
    shown.row_menu("^Alternative: Patch", "Compare with the Leaf")
    shown.until(lambda: any("↔" in tab for tab in shown.tabs()), "the diff")
    shown.shows_text("Patch time.time", 1)


def context(shown: Window) -> None:
    shown.unfold_view("Context")
    shown.sees("totals, whole file", "Context")


def graph(shown: Window) -> None:
    """The whole session as lanes, beside the tree."""
    widen(shown, 300)
    shown.palette("pi Sessions: Show Graph")
    page = Graph(shown)
    page.sees("^you are here")
    page.click("Passes, but hides")
    shown.until(lambda: shown.sees("Passes, but hides").selected, "its row")


ALL: Final[dict[str, Callable[[Window], None]]] = {
    "tree": tree,
    "navigate": navigate,
    "compact": compact,
    "compare": compare,
    "context": context,
    "graph": graph,
}
KEPT: Final = (("tree", "dark"), ("compact", "light"), ("compare", "dark"), ("graph", "dark"))


def has_badges(shown: Window) -> bool:
    """Whether every row says its percent: that comes a little after the row."""
    return all(row.badge for row in shown.rows() if "percent" in row.name)


_CONTRAST: Final = """
() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const over = ([r, g, b, a = 1], under) =>
    [r, g, b].map((one, at) => one * a + under[at] * (1 - a));
  const ground = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      layers.push(parse(getComputedStyle(one).backgroundColor));
    }
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opacity = (element) => {
    let all = 1;
    for (let one = element; one; one = one.parentElement) {
      all *= Number(getComputedStyle(one).opacity);
    }
    return all;
  };
  const told = [];
  for (const row of document.querySelectorAll('.pane .monaco-list-row')) {
    for (const part of ['.label-name', '.label-description', 'badge']) {
      const element = row.querySelector(part === 'badge' ? '.monaco-icon-label' : part);
      if (!element) continue;
      const style = getComputedStyle(element, part === 'badge' ? '::after' : undefined);
      if (part === 'badge' ? style.content === 'none' : element.textContent === '') continue;
      const back = ground(row);
      const all = opacity(element) * (part === 'badge' ? Number(style.opacity) : 1);
      const [r, g, b, a = 1] = parse(style.color);
      const shown = over([r, g, b, a * all], back);
      const [more, less] = [light(shown), light(back)].sort((a, b) => b - a);
      const ratio = (more + 0.05) / (less + 0.05);
      told.push([part, Math.round(ratio * 10) / 10, element.textContent.slice(0, 30)]);
    }
  }
  return told;
}
"""


def contrast(shown: Window) -> None:
    """Prints the faintest of each kind of text in the views; 4.5 is what can be read."""
    faintest: dict[str, tuple[float, str]] = {}
    for part, ratio, text in shown.ask(_CONTRAST):
        faintest[part] = min(faintest.get(part, (99.0, "")), (ratio, text))
    for part, (ratio, text) in faintest.items():
        print(f"  {part:<18} {ratio:>5} : 1   {text}")


def picture(name: str, theme: str, path: Path) -> None:
    with window(theme) as shown:
        ALL[name](shown)
        shown.until(lambda: has_badges(shown), "the percents")
        contrast(shown)
        shown.page.mouse.move(5, 5)
        shown.page.wait_for_timeout(700)  # The last of what was drawn has come.
        shown.screenshot(path)
        print(path, path.stat().st_size)


if __name__ == "__main__":
    subprocess.run([EXTENSION / "scripts" / "vsix.sh"], check=True, stdout=subprocess.DEVNULL)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if folder is None:
        for name, theme in KEPT:
            picture(name, theme, EXTENSION / "media" / f"{name}.png")
    else:
        for name in sys.argv[2:] or ALL:
            for theme in THEMES:
                picture(name, theme, folder / f"{name}-{theme}.png")

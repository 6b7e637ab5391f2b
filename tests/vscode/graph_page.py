"""What a person sees in the page of a graph, and what a screen reader hears of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Error, Frame, Locator

from tests.vscode.window import Window

_LINES: Final = """
(tree) => [...tree.querySelectorAll('.line')].map((line) => {
  const text = (name) => line.querySelector(name)?.textContent ?? '';
  return {
    name: line.getAttribute('aria-label') ?? '',
    time: text('.time'),
    title: text('.title'),
    marks: text('.marks'),
    end: text('.end'),
    size: text('.size'),
    level: Number(line.getAttribute('aria-level')),
    position: Number(line.getAttribute('aria-posinset')),
    of: Number(line.getAttribute('aria-setsize')),
    expanded: line.getAttribute('aria-expanded'),
    selected: line.getAttribute('aria-selected') === 'true',
    aside: line.classList.contains('aside'),
    top: line.getBoundingClientRect().top,
    lanes: [...line.querySelectorAll('.lanes path, .lanes circle')]
      .map((part) => part.getAttribute('class')).filter((name) => name !== 'halo'),
    widths: Object.fromEntries([...line.querySelectorAll('.lanes .fill')]
      .map((part) => [part.getAttribute('class').slice(10), part.getBBox().width])),
  };
})
"""


@dataclass(frozen=True)
class Line:
    """A line as it is drawn."""

    name: str
    """What a screen reader says of it."""
    time: str
    title: str
    marks: str
    end: str
    size: str
    level: int
    position: int
    of: int
    expanded: str | None
    selected: bool
    aside: bool
    top: float
    """Pixels from the top of the page."""
    lanes: list[str]
    """What is drawn beside it."""
    widths: dict[str, float]
    """By lane, how wide it gets in this line, in pixels."""


class Graph:
    """The page of the graph in sight."""

    def __init__(self, window: Window) -> None:
        self.window = window

    @property
    def frame(self) -> Frame:
        """The page itself, two frames deep in the workbench."""

        def find() -> Frame | None:
            for frame in self.window.page.frames:
                try:
                    if frame.locator(".tree").count() and frame.locator("body > .bar").is_visible():
                        return frame
                except Error:
                    continue  # It is being taken away.
            return None

        found = self.window.until(find, "a graph")
        assert found is not None
        return found

    @property
    def tree(self) -> Locator:
        return self.frame.locator(".tree")

    def lines(self) -> list[Line]:
        """The lines that are drawn, from the top."""
        told = self.tree.evaluate(_LINES)
        return sorted((Line(**one) for one in told), key=lambda line: line.position)

    def sees(self, pattern: str) -> Line:
        """The line whose title or sentence holds this, once there is one."""

        def find() -> Line | None:
            for line in self.lines():
                if re.search(pattern, line.title) or re.search(pattern, line.name):
                    return line
            return None

        found = self.window.until(find, f"a line {pattern!r}")
        assert found is not None
        return found

    def chosen(self) -> Line:
        """The one line that is selected, which is the one that a screen reader is on."""
        return self.window.until(self._chosen, "a chosen line")  # type: ignore[return-value]

    def _chosen(self) -> Line | None:
        lines = self.lines()
        chosen = [line for line in lines if line.selected]
        at = self.tree.evaluate(
            "(t) => document.getElementById(t.getAttribute('aria-activedescendant') ?? '')"
            "?.getAttribute('aria-label') ?? null"
        )
        return chosen[0] if len(chosen) == 1 and chosen[0].name == at else None

    def goes_to(self, pattern: str) -> Line:
        """Waits until such a line is chosen."""

        def find() -> Line | None:
            line = self._chosen()
            return line if line and re.search(pattern, f"{line.title}\n{line.name}") else None

        found = self.window.until(find, f"the choice of {pattern!r}")
        assert found is not None
        return found

    def click(self, pattern: str) -> None:
        """Clicks a line."""
        lines = self.frame.locator(".line").filter(has_text=re.compile(pattern))
        lines.first.locator(".title").click()

    def focus(self) -> Graph:
        """Gives the lines the keyboard, as a click in the empty part of the page would."""
        self.tree.focus()
        return self

    def press(self, *keys: str) -> None:
        """Presses keys where the keyboard is."""
        self.window.key(*keys)

    def zoom(self) -> str:
        """How much is shown, as the bar says it."""
        return self.frame.locator(".bar .name").inner_text()

    def notice(self) -> str:
        """What the page says is amiss; empty when nothing is."""
        found = self.frame.locator(".notice")
        return found.inner_text() if found.is_visible() else ""

    def ask(self, script: str, *arguments: Any) -> Any:
        """What a script in the page answers; it is given the tree."""
        return self.tree.evaluate(script, *arguments)

    def listen(self) -> None:
        """From now on keeps what the live region says, and when."""
        self.ask(
            """() => {
              window.said = [];
              const live = document.querySelector('[aria-live]');
              new MutationObserver(() => {
                window.said.push([performance.now(), live.textContent]);
              }).observe(live, { childList: true, characterData: true, subtree: true });
            }"""
        )

    def said(self) -> list[tuple[float, str]]:
        """What it has said since: milliseconds and sentences."""
        return [(when, text) for when, text in self.ask("() => window.said") if text]

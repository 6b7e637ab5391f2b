"""One window of VS Code: what a person sees in it, and what they click and type."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from playwright.sync_api import Error, Locator, Page

T = TypeVar("T")

PATIENCE: Final = 20.0
TREE: Final = "Branch Tree"
STATUS: Final = "pisessiond.pisession.context"

# Rows in the order they stand; the list draws no more than what is in view.
_ROWS: Final = """
(pane) => [...pane.querySelectorAll('.monaco-list-row')]
  .filter((row) => row.getClientRects().length > 0)
  .sort((a, b) => a.dataset.index - b.dataset.index)
  .map((row) => {
    const label = row.querySelector('.monaco-icon-label');
    const text = (name) => label?.querySelector(name)?.textContent ?? '';
    const badge = label ? getComputedStyle(label, '::after').content : 'none';
    const expanded = row.getAttribute('aria-expanded');
    return {
      name: row.getAttribute('aria-label') ?? '',
      label: text('.label-name'),
      description: text('.label-description'),
      badge: badge === 'none' ? '' : badge.replace(/^"|"$/g, ''),
      colour: label ? getComputedStyle(label.querySelector('.label-name')).color : '',
      level: Number(row.getAttribute('aria-level')),
      expanded: expanded === null ? null : expanded === 'true',
      selected: row.getAttribute('aria-selected') === 'true',
      icon: [...(row.querySelector('.custom-view-tree-node-item-icon')?.classList ?? [])]
        .filter((name) => name.startsWith('codicon-')).map((name) => name.slice(8)).join(' '),
    };
  })
"""
_PICKS: Final = """
() => [...document.querySelectorAll('.quick-input-widget .quick-input-list .monaco-list-row')]
  .filter((row) => row.getClientRects().length > 0)
  .sort((a, b) => a.dataset.index - b.dataset.index)
  .map((row) => {
    const text = (name) => row.querySelector(name)?.textContent ?? '';
    return {
      label: text('.quick-input-list-label .label-name')
        || text('.quick-input-list-row .label-name'),
      description: text('.label-description'),
      detail: text('.quick-input-list-label-meta'),
    };
  })
"""
_IS_PALETTE: Final = """
() => [...document.querySelectorAll('.quick-input-widget input')]
  .some((input) => input.getClientRects().length > 0 && input.value.startsWith('>'))
"""
_NOTIFICATIONS: Final = """
() => [...document.querySelectorAll('.notifications-toasts .notification-list-item')]
  .map((one) => ({
    text: one.querySelector('.notification-list-item-message')?.textContent ?? '',
    buttons: [...one.querySelectorAll('.notification-list-item-buttons-container a')]
      .map((button) => button.textContent),
  }))
"""


@dataclass(frozen=True)
class Row:
    """A row of a tree as it is drawn."""

    name: str
    """What a screen reader says of it."""
    label: str
    description: str
    badge: str
    colour: str
    """Of the label, as CSS computed it."""
    level: int
    """1 is the outermost."""
    expanded: bool | None
    """`None`: it does not open."""
    selected: bool
    icon: str

    @property
    def text(self) -> str:
        """Label, description and badge, as the eye reads them."""
        return " ".join(part for part in (self.label, self.description, self.badge) if part)


@dataclass(frozen=True)
class Pick:
    """A line of the list that drops from the top."""

    label: str
    description: str
    detail: str


@dataclass(frozen=True)
class Notification:
    """A pop-up in the corner."""

    text: str
    buttons: list[str]


class Window:
    """A page with a workbench in it; whatever does not come is told with what was there."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.console: list[str] = []
        page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))

    def load(self) -> None:
        """Loads the window, as a first time or anew."""
        self.page.goto(self.address, wait_until="domcontentloaded")
        self.page.locator(".monaco-workbench .part.activitybar").wait_for(timeout=60_000)

    def reload(self) -> None:
        """Reloads the window as its user does, so that it keeps what it has to."""
        self.page.keyboard.press("F1")
        self.input().wait_for()
        self.input().fill(">Developer: Reload Window")
        found = self.page.locator(".quick-input-list .monaco-list-row")
        with self.page.expect_navigation(wait_until="domcontentloaded"):
            found.filter(has_text="Reload Window").first.click()
        self.page.locator(".monaco-workbench .part.activitybar").wait_for(timeout=60_000)

    # Waiting

    def until(self, probe: Callable[[], T], what: str = "", seconds: float = PATIENCE) -> T:
        """What the probe says once it says something."""
        ends = time.monotonic() + seconds
        while True:
            found = probe()
            if found:
                return found
            if time.monotonic() > ends:
                raise AssertionError(f"{what or 'it'} did not come:\n{self.report()}")
            self.page.wait_for_timeout(20)

    def report(self) -> str:
        """What stands in the window, for whoever reads of a failure."""
        try:
            rows = "\n".join(f"{'  ' * row.level}{row.text}   ({row.name})" for row in self.rows())
            said = "\n".join(str(one) for one in self.notifications())
            return f"{rows}\n-- status: {self.status()}\n-- notifications: {said}"
        except Error as gone:
            return f"(the page is gone: {gone})"

    # Views

    def open_view(self, container: str = "pi Sessions") -> Window:
        """Opens the extension's views from the activity bar."""
        icon = self.page.locator(f'.activitybar .action-item:has([aria-label^="{container}"])')
        icon.first.wait_for(timeout=60_000)
        clicked = 0.0

        def is_open() -> bool:
            nonlocal clicked
            is_checked = "checked" in (icon.first.get_attribute("class") or "")
            # A window that is loaded anew opens it by itself; a click at that moment closes it.
            if not is_checked and time.monotonic() > clicked + 2:
                icon.first.click()
                clicked = time.monotonic()
            return self.pane(TREE).is_visible()

        self.until(is_open, "the views")
        return self

    def pane(self, view: str = TREE) -> Locator:
        """A view: its header and what it holds."""
        return self.page.locator(f'.pane:has(> .pane-header h3.title:text-is("{view}"))')

    def header(self, view: str = TREE) -> str:
        """A view's title with its description."""
        parts = self.pane(view).locator(".pane-header > .title, .pane-header > .description")
        return _line(" ".join(parts.all_text_contents()))

    def message(self, view: str = TREE) -> str:
        """The sentence above a view's rows; empty if there is none."""
        found = self.pane(view).locator(".tree-explorer-viewlet-tree-view > .message")
        return _line(found.inner_text()) if found.count() and found.is_visible() else ""

    def welcome(self, view: str = TREE) -> str:
        """What a view says that has no rows; empty if it has."""
        found = self.pane(view).locator(".welcome-view")
        return _line(found.first.inner_text()) if found.count() and found.first.is_visible() else ""

    def unfold_view(self, view: str) -> None:
        """Opens a view that is closed to its header."""
        header = self.pane(view).locator(".pane-header")
        if header.get_attribute("aria-expanded") == "false":
            header.click()

    def title_action(self, label: str, view: str = TREE) -> None:
        """Clicks a button of a view's header; it is there for the mouse alone."""
        header = self.pane(view).locator(".pane-header")
        header.hover()
        header.locator(f'.action-label[aria-label^="{label}"]').click()

    # Rows

    def rows(self, view: str = TREE) -> list[Row]:
        """The rows of a view that are in sight, from the top."""
        pane = self.pane(view)
        if pane.count() == 0:
            return []
        return [Row(**told) for told in pane.first.evaluate(_ROWS)]

    def row(self, pattern: str, view: str = TREE) -> Locator:
        """The row whose accessible name holds this."""
        return self.pane(view).get_by_role("treeitem", name=re.compile(pattern))

    def sees(self, pattern: str, view: str = TREE, seconds: float = PATIENCE) -> Row:
        """The row whose name or text holds this, once there is one."""

        def find() -> Row | None:
            for row in self.rows(view):
                if re.search(pattern, row.name) or re.search(pattern, row.text):
                    return row
            return None

        found = self.until(find, f"a row {pattern!r}", seconds)
        assert found is not None
        return found

    def loses(self, pattern: str, view: str = TREE) -> None:
        """Waits until no row in sight holds this."""
        self.until(
            lambda: not any(re.search(pattern, f"{r.name}\n{r.text}") for r in self.rows(view)),
            f"the end of {pattern!r}",
        )

    def opens(self, pattern: str = "[Yy]ou are here") -> Window:
        """Opens the views and waits for a row."""
        self.open_view()
        self.sees(pattern)
        return self

    def select(self, pattern: str, view: str = TREE) -> Locator:
        """Clicks a row, which selects it and gives the view the keyboard."""
        row = self.row(pattern, view).first
        row.click()
        return row

    def fold(self, pattern: str, view: str = TREE) -> None:
        """Clicks the little arrow of a row."""
        self.row(pattern, view).first.locator(".monaco-tl-twistie").click()

    def row_action(self, pattern: str, label: str, view: str = TREE) -> None:
        """Clicks a button that stands in a row while the mouse is over it."""
        row = self.row(pattern, view).first
        row.hover()
        row.locator(f'.action-label[aria-label^="{label}"]').click()

    def row_menu(self, pattern: str, label: str = "", view: str = TREE) -> list[str]:
        """Opens the menu of a row and clicks an entry of it; says which there are."""
        self.row(pattern, view).first.click(button="right")
        items = self.page.locator(".monaco-menu .action-item .action-label:not(.separator)")
        items.first.wait_for()
        told = [_line(text) for text in items.all_inner_texts()]
        if label:
            item = items.filter(has_text=re.compile(f"^{re.escape(label)}")).first
            # A button that comes up just after a menu opened is taken for the one that opened it.
            item.click(delay=200)
        else:
            self.page.keyboard.press("Escape")
        return told

    def tooltip(self, pattern: str, view: str = TREE) -> Locator:
        """What is shown when the mouse rests on a row."""
        self.page.mouse.move(0, 0)
        self.row(pattern, view).first.locator(".monaco-icon-label").hover()
        hover = self.page.locator(".monaco-hover:visible").last
        hover.wait_for()
        return hover

    # Commands, questions and answers

    def key(self, *keys: str) -> None:
        """As if pressed: `Control+Enter`, `F2`, `Delete`."""
        for key in keys:
            self.page.keyboard.press(key)

    def types(self, text: str) -> None:
        """As if typed, where the keyboard is."""
        self.page.keyboard.type(text)

    def palette(self, command: str) -> None:
        """Runs a command by its title, as the palette shows it."""
        self.page.keyboard.press("F1")
        self.input().wait_for()
        self.input().fill(f">{command}")
        # The category stands before it, what was used lately or is bound to a key behind.
        found = self.page.locator(".quick-input-list .monaco-list-row").filter(has_text=command)
        found.first.click()
        self.until(
            lambda: not self.page.evaluate(_IS_PALETTE), f"the end of the palette at {command}"
        )

    def commands(self, words: str) -> list[str]:
        """The commands the palette offers for these words, of which there is at least one."""
        self.page.keyboard.press("F1")
        self.input().wait_for()
        self.input().fill(f">{words}")

        def found() -> list[str]:
            # Until the words count, the list is that of all commands, or of other words.
            labels: list[str] = [one["label"] for one in self.page.evaluate(_PICKS)]
            return labels if any(words.lower() in label.lower() for label in labels) else []

        labels = self.until(found, f"a command {words!r}")
        self.page.keyboard.press("Escape")
        self.page.locator(".quick-input-widget").wait_for(state="hidden")
        return labels

    def input(self) -> Locator:
        """The line that drops from the top, of a list to choose from or of a question."""
        return self.page.locator(".quick-input-widget input:visible").last

    def question(self) -> str:
        """What is asked at the top: its title, what stands in the empty line, what is below."""
        widget = self.page.locator(".quick-input-widget")
        widget.wait_for()
        parts = [
            widget.locator(".quick-input-title").inner_text(),
            self.input().get_attribute("placeholder") or "",
            widget.locator(".quick-input-message").inner_text(),
        ]
        return _line(" | ".join(part for part in parts if part))

    def picks(self) -> list[Pick]:
        """What can be chosen at the top, once there is something."""
        told = self.until(lambda: self.page.evaluate(_PICKS), "something to choose from")
        return [Pick(**one) for one in told]

    def pick(self, pattern: str) -> None:
        """Chooses the line that holds this."""
        rows = self.page.locator(".quick-input-widget .monaco-list-row")
        rows.filter(has_text=re.compile(pattern)).first.click()

    def answer(self, text: str) -> None:
        """Fills the line at the top, and Enter."""
        self.input().wait_for()
        self.input().fill(text)
        self.page.keyboard.press("Enter")

    def is_asked(self) -> bool:
        """Whether a list or a question hangs from the top."""
        return self.page.locator(".quick-input-widget").is_visible()

    # What is said

    def status(self, item: str = STATUS) -> str:
        """The text of an item of the status bar; empty where it is hidden."""
        found = self.page.locator(f'[id="{item}"]')
        return _line(found.inner_text()) if found.count() and found.is_visible() else ""

    def status_spoken(self, item: str = STATUS) -> str:
        """What a screen reader says of an item of the status bar."""
        found = self.page.locator(f'[id="{item}"] a, [id="{item}"] [aria-label]').first
        return found.get_attribute("aria-label") or ""

    def status_bar(self) -> str:
        """All of the status bar: sentences that stand there for a while among it."""
        return _line(self.page.locator(".part.statusbar").inner_text())

    def notifications(self) -> list[Notification]:
        """The pop-ups in the corner, the newest first."""
        return [Notification(**told) for told in self.page.evaluate(_NOTIFICATIONS)]

    def notified(self, pattern: str, seconds: float = PATIENCE) -> Notification:
        """The pop-up that holds this, once there is one."""

        def find() -> Notification | None:
            return next((n for n in self.notifications() if re.search(pattern, n.text)), None)

        found = self.until(find, f"a notification {pattern!r}", seconds)
        assert found is not None
        return found

    def press(self, pattern: str, button: str) -> None:
        """Presses a button of a pop-up."""
        self.notified(pattern)
        one = self.page.locator(".notification-list-item").filter(has_text=re.compile(pattern))
        one.first.locator("a.monaco-button", has_text=button).first.click()

    def dialog(self) -> tuple[str, list[str]]:
        """What a dialog in the middle says, and its buttons."""
        box = self.page.locator(".monaco-dialog-box")
        box.wait_for()
        text = _line(box.locator(".dialog-message-container").inner_text())
        return text, box.locator(".dialog-buttons .monaco-button").all_inner_texts()

    def press_dialog(self, button: str) -> None:
        """Presses a button of the dialog in the middle."""
        box = self.page.locator(".monaco-dialog-box")
        box.locator(".monaco-button", has_text=button).click()

    # Editors

    def tabs(self) -> list[str]:
        """The names of the open editors."""
        names = self.page.locator(".tabs-container .tab .label-name").all_inner_texts()
        return [_line(name) for name in names]

    def text(self, number: int = 0) -> str:
        """The lines in sight of an editor; of a diff, 0 is the left side and 1 the right."""
        shown = self.page.locator(".editor-group-container .monaco-editor .view-lines").nth(number)
        lines: list[tuple[float, str]] = shown.evaluate(
            "(lines) => [...lines.querySelectorAll('.view-line')]"
            ".map((line) => [parseFloat(line.style.top), line.textContent])"
        )
        return "\n".join(text.replace("\xa0", " ") for _, text in sorted(lines))

    def shows_text(self, pattern: str, number: int = 0, seconds: float = PATIENCE) -> str:
        """The text of an editor, once this is in it."""

        def read() -> str:
            some = self.page.locator(".editor-group-container .monaco-editor .view-lines")
            text = self.text(number) if some.count() > number else ""
            return text if re.search(pattern, text) else ""

        return self.until(read, f"text {pattern!r}", seconds)

    def screenshot(self, path: Path) -> Path:
        """A picture of the window."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)
        return path

    def ask(self, script: str, *arguments: Any) -> Any:
        """What a script in the page answers; for what no method here tells."""
        return self.page.evaluate(script, *arguments)


def _line(text: str) -> str:
    return " ".join(text.split())

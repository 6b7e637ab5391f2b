"""Runs the extension's own tests inside VS Code's extension host, where the real API is."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

from tests.vscode.workbench import Workbench

PATIENCE: Final = 180.0
"""Seconds for all of them: a host that is told a wrong thing does nothing and says nothing."""

DRIVEN: Final = ("--vscode-option", "enable-smoke-test-driver")
"""Without this a workbench that was built takes no tests."""

_TOLD: Final = "told: "


@dataclass
class HostRun:
    """What came of a run."""

    code: int | None = None
    """0: all passed. `None`: it did not end in time."""
    lines: list[str] = field(default_factory=list)
    """What mocha said."""
    noise: list[str] = field(default_factory=list)
    """What else was said on the console of the host."""

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def counts(self) -> tuple[int, int] | None:
        """How many passed and failed; `None`: nothing ran to its end."""
        found = re.search(r"^(\d+) passed, (\d+) failed$", self.output, re.MULTILINE)
        return (int(found[1]), int(found[2])) if found else None


def unpack(vsix: Path, folder: Path) -> Path:
    """The folder of an extension as it was packed."""
    with zipfile.ZipFile(vsix) as archive:
        archive.extractall(folder)
    return folder / "extension"


def run_in_host(
    bench: Workbench, cwd: Path, extension: Path, index: Path, seconds: float = PATIENCE
) -> HostRun:
    """Opens a window whose extension host loads the extension and runs the tests of `index`.

    Args:
        bench: Started with `DRIVEN`, and without the extension installed.
        cwd: The folder of the window.
        extension: The extension's folder.
        index: A CommonJS module with a function `run`.
        seconds: How long it may take.
    """
    run = HostRun()

    def ended(code: Any) -> None:
        run.code = int(code)

    def said(_kind: str, words: list[Any]) -> None:
        text = " ".join(map(str, words))
        is_told = text.startswith(_TOLD)
        (run.lines if is_told else run.noise).extend(text.removeprefix(_TOLD).splitlines())

    def listen(page: Page) -> None:
        page.expose_function("codeAutomationLog", said)
        page.expose_function("codeAutomationExit", ended)

    where = f"vscode-remote://127.0.0.1:{bench.port}"
    payload = {
        "extensionDevelopmentPath": f"{where}{extension}",
        "extensionTestsPath": f"{where}{index}",
    }
    window = bench.window(cwd, prepare=listen, payload=json.dumps(list(payload.items())))
    try:
        window.until(lambda: run.code is not None, "the end of the tests", seconds)
        # What was said last may come after the end.
        window.until(lambda: run.counts, "the count of the tests", 5)
    except AssertionError as late:
        run.lines += [str(late), *run.noise[-20:]]
    return run

"""A model that VS Code has, lent for summaries: by a provider that is an extension of the tests."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon import homes
from tests.daemon.homes import Home
from tests.nvim.conversations import login_fix
from tests.nvim.editor import project, write_pi_settings, write_settings
from tests.vscode.timings import timed
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

NAMES: Final = count(1)
PROVIDER: Final = Path(__file__).parent / "lending"
SETTING: Final = "pisessiond.lendModel"
LENT: Final = "Compact with a model of this editor"

_MANIFEST: Final = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="acme-models" Version="1.0.0" Publisher="acme"/>
    <DisplayName>Models of a test</DisplayName>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/>
  </Assets>
</PackageManifest>
"""


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension that has the models, packed."""
    path = tmp_path_factory.mktemp("provider") / "acme.vsix"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("extension.vsixmanifest", _MANIFEST)
        for file in PROVIDER.iterdir():
            archive.write(file, f"extension/{file.name}")
    return path


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    """A machine where nobody else is set up to write summaries."""
    with homes.home() as made:
        write_settings(made)
        write_pi_settings(made, compaction={"keepRecentTokens": 3000})
        yield made


class Desk:
    """A window with the views open, in which each test has a session of its own."""

    def __init__(self, home: Home, bench: Workbench, folder: Path) -> None:
        self.home = home
        self.bench = bench
        self.folder = folder
        self.window: Window = bench.window(folder).opens()
        self.path = Path()

    def session(self) -> None:
        """Shows a session that nobody has touched."""
        talk = login_fix(self.folder)
        name = f"talk-{next(NAMES):02}"
        talk.header["id"] = name
        talk.add("session_info", name=name)
        self.path = talk.write(self.home.agent)
        window = self.window
        window.palette("Open Session…")
        window.until(lambda: any(one.label == name for one in window.picks()), name)
        window.pick(f"^{name}")
        window.until(lambda: name in window.header(), name)

    def lend(self, model: str) -> None:
        """Chooses what is lent, and waits until that counts."""
        self.window.palette("pi Sessions: Choose a Model for Summaries…")
        self.window.pick(f"^{model}")
        self.until_lent(model != "None")

    def until_lent(self, is_lent: bool) -> None:
        """Waits until the daemon may ask for summaries, or may not."""

        def offered() -> bool:
            told = json.loads(self.home.run("summarizers", str(self.path), "--json").stdout)
            return any(one["name"] == "client" and one["ready"] for one in told["summarizers"])

        self.window.until(lambda: offered() == is_lent, "the offer")

    def compact(self) -> None:
        """Asks for a compaction by the model that is lent."""
        self.window.palette("pi Sessions: Compact…")
        assert self.window.picks()[0].label == LENT
        self.window.pick(f"^{LENT}")

    def compactions(self) -> list[dict[str, Any]]:
        """Those in the file, but for the one that was there."""
        lines = map(json.loads, self.path.read_text("utf-8").splitlines())
        return [entry for entry in lines if entry["type"] == "compaction"][1:]

    def notes(self, model: str) -> list[str]:
        """What a model says it was asked and told."""
        path = self.home.folder / f"acme-{model}.txt"
        return path.read_text("utf-8").splitlines() if path.exists() else []


SETTINGS: Final[dict[str, Any]] = {"chat.disableAIFeatures": False}


@pytest.fixture(scope="module")
def bench(home: Home, vsix: Path, provider: Path) -> Iterator[Workbench]:
    made = Workbench(home, vsix, settings=SETTINGS)
    try:
        made.install(provider)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def room(home: Home, bench: Workbench) -> Desk:
    folder = project(home, "desk")
    login_fix(folder).write(home.agent)
    return Desk(home, bench, folder)


@pytest.fixture
def desk(room: Desk) -> Iterator[Desk]:
    room.session()
    yield room
    if not room.bench.windows:
        return
    room.window.key("Escape")
    if room.window.notifications():
        room.window.palette("Notifications: Clear All Notifications")


def test_by_default_nothing_is_lent(desk: Desk) -> None:
    desk.until_lent(False)
    desk.window.palette("pi Sessions: Compact…")
    assert desk.window.picks()[0].label == "Compact with an extract"
    assert LENT not in [pick.label for pick in desk.window.picks()]


def test_a_model_that_was_chosen_writes_the_summary(desk: Desk) -> None:
    desk.window.palette("pi Sessions: Choose a Model for Summaries…")
    picks = desk.window.until(
        lambda: [one for one in desk.window.picks() if one.label.startswith("Acme")], "the models"
    )
    assert (picks[0].label, picks[0].description) == ("Acme good", "acme/good · 1.0M tokens")
    desk.window.key("Escape")
    desk.lend("Acme good")
    with timed("compaction by a lent model"):
        desk.compact()
        desk.window.sees("^Compaction 84k")
    (stored,) = desk.compactions()
    assert stored["summary"].startswith("## Goal\nWritten by Acme.")
    # The turn that is cut in two is summarised apart.
    asked, _ = desk.notes("good")
    ((role, text),) = json.loads(asked.removeprefix("asked "))
    # There is no role of the system's: what the model is comes before what it is asked.
    assert role == 1
    assert text.startswith("You write summaries")
    assert "labels = fork(labels)" in text or "pytest" in text


def test_what_the_model_refuses_is_said_and_nothing_is_stored(desk: Desk) -> None:
    desk.lend("Acme broken")
    desk.compact()
    told = desk.window.notified("gave none").text
    assert told.startswith("vscode was asked for the summary and gave none: Acme broken failed: ")
    assert "The quota of Acme is used up." in told
    assert desk.compactions() == []


def test_what_is_too_long_for_the_model_is_not_sent_to_it(desk: Desk) -> None:
    desk.lend("Acme small")
    desk.compact()
    told = desk.window.notified("gave none").text
    assert "Acme small takes 10 tokens, and this would be " in told
    assert desk.notes("small") == []
    assert desk.compactions() == []


def test_who_is_asked_each_time_may_refuse(desk: Desk) -> None:
    desk.lend("Ask each time")
    desk.compact()
    desk.window.until(
        lambda: any(pick.label == "Acme good" for pick in desk.window.picks()), "the models"
    )
    assert "characters of the session are sent" in desk.window.question()
    desk.window.key("Escape")
    desk.window.notified("gave none: The user of VS Code chose no model for it")
    assert desk.compactions() == []


def test_cancel_reaches_the_model_and_nothing_is_stored(desk: Desk) -> None:
    desk.lend("Acme slow")
    desk.compact()
    desk.window.until(lambda: desk.notes("slow"), "the question to the model")
    # What is lent shows no progress of its own beside that of the compaction.
    assert len(desk.window.notifications()) == 1
    with timed("cancel to the model's end"):
        desk.window.press("Compacting", "Cancel")
        desk.window.until(lambda: has_ended(desk.notes("slow")), "the end of it")
    desk.window.until(lambda: desk.window.notifications() == [], "the end of the progress")
    assert desk.compactions() == []


def has_ended(notes: list[str]) -> bool:
    """Whether each question to the model was cancelled."""
    return len(notes) == 2 * notes.count("cancelled")


def test_an_editor_that_is_closed_in_the_middle_leaves_the_session_as_it_was(
    desk: Desk, home: Home
) -> None:
    desk.lend("Acme slow")
    before = desk.path.read_bytes()
    asked = len(desk.notes("slow"))
    words = ("compact", str(desk.path), "--summarizer", "client", "--json")
    with home.popen(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
        # Another program wants the summary, so that there is somebody who is told.
        desk.window.until(lambda: len(desk.notes("slow")) > asked, "the question to the model")
        desk.bench.close()
        out, err = asking.communicate(timeout=30)
    assert asking.returncode == 1, err
    assert json.loads(out)["error"]["kind"] == "SummaryFailed"
    assert "vscode was asked for the summary and gave none; try again." in out.decode()
    assert desk.path.read_bytes() == before

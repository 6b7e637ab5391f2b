"""Every corpus file through a real daemon: the same answers as pi's, and no byte moved."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.client import blocking
from pisessiond.client.blocking import BlockingClient
from pisessiond.client.blocking_session import BlockingSession
from pisessiond.client.errors import RpcFailure
from pisessiond.core.inspection import describe_context
from tests.support.corpus import CORPUS, SAMPLES, Sample
from tests.support.differences import DIFFERENCES
from tests.support.pi import Pi
from tests.support.real_daemon import wait_for
from tests.support.seen import named_by_position, open_file, told_by_pi

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = 100
"""Nodes and messages of one answer: small, so that most files come in several."""

MOST: Final = 2_000
"""Entries that may be asked about at once."""

OPENED: Final = tuple(sample for sample in SAMPLES if "error" not in sample.pi_open)
REFUSED: Final = tuple(sample for sample in SAMPLES if "error" in sample.pi_open)

Children = dict[Any, list[Any]]


@dataclass(frozen=True)
class Served:
    """A daemon, a client of it, and the copies that it may open."""

    client: BlockingClient
    folder: Path

    def file(self, sample: Sample) -> Path:
        return self.folder / sample.name


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    # Not `tmp_path`: the path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="pis-") as name:
        folder = Path(name)
        for sample in SAMPLES:
            copy = folder / sample.name
            copy.parent.mkdir(exist_ok=True)
            shutil.copy2(CORPUS / sample.name, copy)
        socket = str(folder / "s")
        serve = ["serve", "--socket", socket, "--agent-dir", str(folder / "agent")]
        log = ["--log-file", str(folder / "log")]
        command = [sys.executable, "-m", "pisessiond", *serve, *log]
        with subprocess.Popen(command, cwd=ROOT) as process:
            try:
                wait_for(Path(socket), process)
                with blocking.connect(socket) as client:
                    yield Served(client, folder)
            finally:
                process.terminate()
                process.wait(10)


def children_in(chains: list[Any]) -> Children:
    """By parent (None: the roots), the children in the order of the chains."""
    children: Children = {}
    waiting: list[tuple[list[Any], Any]] = [(chains, None)]
    while waiting:
        below, parent = waiting.pop()
        for chain in below:
            above = parent
            for item in chain:
                if isinstance(item, list):
                    waiting.append((item, above))
                else:
                    children.setdefault(above, []).append(item)
                    above = item
    return children


def preorder(children: Children, leaf: Any) -> list[tuple[Any, Any]]:
    """Each entry and its parent as trees are sent: the active branch first, else pi's order."""
    parent_of = {child: parent for parent, below in children.items() for child in below}
    active = set()
    at = leaf
    while at is not None:
        active.add(at)
        at = parent_of[at]
    sent = []
    waiting: list[Any] = [None]
    while waiting:
        at = waiting.pop()
        if at is not None:
            sent.append((at, parent_of[at]))
        below = children.get(at, [])
        waiting += sorted(below, key=lambda child: child not in active)[::-1]
    return sent


def nodes_of(session: BlockingSession) -> list[Any]:
    page = session.tree(count=PAGE)
    nodes = list(page["nodes"])
    while (after := page.get("after")) is not None:
        page = session.tree(after=after, count=PAGE)
        nodes += page["nodes"]
    assert page["total"] == len(nodes)
    return nodes


def context_of(session: BlockingSession) -> tuple[list[Any], list[Any], Any]:
    """All messages at the leaf, where each comes from, and the last page's other members."""
    page = session.context(limit=PAGE)
    messages, sources = list(page["messages"]), list(page["sources"])
    while (cursor := page["cursor"]) is not None:
        page = session.context(limit=PAGE, cursor=cursor)
        messages += page["messages"]
        sources += page["sources"]
    return messages, sources, page


def expected(pi: Pi, sample: Sample, folder: Path) -> dict[str, Any]:
    """What pi tells of the file, or what the table of differences says instead."""
    told = told_by_pi(sample.pi_open)
    difference = DIFFERENCES.get(sample.name)
    if difference is not None and sample.oracle["bytes"]:
        told |= difference.instead(pi, sample.path, folder)
    return told


@pytest.mark.parametrize("sample", OPENED, ids=str)
def test_a_file_is_served_as_pi_sees_it(
    pi: Pi, served: Served, sample: Sample, tmp_path: Path
) -> None:
    told = expected(pi, sample, tmp_path)
    path = served.file(sample)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    known = open_file(path)

    session = served.client.open(path=str(path))
    opened = session.opened
    nodes = nodes_of(session)
    messages, sources, context = context_of(session)
    size = session.size()
    session.close()

    def named(value: Any) -> Any:
        return named_by_position(known, value)

    if sample.oracle["bytes"]:
        assert opened["header"]["id"] == told["sessionId"]
    assert opened["path"] == str(path)
    assert named(opened["leaf"]) == told["leafId"]
    assert (opened["entryCount"], opened["name"]) == (told["entryCount"], told["name"])
    assert len(opened["problems"]) == len(known.problems)

    links = [(named(node["id"]), named(node["parent"])) for node in nodes]
    assert links == preorder(children_in(told["tree"]), told["leafId"])
    labels = {str(named(node["id"])): node.get("label") for node in nodes}
    assert {name: label for name, label in labels.items() if label} == told["labels"]
    flagged = [node["id"] for node in nodes if "active" in node["flags"]]
    assert len(flagged) == told["branchLength"]

    assert describe_context(messages) == told["context"]
    assert (context["model"], context["thinkingLevel"]) == (told["model"], told["thinkingLevel"])
    assert len(sources) == len(messages)
    entries = told["contextEntryIds"]
    sources = list(dict.fromkeys(map(named, sources)))
    assert sources == [entry for entry in entries if entry in sources]

    estimate = told["estimateProjectedContextTokens"]
    is_measured = estimate["lastUsageIndex"] is not None
    assert size["tokens"] == estimate["tokens"]
    assert size["source"] == ("measured" if is_measured else "estimated")
    assert size["measured"] == (estimate["tokens"] if is_measured else None)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("sample", OPENED, ids=str)
def test_the_size_at_every_entry_is_served_as_pi_gives_it(
    pi: Pi, served: Served, sample: Sample, tmp_path: Path
) -> None:
    path = served.file(sample)
    difference = DIFFERENCES.get(sample.name)
    asked = path if difference is None else difference.file(sample.path, tmp_path)
    known = open_file(path)
    ids = list(dict.fromkeys(known.index.ids))
    session = served.client.open(path=str(path))
    sizes: dict[str, Any] = {}
    for start in range(0, len(ids), MOST):
        sizes |= session.sizes(ids[start : start + MOST])
    session.close()
    ours = {
        str(named_by_position(known, entry_id)): (
            size["tokens"],
            size["source"],
            size["estimated"],
        )
        for entry_id, size in sizes.items()
    }
    assert ours == {
        str(size["id"]): (
            size["tokens"],
            "measured" if size["measured"] else "estimated",
            size["estimated"],
        )
        for size in pi.sizes(asked)
    }


@pytest.mark.parametrize("sample", REFUSED, ids=str)
def test_a_file_that_is_no_session_is_refused(served: Served, sample: Sample) -> None:
    path = served.file(sample)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    with pytest.raises(RpcFailure) as refusal:
        served.client.open(path=str(path))
    assert refusal.value.kind == "NotASession"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_reading_left_nothing_behind(served: Served) -> None:
    files = {str(path.relative_to(served.folder)) for path in served.folder.glob("*/**/*")}
    assert files == {sample.name for sample in SAMPLES}

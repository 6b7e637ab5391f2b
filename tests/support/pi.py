"""Asks the real pi, run under its own Node, what it makes of a session file.

Every question works on a copy: pi mends the files it opens.
"""

import json
import platform
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

PI_FOLDER: Final = Path(__file__).resolve().parent.parent / "pi"
ORACLE: Final = PI_FOLDER / "oracle.mjs"
PI_PACKAGE: Final = PI_FOLDER / "node_modules" / "@earendil-works" / "pi-coding-agent"

Answer = dict[str, Any]


class PiMissing(RuntimeError):
    """The real pi is not installed beside the tests."""

    def __init__(self, what: Path) -> None:
        self.what = what
        super().__init__(f"{what.name} is not installed under tests/pi/node_modules: run make test")


class PiFailed(AssertionError):
    """The helper could not answer: a wrong question, a time-out, or its own death."""


def node_path() -> Path:
    """The Node that came with the test packages; pi wants a newer one than Debian's.

    Raises:
        PiMissing: nothing is installed, or not for this processor.
    """
    processor = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    node = PI_FOLDER / "node_modules" / f"node-linux-{processor}" / "bin" / "node"
    for needed in (node, PI_PACKAGE):
        if not needed.exists():
            raise PiMissing(needed)
    return node


class Pi:
    """A running helper process that holds real pi; one question at a time.

    What pi throws is part of the answer, as a member `error`. v1 ids, random at each opening, are
    shown as `#n` and may be given so.
    """

    def __init__(self, timeout: float = 60.0) -> None:
        self.timeout = timeout
        """Seconds to wait for one answer."""
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        self._errors: list[bytes] = []
        self._lock = threading.Lock()

    def start(self) -> Self:
        node = node_path()
        # It stands in a folder of its own, so that "where the opener stood" is told from any cwd
        # that a file names, and so that nothing of the machine's own pi settings is read.
        self._folder = tempfile.TemporaryDirectory(prefix="pi-oracle-")
        self._process = subprocess.Popen(
            [str(node), str(ORACLE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder.name,
            env={"PATH": "/usr/bin:/bin", "HOME": self._folder.name},
        )
        self._answers = queue.SimpleQueue()
        self._errors = []
        self._reader = threading.Thread(
            target=self._read, args=(self._process,), name="pi-oracle", daemon=True
        )
        self._reader.start()
        return self

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            self._answers.put(line)
        self._errors.append(process.stderr.read()[-4000:])
        self._answers.put(b"")

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if self._reader is not None:
                self._reader.join(5)
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                stream.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def ask(self, op: str, *, timeout: float | None = None, **request: Any) -> Any:
        """The answer to one request; starts the helper if it does not run.

        Raises:
            PiMissing: pi is not installed.
            PiFailed: the request was wrong, or no answer came in time (the helper is then ended).
        """
        with self._lock:
            if self._process is None:
                self.start()
            process = self._process
            assert process is not None
            assert process.stdin is not None
            wait = self.timeout if timeout is None else timeout
            try:
                process.stdin.write(json.dumps({"op": op, **request}).encode() + b"\n")
                process.stdin.flush()
                line = self._answers.get(timeout=wait)
            except queue.Empty:
                process.kill()
                self.stop()
                raise PiFailed(f"pi did not answer {op} within {wait} s") from None
            except BrokenPipeError:
                line = b""
            if not line:
                self.stop()
                raise PiFailed(
                    f"pi died at {op}: {b''.join(self._errors).decode(errors='replace')}"
                )
        answer = json.loads(line)
        if "failure" in answer:
            raise PiFailed(f"{op}: {answer['failure']}")
        return answer["result"]

    def open(self, path: Path, *, cwd: str | None = None) -> Answer:
        """The members of `pi160.open` in an oracle file of tests/golden/corpus."""
        return cast(Answer, self.ask("open", path=str(path), **_given(cwd=cwd)))

    def core(self, path: Path) -> Answer:
        """The members of `core0802`: what agent-core 0.80.2 makes of the file."""
        return cast(Answer, self.ask("core", path=str(path)))

    def sizes(
        self, path: Path, ids: Sequence[str] | None = None, *, timeout: float | None = None
    ) -> list[Answer]:
        """The size at each entry, in file order, or at `ids` in theirs.

        Each is `{id, tokens, usageTokens, measured, estimated}`; `estimated` trusts no usage and is
        None where pi throws over a message that the rest does not look at. Or `{id, error}`.
        """
        answer = self.ask("sizes", timeout=timeout, path=str(path), **_given(ids=ids))
        return cast(list[Answer], answer)

    def at(self, path: Path, entry_id: str | None, *, messages: bool = False) -> Answer:
        """The context with the leaf at an entry, or before the first one (None).

        Members: branchLength, contextEntryIds, context, thinkingLevel, model, the two estimates,
        and the messages themselves when asked for.
        """
        return cast(Answer, self.ask("at", path=str(path), id=entry_id, messages=messages))

    def prepare(
        self,
        path: Path,
        entry_id: str | None = None,
        *,
        keep_recent_tokens: int | None = None,
        reserve_tokens: int | None = None,
    ) -> Answer | None:
        """What a compaction at the leaf, or at an entry, would summarise; None for nothing."""
        request: dict[str, Any] = _given(
            id=entry_id, keepRecentTokens=keep_recent_tokens, reserveTokens=reserve_tokens
        )
        return cast(Answer | None, self.ask("prepare", path=str(path), **request))

    def collect(self, path: Path, start: str | None, target: str, budget: int = 0) -> Answer:
        """What a branch summary would tell of a move from one entry to another."""
        request: dict[str, Any] = {"from": start, "target": target, "budget": budget}
        return cast(Answer, self.ask("collect", path=str(path), **request))

    def prepare_all(self, path: Path, places: Sequence[Answer]) -> list[Answer | None]:
        """What compacting at each of `{id, keep}` would summarise; None for nothing.

        In the conversations stands a message's number between two U+0001 for words of pi's own.
        """
        answer = self.ask("prepareAll", path=str(path), places=places)
        return cast("list[Answer | None]", answer)

    def collect_all(self, path: Path, moves: Sequence[Answer]) -> list[Answer]:
        """What a summary would tell of the branch that each of `{from, target, budget}` leaves."""
        return cast("list[Answer]", self.ask("collectAll", path=str(path), moves=moves))

    def compact_at(
        self,
        path: Path,
        entry_id: Any,
        keep: int,
        answers: Sequence[Answer],
        *,
        in_place: bool = False,
    ) -> Answer | None:
        """pi's whole compaction at an entry, written by a model that gives `{text, usage}` in turn.

        `{summary, line, asked}`: its text, the line appended (to the file itself when `in_place`)
        and the prompts; None for nothing to compact.
        """
        how: dict[str, Any] = {"id": entry_id, "keep": keep, "inPlace": in_place}
        answer = self.ask("compactAt", path=str(path), answers=answers, **how)
        return cast(Answer | None, answer)

    def move_with_summary(
        self,
        path: Path,
        start: Any,
        target: Any,
        new_leaf: Any,
        answers: Sequence[Answer],
        *,
        window: int,
        reserve: int,
    ) -> Answer | None:
        """pi's whole move with a summary, told like a compaction; None when nothing is left."""
        how: dict[str, Any] = {"from": start, "target": target, "newLeaf": new_leaf}
        answer = self.ask(
            "moveWithSummary",
            path=str(path),
            answers=answers,
            window=window,
            reserve=reserve,
            **how,
        )
        return cast(Answer | None, answer)

    def build(
        self, folder: Path, cwd: str, ops: Iterable[Mapping[str, Any]], *, keep: str | None = None
    ) -> Answer:
        """Runs operations on a real session manager and returns what it wrote.

        One that is kept under a name goes on in the next list that names it.
        An operation is `op(...)` below; `ref(n)` as an argument is what operation `n` gave.
        Returns `{path, text, leafId, results, files}`; `text` is None while nothing is on disk.
        """
        asked = [dict(one) for one in ops]
        answer = self.ask("build", dir=str(folder), cwd=cwd, ops=asked, **_given(keep=keep))
        return cast(Answer, answer)

    def glance(self, paths: Sequence[Path]) -> list[Answer]:
        """Of each file: `{leafId, entries: [[id, parentId]], branch}`, or `{error}`."""
        asked = [str(path) for path in paths]
        return cast(list[Answer], self.ask("glance", paths=asked, timeout=max(60, len(asked))))

    def append_many(
        self,
        path: Path,
        count: int,
        *,
        burst: int,
        pause_ms: float,
        seed: int,
        text: str = "",
        timeout: float = 300.0,
    ) -> Answer:
        """Let pi open a file and append messages to it in bursts: `{ids, lines, bytes}`."""
        how: dict[str, Any] = {"burst": burst, "pauseMs": pause_ms, "seed": seed, "text": text}
        answer = self.ask("appendMany", path=str(path), count=count, timeout=timeout, **how)
        return cast(Answer, answer)

    def export_branch(self, path: Path, entry_id: str | None = None) -> str:
        """The JSONL text that pi exports of the branch down to an entry (None: its own leaf)."""
        return cast(str, self.ask("exportBranch", path=str(path), **_given(id=entry_id)))

    def render_markdown(self, text: str) -> str:
        """The HTML that pi's own Markdown library makes of a text; it takes nothing out."""
        return cast(str, self.ask("renderMarkdown", text=text))

    def stringify(self, texts: Sequence[str]) -> list[str | None]:
        """`JSON.stringify(JSON.parse(text))` of each; None where it is no JSON."""
        return cast(list[str | None], self.ask("stringify", texts=texts))

    def date_ms(self, values: Sequence[Any]) -> list[float | None]:
        """`new Date(value).getTime()` of each; None where JavaScript reads no time."""
        return cast(list[float | None], self.ask("dateMs", values=values))

    def sort(self, entries: Sequence[Mapping[str, Any]]) -> list[str]:
        """Ids of sibling entries (`{id, timestamp}`) in the order of pi's tree."""
        return cast(list[str], self.ask("sort", entries=[dict(one) for one in entries]))

    def list(self, folder: Path, cwd: str | None = None) -> list[Answer]:
        """What pi's list tells of the files of a folder, of those of `cwd` alone if it is given."""
        return cast("list[Answer]", self.ask("list", dir=str(folder), **_given(cwd=cwd)))

    @staticmethod
    def bench_list(agent_dir: Path, *, timeout: float = 600.0) -> dict[str, float]:
        """How long pi takes to list an agent dir, in a fresh process: `{sessions, ms, rssMb}`."""
        done = subprocess.run(
            [str(node_path()), str(ORACLE), "benchList"],
            capture_output=True,
            timeout=timeout,
            check=False,
            env={"PATH": "/usr/bin:/bin", "PI_CODING_AGENT_DIR": str(agent_dir)},
        )
        if done.returncode != 0:
            raise PiFailed(f"pi's list died: {done.stderr.decode(errors='replace')[-4000:]}")
        return cast(dict[str, float], json.loads(done.stdout))

    @staticmethod
    def bench(path: Path, *, positions: int = 20, timeout: float = 600.0) -> dict[str, float]:
        """How long pi takes over one file, measured in a fresh process.

        Members: entries, tokens, importMs, openMs, sizeMs, treeMs, rssImportMb, rssOpenMb, rssMb,
        appendMs, appendP99Ms, sizeAfterAppendMs, and the mean size at some positions:
        sampledPositions, sampledSizeMeanMs.
        """
        done = subprocess.run(
            [str(node_path()), "--expose-gc", str(ORACLE), "bench", str(path), str(positions)],
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise PiFailed(f"pi's bench died: {done.stderr.decode(errors='replace')[-4000:]}")
        return cast(dict[str, float], json.loads(done.stdout))


def op(name: str, *args: Any) -> dict[str, Any]:
    """One operation for `Pi.build`: `create`, `open`, `forkFrom`, or a method of pi's manager."""
    return {"op": name, "args": list(args)}


def ref(number: int) -> dict[str, int]:
    """An argument: what operation `number` of the same list gave."""
    return {"ref": number}


NOT_GIVEN: Final = {"undefined": True}
"""An argument left out, where a later one is given."""


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}

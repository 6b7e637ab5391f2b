"""How long we and pi take to list an agent dir of many sessions, each in a fresh process.

Ours is the list that the daemon answers with, every row of it, by an index that is not there yet
(cold) or that is (warm); pi's is `SessionManager.listAll`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench import generated
from tests.bench.figures import Row, Samples, Table
from tests.bench.generated import CACHE, session_lines
from tests.support.pi import Pi

ROOT = Path(__file__).resolve().parents[2]
FIRST_ROWS = 50
"""As many as a client asks for that says nothing."""
_FEWEST_ENTRIES = 600
_START_MS = 1_760_000_000_000


def agent_dir(files: int) -> Path:
    """An agent dir with so many sessions of about 1 MB in ten folders, made when it is missing."""
    stamp = hashlib.sha256(Path(generated.__file__).read_bytes()).hexdigest()[:12]
    folder = CACHE / f"agent-{files}-{stamp}"
    done = folder / "done"
    if not done.exists():
        CACHE.mkdir(exist_ok=True)
        (CACHE / ".gitignore").write_text("*\n")
        for older in CACHE.glob(f"agent-{files}-*"):
            shutil.rmtree(older, ignore_errors=True)
        for number in range(files):
            _make_file(folder / "sessions" / f"--project-{number % 10}--", number)
        done.touch()
    return folder


def _make_file(folder: Path, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"2025-10-01T00-00-00-000Z_bench-{number:03}.jsonl"
    header, *entries = session_lines(_FEWEST_ENTRIES + number)
    lines = [header.replace(b'"bench"', b'"bench-%03d"' % number), *entries]
    path.write_bytes(b"\n".join(lines) + b"\n")
    # Changed when its last message was written, as real files are.
    newest = max(json.loads(line).get("message", {}).get("timestamp", 0) for line in lines)
    changed = (newest or _START_MS) * 1_000_000 + 2_000_000
    os.utime(path, ns=(changed, changed))


def measure_listing(files: int, rounds: int) -> Table:
    """The table of so many files."""
    folder = agent_dir(files)
    ours: Samples = {}
    pi: Samples = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="pd-bench-") as cache:
            for name in ("first", "cold", "warm"):
                if name == "cold":
                    shutil.rmtree(cache)
                for figure, value in _measure_ours(folder, cache, name).items():
                    ours.setdefault(f"{name}{figure}", []).append(value)
        for figure, value in Pi.bench_list(folder).items():
            pi.setdefault(figure, []).append(value)
    assert ours["coldSessions"] == pi["sessions"], "we and pi should list the same sessions"
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl")) / 1e6
    return Table(
        f"the list of {files} sessions, {size:.0f} MB; pi: listAll",
        [
            Row("every row, cold", "ms", ours["coldMs"], pi["ms"], 0.7),
            Row("every row, warm", "ms", ours["warmMs"], pi["ms"], 0.02),
            Row(f"the first {FIRST_ROWS} at most, cold", "ms", ours["firstMs"], None, 200, "value"),
            Row("memory, cold", "MB", ours["coldPeakMb"], pi["rssMb"], 150, "value"),
        ],
    )


def _measure_ours(folder: Path, cache: str, name: str) -> dict[str, float]:
    limit = FIRST_ROWS if name == "first" else 100_000
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.listing", str(folder), cache, str(limit)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _list(folder: str, cache: str, limit: int) -> dict[str, float]:
    """Lists in this process, which does nothing else; in the worker of a daemon it is the same."""
    import time

    from pisessiond.app import session_places
    from pisessiond.service.listing import Lister, Wanted
    from pisessiond.service.shelf import Shelf
    from pisessiond.storage.catalogue import CatalogueFile
    from pisessiond.storage.glancing import FolderGlances
    from pisessiond.storage.jsonl import JsonlStore

    began = time.perf_counter()
    catalogue, glances = CatalogueFile(f"{cache}/index/catalogue.sqlite"), FolderGlances()
    shelf = Shelf(catalogue, glances, JsonlStore())
    lister = Lister(shelf, glances, session_places(folder), lambda: "2026-01-01T00:00:00.000Z")
    sessions, cursor = 0, None
    while True:
        page = lister.page([], Wanted(limit=limit, cursor=cursor))
        sessions += len(page.sessions)
        if (cursor := page.cursor) is None or limit == FIRST_ROWS:
            break
    took = (time.perf_counter() - began) * 1000
    assert sessions, "at least one row comes at once"
    peak = _peak_mb()
    shelf.close()
    return {"Sessions": sessions, "Ms": took, "PeakMb": peak}


def _peak_mb() -> float:
    """The most memory this process had. What `getrusage` says begins with that of whoever forked
    it, and a whole test run is larger than what is measured here."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(_list(sys.argv[1], sys.argv[2], int(sys.argv[3]))))

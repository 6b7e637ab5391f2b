"""Export, import, delete, totals and completion with real files, a real daemon and a real trash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pisessiond.cli.main import cli
from pisessiond.cli.totals_view import totals_lines
from tests.daemon.homes import Home
from tests.support.exports import SAMPLE
from tests.support.real_daemon import wait_for
from tests.support.seen import inspected, open_file


@pytest.fixture
def home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="pf-") as folder:
        made = Home(Path(folder))
        made.environment |= {"HOME": folder, "XDG_DATA_HOME": f"{folder}/data"}
        shutil.copy(SAMPLE, made.sessions / "2026-11-12T13-51-40-000Z_sample.jsonl")
        yield made


@pytest.fixture
def daemon(home: Home) -> Iterator[None]:
    """One with a trash of its own: who starts it for a client takes the user's."""
    socket = home.folder / "s"
    home.environment["PISESSIOND_SOCKET"] = str(socket)
    with home.popen("serve", "--socket", str(socket)) as process:
        try:
            wait_for(socket, process)
            yield
        finally:
            process.terminate()
            process.wait(10)


@pytest.mark.slow
@pytest.mark.usefixtures("daemon")
def test_a_session_is_exported_imported_and_deleted_from_a_shell(home: Home) -> None:
    source = next(home.sessions.iterdir())
    out = home.folder / "out.jsonl"
    home.run("export", str(source), "-o", str(out))
    again = home.run("export", str(source), "-o", str(out), code=1)
    assert "name a new file" in again.stderr
    page = home.run("export", str(source), "--whole").stdout
    assert page.startswith("<!doctype html>")
    taken = home.run("import", str(out), code=1)
    assert "exists already" in taken.stderr
    told = home.run("import", str(out), "--new-id", "--cwd", str(home.folder), "--json").stdout
    made = Path(json.loads(told)["path"])
    ours, theirs = inspected(open_file(made)), inspected(open_file(source))
    for member in ("leafId", "branchLength", "contextEntryIds", "context", "name"):
        assert ours[member] == theirs[member]
    assert "nobody can be asked" in home.run("delete", str(made), code=2, input="").stderr
    data = made.read_bytes()
    home.run("delete", str(made), "--yes")
    assert not made.exists()
    (trashed,) = (home.folder / "data" / "Trash" / "files").iterdir()
    assert trashed.read_bytes() == data
    assert source.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("daemon")
def test_what_comes_by_standard_input_is_copied_byte_by_byte(home: Home) -> None:
    header, rest = next(home.sessions.iterdir()).read_bytes().split(b"\n", 1)
    odd = rest.replace(b"Fix", b"\xff\xfeFix")
    assert odd != rest
    source = home.folder / "odd.jsonl"
    source.write_bytes(header + b"\n" + odd)
    with source.open("rb") as file:
        told = home.run("import", "-", "--new-id", "--json", stdin=file).stdout
    made = Path(json.loads(told)["path"])
    assert made.read_bytes().split(b"\n", 1)[1] == odd


@pytest.mark.slow
def test_totals_are_read_without_a_daemon(home: Home) -> None:
    found = json.loads(home.run("stats", "--all", "--json").stdout)
    assert (found["sessions"], found["answers"]) == (1, 10)
    assert found["models"][0]["model"] == "claude-sonnet-4-5"
    text = home.run("stats", "--all", "--ascii", "--width", "60").stdout
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 60
    assert "#" in text
    assert not home.state.exists()


def test_totals_fit_any_width_and_show_the_end_of_long_folders() -> None:
    tokens = {"input": 5, "output": 5, "cacheRead": 0, "cacheWrite": 0}
    part = {"tokens": tokens, "cost": 0.0}
    long = "/srv/" + "x" * 60 + "/client"
    found = {
        "sessions": 1,
        "answers": 2,
        "shared": 1,
        **part,
        "models": [{"model": f"m{n}\x1b[31m", **part} for n in range(20)],
        "projects": [{"cwd": long, **part}],
        "days": [{"day": f"2026-11-{n:02}", **part} for n in range(1, 31)],
    }
    lines = list(totals_lines(found, 60))
    assert all(len(line) <= 60 for line in lines)
    assert any("xxx/client" in line and "█" in line for line in lines)
    assert "  and 8 more" in lines
    assert "by day, the last 14" in lines
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_PISESSIOND_COMPLETE={shell}_complete" in result.stdout


def test_a_shell_completes_commands_and_options(tmp_path: Path) -> None:
    script = CliRunner().invoke(cli, ["completion", "bash"]).stdout
    (tmp_path / "pisessiond").write_text('#!/bin/sh\nexec "$PYTHON" -m pisessiond "$@"\n')
    (tmp_path / "pisessiond").chmod(0o755)
    for words, expected in (("pisessiond exp", "export"), ("pisessiond export --who", "--whole")):
        parts = words.split()
        asked = (
            f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(parts) - 1}\n"
            '_pisessiond_completion pisessiond; echo "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", asked],
            capture_output=True,
            encoding="utf-8",
            check=True,
            env={
                **os.environ,
                "PATH": f"{tmp_path}:{os.environ['PATH']}",
                "PYTHON": sys.executable,
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
        )
        assert expected in done.stdout.split()

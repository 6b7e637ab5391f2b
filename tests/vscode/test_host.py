"""The extension's own tests, run by mocha inside VS Code's real extension host."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.daemon.homes import Home
from tests.nvim.conversations import login_fix
from tests.vscode.conftest import building
from tests.vscode.host import DRIVEN, run_in_host, unpack
from tests.vscode.workbench import EXTENSION, Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TESTS: Final = EXTENSION / "dist" / "host"


@pytest.fixture(scope="module")
def extension(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed extension in a folder, and its tests bundled."""
    with building():
        command = ["node", "scripts/build.mjs", "--host", str(TESTS)]
        done = subprocess.run(command, cwd=EXTENSION, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return unpack(vsix, tmp_path_factory.mktemp("unpacked"))


@pytest.fixture(scope="module")
def host(home: Home) -> Iterator[Workbench]:
    """A workbench that runs tests; nothing is installed in it."""
    made = Workbench(home, None, options=DRIVEN)
    try:
        yield made
    finally:
        made.close()


def test_the_tests_in_the_extension_host_pass(
    home: Home, cwd: Path, host: Workbench, extension: Path
) -> None:
    login_fix(cwd).write(home.agent)
    run = run_in_host(host, cwd, extension, TESTS / "index.cjs")
    print(run.output)
    assert run.code == 0, run.output
    assert run.counts is not None
    assert run.counts[0] >= 20
    assert host.windows[-1].notifications() == []


def test_a_test_that_is_wrong_is_reported_with_its_difference(
    cwd: Path, host: Workbench, extension: Path
) -> None:
    run = run_in_host(host, cwd, extension, TESTS / "wrong" / "index.cjs")
    assert run.code == 1
    assert run.counts == (1, 1)
    assert "-as it is" in run.output
    assert "+as it should be" in run.output

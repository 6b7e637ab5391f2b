"""Commands over things that are no ordinary session files end, and say why."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pisessiond.cli.main import cli
from pisessiond.storage.errors import Unreadable
from pisessiond.storage.jsonl import JsonlStore
from tests.support.corpus import SAMPLES, Sample


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path.name)
def test_inspect_prints_every_file_of_the_corpus(sample: Sample) -> None:

    result = CliRunner().invoke(cli, ["inspect", str(sample.path)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert result.exit_code in (0, 1)
    assert result.output


@pytest.mark.parametrize("command", ["inspect", "check"])
def test_a_named_pipe_is_not_waited_for(tmp_path: Path, command: str) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    result = CliRunner().invoke(cli, [command, str(pipe)])
    assert "no regular file" in result.output


def test_pipes_and_folders_are_no_sessions_of_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "s.jsonl").write_bytes(b"")
    store = JsonlStore()
    assert store.list_paths(str(tmp_path)) == [str(tmp_path / "s.jsonl")]
    for name in ("pipe.jsonl", "folder.jsonl"):
        with pytest.raises(Unreadable):
            store.open(str(tmp_path / name))


def test_a_repair_makes_no_folders(tmp_path: Path) -> None:
    path = next(sample.path for sample in SAMPLES if sample.path.name == "duplicate-id.jsonl")
    out = tmp_path / "typing" / "error.jsonl"
    result = CliRunner().invoke(cli, ["check", str(path), "--repair", str(out)])
    assert result.exit_code == 2
    assert "no folder" in result.output
    assert not out.parent.exists()

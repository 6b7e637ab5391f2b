"""Totals over many sessions: what counts, once, and for whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pisessiond.core.usage import UsageTotals
from pisessiond.service.places import Places
from pisessiond.service.totalling import all_paths, total_files
from pisessiond.storage.jsonl import JsonlStore

DAY = "2026-11-30"


def usage(tokens: int, cost: float) -> dict[str, Any]:
    return {"input": tokens, "output": 1, "cacheRead": 2, "cacheWrite": 3, "cost": {"total": cost}}


def said(entry_id: str, model: str = "opus", tokens: int = 10, time: str = DAY) -> dict[str, Any]:
    message = {"role": "assistant", "model": model, "usage": usage(tokens, 0.5), "content": []}
    stamp = f"{time}T10:00:00.000Z"
    return {"type": "message", "id": entry_id, "timestamp": stamp, "message": message}


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[tuple[int, int]] = []

    def write(self, name: str, *entries: Any, cwd: str = "/srv", parent: str | None = None) -> Path:
        path = self.path / f"{name}.jsonl"
        header = {"type": "session", "version": 3, "id": name, "cwd": cwd}
        if parent is not None:
            header["parentSession"] = parent
        lines = [header, *entries]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def total(self, cwd: str | None = None) -> UsageTotals:
        paths = [str(path) for path in self.path.iterdir()]
        return total_files(
            JsonlStore(), paths, lambda t: t[:10], cwd=cwd, progress=lambda *a: self.told.append(a)
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_usage_adds_up_by_model_project_and_day(folder: Folder) -> None:
    folder.write("1", said("a"), said("b", "haiku", time="2026-11-29"))
    folder.write("2", said("c", tokens=20), cwd="/else")
    total = folder.total()
    assert (total.sessions, total.answers, total.shared) == (2, 3, 0)
    assert (total.all.input, total.all.output, total.all.cache_read) == (40, 3, 6)
    assert total.all.cost == 1.5
    assert {key: part.input for key, part in total.by_model.items()} == {"opus": 30, "haiku": 10}
    assert {key: part.input for key, part in total.by_project.items()} == {"/srv": 20, "/else": 20}
    assert {key: part.input for key, part in total.by_day.items()} == {DAY: 30, "2026-11-29": 10}
    assert folder.told == [(1, 2), (2, 2)]


def test_what_forks_share_counts_once_where_it_was_written(folder: Folder) -> None:
    first = folder.write("1", said("a"), said("b"))
    second = folder.write("2", said("a"), said("c"), cwd="/fork", parent=str(first))
    folder.write("3", said("a"), said("c"), said("d"), cwd="/fork", parent=str(second))
    total = folder.total()
    assert (total.answers, total.shared) == (4, 3)
    assert {key: part.input for key, part in total.by_project.items()} == {"/srv": 20, "/fork": 20}
    # Of one folder alone, what it shares with others is its own.
    assert folder.total("/fork").answers == 3


def test_forks_of_a_session_that_is_gone_are_one_family(folder: Folder) -> None:
    for name in "12":
        folder.write(name, said("a"), parent="/gone/x.jsonl")
    assert folder.total().answers == 1


def test_the_same_id_in_strangers_or_at_another_time_is_another_entry(folder: Folder) -> None:
    path = folder.write("1", said("a"))
    folder.write("2", said("a"))
    folder.write("3", said("a", time="2026-11-28"), parent=str(path))
    assert folder.total().answers == 3


def test_summaries_and_usage_entries_count_and_other_words_do_not(folder: Folder) -> None:
    folder.write(
        "1",
        {"type": "compaction", "id": "a", "summary": "", "usage": usage(1, 1)},
        {"type": "usage", "id": "b", "model": "opus", "usage": usage(2, 1)},
        {"type": "custom", "id": "c", "data": {"usage": usage(4, 1)}},
        {"type": "message", "id": "d", "message": {"role": "user", "content": '"usage"'}},
        {"type": "message", "id": "e", "message": {"role": "assistant", "usage": "much"}},
        {"type": "message", "id": "f", "message": 7, "usage": usage(8, 1)},
    )
    total = folder.total()
    assert (total.answers, total.all.input) == (2, 3)
    assert set(total.by_model) == {"unknown", "opus"}


def test_files_that_are_no_sessions_are_passed_over(folder: Folder) -> None:
    (folder.path / "junk.jsonl").write_bytes(b"\xff\xfe\n{}\n")
    (folder.path / "empty.jsonl").write_bytes(b"")
    (folder.path / "gone.jsonl").symlink_to("nowhere")
    path = folder.write("1", said("a"))
    with path.open("ab") as file:
        file.write(b'torn "usage" {\n')
    (folder.path / "twice.jsonl").symlink_to(path)
    assert (folder.total().sessions, folder.total().answers) == (1, 1)


def test_every_session_folder_is_looked_at(tmp_path: Path) -> None:
    for where in ("agent/sessions/--srv--", "agent/sessions/--else--", "own"):
        (tmp_path / where).mkdir(parents=True)
        Folder(tmp_path / where).write("1", said("a"))
    places = Places(str(tmp_path / "agent"), str(tmp_path), {}, lambda _: None)
    assert len(all_paths(JsonlStore(), places, "/srv", None)) == 2
    assert len(all_paths(JsonlStore(), places, "/srv", str(tmp_path / "own"))) == 3

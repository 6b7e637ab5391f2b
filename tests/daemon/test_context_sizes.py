"""What the daemon says of the context, with pi's own files telling models and settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client import blocking
from tests.daemon.homes import Home
from tests.support.service import answer, entry, user

pytestmark = pytest.mark.slow

MODELS = {
    "providers": {
        "demo": {
            "baseUrl": "http://127.0.0.1:9/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [
                {
                    "id": "one",
                    "contextWindow": 1_000,
                    "maxTokens": 100,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                }
            ],
        }
    }
}


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


@pytest.fixture
def talk(home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session whose model has a window of 1,000 tokens, 720 of which are used."""
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])
    write(home.agent / "models.json", MODELS)
    write(home.agent / "settings.json", {"compaction": {"reserveTokens": 300}})
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "pytest -q"}}
    asked = {"role": "assistant", "content": [call], "provider": "demo", "model": "one"}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": "x" * 2_000}
    return home.session(
        "talk",
        [
            user("Fix the login", "u1"),
            entry("message", "a1", "u1", message=asked),
            entry("message", "r1", "a1", message=result),
            answer("Done", "a2", "r1", usage=720),
        ],
    )


def test_an_opener_and_everyone_after_is_told_how_full_the_window_is(talk: Path) -> None:
    with blocking.connect() as client:
        session = client.open(path=str(talk))
        first = session.context_size
        assert first is not None
        assert (first["model"], first["window"], first["percent"]) == ("demo/one", 1_000, 72.0)
        assert (first["grade"], first["dueAt"], first["due"]) == ("warn", 700, True)
        size = session.size()
        assert (size["tokens"], size["estimated"], size.get("unexplained")) == (720, 512, 208)
        assert sum((size.get("parts") or {}).values()) == 512
        (largest, *_) = size.get("largest") or []
        (stored,) = session.entries(ids=["r1"])["entries"]
        assert largest == {
            "entry": "r1",
            "title": "bash pytest -q",
            "tokens": 500,
            "time": stored["timestamp"],
        }
        assert session.sizes(["a2"], window=10_000)["a2"]["percent"] == 7.2
        session.edit_context("r1", None)
        size = session.size()
        assert (size["source"], size["tokens"], size["grade"], size["due"]) == (
            "estimated",
            12,
            "ok",
            False,
        )
        for update in session.changes():
            if update.leaf == session.leaf and update.context_size == size:
                break


def test_changed_settings_count_at_the_next_request_and_all_are_told(
    home: Home, talk: Path
) -> None:
    with blocking.connect() as one, blocking.connect() as two:
        here, there = one.open(path=str(talk)), two.open(path=str(talk))
        here.size()
        write(home.agent / "settings.json", {"compaction": {"enabled": False}})
        assert (here.size()["dueAt"], here.size()["due"]) == (None, False)
        for update in there.changes():
            if update.context_size is not None and not update.context_size["due"]:
                break
        assert update.context_size is not None
        assert update.context_size["percent"] == 72.0


def test_the_command_line_shows_what_fills_the_context(home: Home, talk: Path) -> None:
    shown = home.run("context", str(talk), "--size").stdout.splitlines()
    assert shown[:3] == [
        "context 720 of 1.0k  72% measured",
        "  demo/one · a compaction is due",
        "  tool results      500   69%",
    ]
    assert "  not explained    +208   29%" in shown
    assert "  estimate runs low here (x1.4)" in shown
    assert "  1     500   69%  r1        bash pytest -q" in shown
    told = json.loads(home.run("context", str(talk), "--size", "--json").stdout)
    assert (told["tokens"], told["window"], told["due"]) == (720, 1_000, True)
    header = home.run("tree", str(talk)).stdout.splitlines()[0]
    assert "720 of 1.0k" in header
    assert header.endswith("72% measured")

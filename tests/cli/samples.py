"""Small answers of a daemon, for the views to draw."""

from __future__ import annotations

from typing import Any

from pisessiond.client.answers import (
    CompactionPreview,
    CompareResult,
    ContextSize,
    MovePreview,
    Node,
    OpenResult,
    Progress,
    Row,
    StatsResult,
    StatusResult,
    SummarizerChoice,
    TokenTotals,
)

SIZE: ContextSize = {
    "tokens": 84_100,
    "source": "measured",
    "estimated": 80_000,
    "measured": 84_100,
    "measuredAt": "2026-11-12T14:33:00.000Z",
    "before": None,
    "window": 200_000,
    "percent": 42.05,
    "model": "anthropic/opus-5",
    "grade": "ok",
    "dueAt": 183_616,
    "due": False,
    "parts": {"system": 11_200, "user": 3_100, "assistant": 9_000, "toolResults": 41_300},
}
OPENED: OpenResult = {
    "session": "0192f3c1",
    "path": "/srv/demo/login.jsonl",
    "header": {"type": "session", "version": 3, "id": "0192f3c1", "cwd": "/srv/demo"},
    "epoch": "e1",
    "rev": 1,
    "leaf": "a5",
    "unsaved": True,
    "readOnly": None,
    "lastExternal": None,
    "name": "login-fix",
    "entryCount": 341,
    "mode": "snapshot",
    "contextSize": SIZE,
    "problems": [],
    "operation": None,
    "clients": [{"client": "c1", "name": "nvim"}],
    "skipBranchPrompt": False,
}
HIT: dict[str, Any] = {
    "session": "s1",
    "path": "/srv/demo/s1.jsonl",
    "cwd": "/srv/demo",
    "name": "login-fix",
    "entry": "aaaaaaaa",
    "role": "user",
    "tool": None,
    "time": "2026-11-12T14:33:00.000Z",
    "snippet": {"text": "Fix the login", "matches": [{"start": 8, "end": 13}]},
    "copies": [],
}
STATUS: StatusResult = {
    "pid": 4711,
    "version": "0.1.0",
    "protocolVersion": 1,
    "started": "2026-11-12T08:00:00.000Z",
    "uptime": 23_707.4,
    "clients": [
        {
            "name": "nvim",
            "id": "c1",
            "transport": "unix",
            "initialized": True,
            "sessions": ["0192f3c1"],
            "running": 0,
            "queued": 0,
            "queuedBytes": 0,
        }
    ],
    "sessions": [
        {
            "session": "0192f3c1",
            "path": "/srv/demo/login.jsonl",
            "epoch": "e1",
            "rev": 7,
            "subscribers": 2,
        }
    ],
    "watch": {"how": "inotify", "reason": None},
    "memory": {"rss": 48_300_000},
    "log": None,
    "agentDir": "/srv/demo/agent",
    "address": "/srv/demo/socket",
    "tcp": None,
    "idle": 600.0,
}
_TOTALS: Any = {
    "messages": {"user": 3, "assistant": 4, "toolResult": 2},
    "toolCalls": 2,
    "tokens": {"input": 1_920_000, "output": 41_200, "cacheRead": 812, "cacheWrite": 0},
    "cost": 3.12,
    "models": [
        {
            "model": "demo/opus-5",
            "tokens": {"input": 1_920_000, "output": 41_200, "cacheRead": 812, "cacheWrite": 0},
            "cost": 3.12,
        }
    ],
}
STATS: StatsResult = {"rev": 1, "branch": _TOTALS, "file": _TOTALS}


def node(drawn: str, **members: Any) -> Node:
    """A node from `id parent role: preview`; the parent `-` is none, the role may be a type.

    `[label]` before the preview is its label, `*` behind the id makes it active, `84k` is written
    with `size=84_000`.
    """
    head, _, preview = drawn.partition(": ")
    name, parent, role = head.split()
    flags = ["active"] if name.endswith("*") else []
    label = None
    if preview.startswith("["):
        label, _, preview = preview[1:].partition("] ")
    is_message = role in {"user", "assistant", "toolResult", "bashExecution", "system"}
    size = members.pop("size", None)
    made: Any = {
        "id": name.rstrip("*"),
        "parent": None if parent == "-" else parent,
        "type": "message" if is_message else role,
        "role": role if is_message else None,
        "preview": preview,
        "time": "2026-11-12T14:33:00.000Z",
        "children": 0,
        "tokens": 10,
        "contextSize": {"tokens": size, "source": "measured"} if size else None,
        "label": label,
        "flags": flags,
    }
    made |= members
    result: Node = made
    return result


def row(drawn: str, **members: Any) -> Row:
    """A row of the main line from `entry kind`."""
    entry, kind = drawn.split()
    size = members.pop("tokens", None)
    made: Any = {
        "id": f"e:{entry}",
        "kind": kind,
        "level": None,
        "after": None,
        "entry": entry,
        "first": entry,
        "last": entry,
        "entries": 1,
        "title": "",
        "label": None,
        "counts": [],
        "failed": 0,
        "outcome": None,
        "time": "2026-11-12T14:33:00.000Z",
        "duration": None,
        "tokens": 10,
        "size": size and {"tokens": size, "percent": None, "source": "measured", "grade": "ok"},
        "rows": 0,
        "depth": 0,
        "fold": "none",
        "flags": ["active"],
        "forks": [],
        "by": None,
    }
    result: Row = made | members
    return result


def tree(drawn: str) -> list[Node]:
    """Nodes from lines of `node`, sizes growing by a thousand, minutes by one."""
    lines = [line.strip() for line in drawn.strip().splitlines() if line.strip()]
    return [
        node(
            line,
            size=50_000 + 1_000 * number,
            time=f"2026-11-12T{14 + number // 60}:{number % 60:02}:00.000Z",
        )
        for number, line in enumerate(lines)
    ]


PREVIEW: CompactionPreview = {
    "firstKept": "a4",
    "isSplitTurn": True,
    "summarised": ["u1", "t1", "a1", "u4"],
    "turnPrefix": ["u4"],
    "kept": ["a4", "u8", "a8"],
    "tokensBefore": 84_100,
    "tokensKept": 31_000,
    "previousSummary": True,
    "readFiles": ["a", "b"],
    "modifiedFiles": ["c"],
    "summaryAtMost": 13_107,
    "tokensAfter": 44_107,
    "forecast": {
        "summarizer": "session",
        "model": "anthropic/opus-5",
        "tokensIn": 155_000,
        "cost": 0.5512,
    },
}
CUT_NODES = tree("""
    u1* - user: Fix the login test that fails on CI
    t1* u1 toolResult: bash pytest -q: 1 failed, 211 passed in 9.81s
    a1* t1 assistant: The fixture's clock is naive, so the token expires
    u4* a1 user: Use an \x1b[31minjected\x1b[0m clock instead
    a4* u4 assistant: Done: 4 files changed, all tests pass
    u8* a4 user: Now the docs
    a8* u8 assistant: Docs updated
""")
GONE_ON: ContextSize = {**SIZE, "tokens": 88_000, "measured": 88_000, "percent": 44.0}
MOVE: MovePreview = {
    "leaf": "a1",
    "leaves": {"entries": 6, "turns": 1},
    "sizeNow": SIZE,
    "sizeAfter": {**SIZE, "tokens": 74_000, "percent": 37.0},
    "returnsText": "Use an injected clock instead",
    "outside": "2026-11-12T14:30:00.000Z",
    "summary": {
        "summarizer": "anthropic/opus-5",
        "model": "anthropic/opus-5",
        "tokensIn": 10_000,
        "cost": 0.0412,
    },
}
_USED: TokenTotals = {"input": 9_000, "output": 1_400, "cacheRead": 61_000, "cacheWrite": 0}
COMPARED: CompareResult = {
    "rev": 7,
    "ancestor": "a1",
    "ancestorSize": {**SIZE, "tokens": 74_000, "percent": 37.0},
    "a": {
        "entries": 6,
        "turns": 1,
        "size": SIZE,
        "tokens": _USED,
        "cost": 0.11,
        "seconds": 130.4,
        "files": {
            "read": ["src/app.py"],
            "modified": ["src/clock.py", "src/login.py", "tests/test_login.py"],
        },
    },
    "b": {
        "entries": 14,
        "turns": 1,
        "size": GONE_ON,
        "tokens": {**_USED, "output": 21_000},
        "cost": 0.31,
        "seconds": 542.0,
        "files": {
            "read": [],
            "modified": [
                "src/a/rather/deep/folder/of/the/fixtures/conftest.py",
                "tests/test_login.py",
                "\x1b[2Jx.py",
            ],
        },
    },
}
PROGRESS: Progress = {
    "session": "0192f3c1",
    "operation": "compact",
    "operationId": "e1.1",
    "origin": {"client": "nvim", "clientId": "c1"},
    "reason": "manual",
    "state": "begin",
    "received": 1_234,
    "summarizer": "session",
}
CHOICES: list[SummarizerChoice] = [
    {
        "name": "session",
        "model": "anthropic/opus-5",
        "ready": True,
        "reason": None,
        "default": True,
    },
    {
        "name": "openai/gpt-\x1b[31m9",
        "model": "openai/gpt-9",
        "ready": False,
        "reason": "No key; set OPENAI_API_KEY.",
        "default": False,
    },
    {"name": "extract", "model": None, "ready": True, "reason": None, "default": False},
]
SETTINGS: dict[str, Any] = {
    "files": [
        {"path": "~/.config/pisessiond/config.toml", "found": True},
        {"path": "~/shop/.pi/settings.json", "found": False},
    ],
    "problems": [
        {
            "file": "~/.pi/agent/settings.json",
            "key": "compaction.reserveTokens",
            "message": "~/.pi/agent/settings.json: compaction.reserveTokens must be a whole number "
            'from 0 to 9007199254740991, and is "\x1b[31mx"; correct it.',
        }
    ],
    "settings": [
        {
            "key": "daemon.idle",
            "value": 5.0,
            "source": "~/.config/pisessiond/config.toml",
            "needsRestart": True,
        },
        {"key": "daemon.tcp", "value": None, "source": "default", "needsRestart": True},
        {
            "key": "context.windows",
            "value": {"a/模型": 9_000},
            "source": "~/.config/pisessiond/config.toml",
        },
        {"key": "compaction.automatic", "value": False, "source": "default"},
        {"key": "compaction.enabled", "value": True, "source": "default"},
        {"key": "compaction.keepRecentTokens", "value": 9, "source": "~/\x1b[1m.pi/settings.json"},
        {"key": "httpProxy", "value": "http://…@proxy", "source": "~/.pi/agent/settings.json"},
    ],
    "keys": [
        {"provider": "anthropic", "state": "signed in with pi; the summarizer `pi` can use it"},
        {"provider": "groq", "state": "set, from a command of auth.json"},
    ],
    "environment": ["HTTPS_PROXY", "no_proxy"],
    "model": {
        "model": "anthropic/opus-5",
        "window": 200_000,
        "windowSource": "genai-prices",
        "maxOutput": 64_000,
        "price": {
            "input": 3.0,
            "output": 15.0,
            "tiers": [{"input_tokens_above": 200_000, "input": 6.0, "output": 22.5}],
        },
        "usable": True,
        "api": "anthropic-messages",
        "baseUrl": "https://api.anthropic.com",
        "key": "set, from ANTHROPIC_API_KEY",
    },
}
UNREACHABLE: dict[str, Any] = {
    "model": "x/\x1b[31mm",
    "window": None,
    "windowSource": "unknown",
    "maxOutput": None,
    "price": None,
    "usable": False,
    "reason": "Nothing says how x is reached.",
}

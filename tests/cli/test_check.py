"""`pisessiond check` and `check --repair`: what they say, how they end, and what they leave alone.

`python -m tests.cli.test_check` remakes the text they print about the whole corpus.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from pisessiond import app, offline
from pisessiond.cli.main import cli
from pisessiond.core.problems import CONSEQUENCES
from tests.support.corpus import CORPUS, SAMPLES

GOLDEN: Final = CORPUS.parent / "checks.txt"

HEADER: Final = b'{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/srv"}\n'


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments], env={"PISESSIOND_SOCKET": "/none"})


def said_of_the_corpus() -> str:
    """What is said of every file with a problem, and how many have none."""
    lines = []
    sound = 0
    for sample in SAMPLES:
        result = check(str(sample.path))
        if result.exit_code == 0:
            assert result.output == "no problems\n"
            sound += 1
            continue
        lines.append(f"{sample.name} -> {result.exit_code}")
        lines += [f"  {line}" for line in result.output.splitlines()]
    return "\n".join([*lines, f"{sound} others have no problems", ""])


def test_what_is_said_of_the_corpus() -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in CORPUS.rglob("*.js*")}
    assert said_of_the_corpus() == GOLDEN.read_text(encoding="utf-8")
    assert before == {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before}


def test_every_kind_of_problem_has_a_consequence() -> None:
    package = Path(app.__file__).parent
    source = (package / "core" / "problems.py").read_text(encoding="utf-8")
    words = re.findall(r"\w+", source[: source.index("message: str")])
    assert [kind for kind in CONSEQUENCES if kind not in words] == []
    assert all(sentence.endswith(".") for sentence in CONSEQUENCES.values())
    made = set()
    for path in package.rglob("*.py"):
        made.update(re.findall(r'(?:Problem|OddLine|Flaw)\("(\w+)"', path.read_text("utf-8")))
    assert made >= {"badLine", "noId", "noMessage", "leafTarget", "firstKept"}
    assert made <= CONSEQUENCES.keys()


def test_json_has_line_offset_and_consequence() -> None:
    result = check(str(CORPUS / "derived+mutated" / "nan-literal.jsonl"), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "problems": [
            {
                "kind": "badLine",
                "message": "The line holds NaN, which is no JSON.",
                "consequence": CONSEQUENCES["badLine"],
                "line": 14,
                "offset": 3606,
                "entry": None,
            }
        ]
    }


@pytest.mark.parametrize(
    ("content", "kind", "word"),
    [
        (None, "SessionNotFound", "no session file"),
        (b"hello\n", "NotASession", "no session header"),
        (b"\xef\xbb\xbf" + HEADER, "NotASession", "byte order mark"),
    ],
)
def test_what_is_no_session_ends_with_2(
    tmp_path: Path, content: bytes | None, kind: str, word: str
) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)
    result = check(str(path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert word in result.stderr
    result = check(str(path), "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (2, kind)


BAD_LINES: Final[dict[str, tuple[bytes, str]]] = {
    "torn": (b'{"type":"mess', "The line ends in the middle of its JSON."),
    "torn-escape": (b'{"a":"\\u00', "The line ends in the middle of its JSON."),
    "torn-word": (b'{"a":tru', "The line ends in the middle of its JSON."),
    "glued": (b'{"a":1}{"b":2}', "Something follows the JSON of the line."),
    "no-number": (b'{"a":-Infinity}', "The line holds -Infinity, which is no JSON."),
    "control": (b'{"a":"x\ty"}', "The text at byte 8 of the line holds a control character."),
    "escape": (b'{"a":"\\x"}', "The text at byte 7 of the line has an escape that JSON has not."),
    "comma": (b'{"a":1,}', "The line is no JSON from its byte 8 on."),
    "zeros": (b"\0" * 40, "The line holds nothing but zero bytes."),
    "mark": (b'\xef\xbb\xbf{"a":1}', "The line begins with a byte order mark, which is no JSON."),
    "deep": (b"[" * 600 + b"]" * 600, "Its JSON is nested deeper than 500 levels."),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_line_that_is_no_json_is_told_in_our_words(tmp_path: Path, name: str) -> None:
    line, message = BAD_LINES[name]
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER + line + b"\n")
    (problem,) = offline.check(str(path))
    assert (problem["kind"], problem["message"], problem["line"]) == ("badLine", message, 2)


def test_a_compaction_that_names_nothing_it_keeps_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(HEADER + b'{"type":"compaction","id":"c","parentId":null,"summary":"S"}\n')
    (problem,) = offline.check(str(path))
    assert (problem["kind"], problem["entry"]) == ("firstKept", "c")
    assert "names no first entry" in problem["message"]


# Repairing


def mended(tmp_path: Path, *lines: bytes) -> tuple[Result, list[Any]]:
    path, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(HEADER + b"\n".join(lines))
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    result = check(str(path), "--repair", str(out))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    return result, [json.loads(line) for line in out.read_bytes().splitlines()[1:]]


def test_a_repair_names_every_line_that_it_left_out_or_changed(tmp_path: Path) -> None:
    result, entries = mended(
        tmp_path,
        b'{"type":"custom","customType":"x","id":"a","parentId":"gone"}',
        b"{torn",
        b'{"type":"message","id":"b","parentId":"a","message":null}',
        b'{"type":"leaf","id":"c","parentId":"b","targetId":"a"}',
    )
    assert result.exit_code == 0
    assert [(entry["id"], entry["parentId"], entry["type"]) for entry in entries[:3]] == [
        ("a", None, "custom"),
        ("b", "a", "custom"),
        ("c", "b", "leaf"),
    ]
    assert (entries[3]["customType"], entries[3]["parentId"]) == ("pisessiond.leaf", "a")
    said = result.stdout
    assert "line 3, byte 130: left out: the line is no JSON from its byte 2 on" in said
    assert "line 2, byte 68, entry a: made a root, as it is shown" in said
    assert "line 4, byte 136, entry b: made an entry of type custom" in said
    assert "an entry was added at the end, so that pi stands where the session stands" in said
    assert "(4 entries; 1 line left out, 2 entries changed)" in said


def test_a_repair_writes_over_nothing(tmp_path: Path) -> None:
    path, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(HEADER)
    out.write_bytes(b"precious")
    for target in (out, path):
        result = check(str(path), "--repair", str(target))
        assert result.exit_code == 2
        assert "exists" in result.stderr
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    assert check(str(path), "--repair", str(tmp_path / "link.jsonl")).exit_code == 2
    assert (path.read_bytes(), out.read_bytes()) == (HEADER, b"precious")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.jsonl", "out.jsonl", "s.jsonl"]


if __name__ == "__main__":
    GOLDEN.write_text(said_of_the_corpus(), encoding="utf-8")

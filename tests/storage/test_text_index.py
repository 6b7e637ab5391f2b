"""The search index: random sessions against a list of words, and what may happen to its file."""

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pisessiond.core.dates import iso_from_ms
from pisessiond.core.search_query import Query
from pisessiond.core.search_text import search_texts
from pisessiond.storage.base import CatalogueRow, IndexedText, TextFilter
from pisessiond.storage.catalogue import CatalogueFile
from pisessiond.storage.text_index import TextIndex

START: Final = 1_796_000_000_000
SYLLABLES: Final = "ba ko li mu ne ra so ti vu wy xa zed qu jor".split()
CJK: Final = "日本語文字検索東京大学한국어테스트ひらがなカタカナ"
EMOJI: Final = ["🙂", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "→", "€"]


@dataclass
class Word:
    """A word as it is written, and in what words it must be found."""

    written: str
    finds: set[str]


def make_word(dice: random.Random) -> Word:
    def syllables(most: int = 3) -> str:
        return "".join(dice.choices(SYLLABLES, k=dice.randint(2, most)))

    kind = dice.randrange(8)
    if kind == 0:
        run = "".join(dice.choices(CJK, k=dice.randint(1, 6)))
        found = {run[a:b] for a in range(len(run)) for b in range(a + 1, len(run) + 1)}
        return Word(run, found)
    if kind == 1:
        parts = [syllables() for _ in range(dice.randint(2, 3))]
        camel = parts[0] + "".join(map(str.title, parts[1:]))
        return Word(camel, {*parts, camel, camel.lower()})
    if kind == 2:
        parts = [syllables() for _ in range(dice.randint(2, 3))]
        sign = dice.choice("_.-:/")
        return Word(sign.join(parts), {*parts, sign.join(parts)})
    if kind == 3:
        parts = [syllables() for _ in range(3)]
        path = f"./{'/'.join(parts)}.py"
        return Word(path, {*parts, "py", path, path[2:], f"{parts[-1]}.py"})
    if kind == 4:
        emoji = dice.choice(EMOJI)
        return Word(emoji, {emoji})
    if kind == 5:
        accented = syllables().replace("a", "ä").replace("e", "É").replace("o", "ø")
        return Word(accented, {accented, plain(accented), plain(accented).upper()})
    word = syllables()
    if kind == 6:
        return Word(f"“{word}”", {word})
    return Word(dice.choice([word, word.upper(), word.title()]), {word, word.upper()})


def plain(word: str) -> str:
    return word.lower().translate(str.maketrans("äéø", "aeo"))


def found_in(words: Sequence[Word], query: str) -> bool:
    return any(plain(query) in map(plain, word.finds) for word in words)


class Shelf:
    """A catalogue with an index, and the lines of the files it was fed."""

    def __init__(self, path: Path | None) -> None:
        self.catalogue = CatalogueFile(None if path is None else str(path))
        self.index = TextIndex(self.catalogue)
        self.files: dict[str, list[bytes]] = {}

    def feed(self, path: str, entries: Sequence[dict[str, Any]], slices: int = 1) -> None:
        lines = [json.dumps(one).encode() for one in entries]
        self.files[path] = lines
        size = sum(map(len, lines)) + len(lines)
        row = CatalogueRow(0, path, 1, 1, size, 1, size, b"", "{}")
        (row,) = self.catalogue.put([row])
        placed, at = [], 0
        for line in lines:
            placed.append((at, line))
            at += len(line) + 1
        step = -(-len(placed) // slices)
        for first in range(0, len(placed), step):
            some = placed[first : first + step]
            self.catalogue.feed(row.id, some, some[-1][0] + len(some[-1][1]) + 1)

    def refeed(self) -> None:
        for path, lines in list(self.files.items()):
            self.feed(path, [json.loads(line) for line in lines])

    def line(self, text: IndexedText) -> dict[str, Any]:
        at = 0
        for line in self.files[text.path]:
            if (at, len(line)) == text.locator:
                return json.loads(line)  # type: ignore[no-any-return]
            at += len(line) + 1
        raise AssertionError("no line begins there")

    def ask(self, query: str, **wanted: Any) -> list[tuple[str, Any]]:
        """Paths and entries of everything found, checked as a searcher checks it."""
        made = Query(query)
        if not made.terms:
            return []
        page = self.index.find(
            made.index_query, TextFilter(**wanted), now=START, last=None, start=0, limit=10_000
        )
        found = []
        for one in page.texts:
            text = search_texts(self.line(one))[one.number]
            assert (text.role, text.tool) == (one.role, one.tool)
            if made.find(text.text) is not None:
                found.append((one.path, one.entry))
                found += [(path, one.entry) for _, path in one.copies]
        return sorted(set(found), key=str)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    made = Shelf(None)
    yield made
    made.catalogue.close()


def header(session: str, cwd: str = "/srv/a", **rest: Any) -> dict[str, Any]:
    time = iso_from_ms(START)
    return {"type": "session", "version": 3, "id": session, "timestamp": time, "cwd": cwd, **rest}


def message(entry_id: Any, role: str, content: Any, ms: int = 0, **rest: Any) -> dict[str, Any]:
    said = {"role": role, "content": content, **rest}
    time = iso_from_ms(START + ms)
    return {
        "type": "message",
        "id": entry_id,
        "parentId": None,
        "timestamp": time,
        "message": said,
    }


@dataclass
class Told:
    """What was put into a random session."""

    path: str
    cwd: str
    entry: str
    role: str
    tool: str | None
    ms: int
    words: list[Word]
    labels: list[str] = field(default_factory=list)


def random_session(
    dice: random.Random, path: str, ids: Iterator[int]
) -> tuple[list[Any], list[Told]]:
    cwd = dice.choice(["/srv/a", "/srv/b", "/srv/ä ö"])
    entries: list[Any] = [header(path.strip("/"), cwd)]
    told: list[Told] = []
    for _ in range(dice.randint(1, 12)):
        words = [make_word(dice) for _ in range(dice.randint(1, 8))]
        text = dice.choice([" ", "\n", ", ", " (", "\t"]).join(word.written for word in words)
        role = dice.choice(["user", "assistant", "toolResult", "call", "summary"])
        entry_id = f"{next(ids):08x}"
        ms = dice.randrange(100) * 1000
        tool = dice.choice(["bash", "read"]) if role in ("toolResult", "call") else None
        if role == "summary":
            entry: dict[str, Any] = {
                "type": "compaction",
                "id": entry_id,
                "parentId": None,
                "timestamp": iso_from_ms(START + ms),
                "summary": text,
            }
        elif role == "call":
            call = {"type": "toolCall", "name": tool, "arguments": {"x": [text]}}
            entry = message(entry_id, "assistant", [call], ms)
            role = "assistant"
            words.append(Word(tool or "", {tool or ""}))
        elif role == "toolResult":
            entry = message(entry_id, role, [{"type": "text", "text": text}], ms, toolName=tool)
        else:
            entry = message(entry_id, role, text, ms)
        entries.append(entry)
        told.append(Told(path, cwd, entry_id, role, tool, ms, words))
        if dice.random() < 0.3:
            target = dice.choice(told)
            label = dice.choice(["Grün", "rot", None])
            target.labels = [label] if label else []
            # A label's own entry is no message; its words are those of nothing else here.
            new = {"type": "label", "id": f"{next(ids):08x}", "parentId": None}
            entries.append({**new, "targetId": target.entry, "label": label})
    return entries, told


@pytest.mark.parametrize("seed", range(25))
def test_every_word_of_random_sessions_is_found_and_nothing_else(seed: int, shelf: Shelf) -> None:
    dice = random.Random(seed)
    ids = count(1)
    told: list[Told] = []
    for number in range(dice.randint(1, 4)):
        entries, more = random_session(dice, f"/s{number}", ids)
        shelf.feed(f"/s{number}", entries, slices=dice.randint(1, 3))
        told += more
    queries = {query for one in told for word in one.words for query in word.finds}
    queries |= {query for _ in range(20) for query in make_word(dice).finds}
    for query in sorted(queries):
        expected = sorted((t.path, t.entry) for t in told if found_in(t.words, query))
        assert shelf.ask(query) == expected, query
    for query in dice.sample(sorted(queries), min(30, len(queries))):
        hits = [one for one in told if found_in(one.words, query)]

        def kept(test: list[Told]) -> list[tuple[str, str]]:
            return sorted((one.path, one.entry) for one in test)

        assert shelf.ask(query, role="user") == kept([t for t in hits if t.role == "user"])
        assert shelf.ask(query, tool="bash") == kept([t for t in hits if t.tool == "bash"])
        assert shelf.ask(query, cwd="/srv/b/") == kept([t for t in hits if t.cwd == "/srv/b"])
        assert shelf.ask(query, since=START + 50_000) == kept([t for t in hits if t.ms >= 50_000])
        assert shelf.ask(query, label="GRUN") == kept([t for t in hits if "Grün" in t.labels])
        assert shelf.ask(query, session="s1") == kept([t for t in hits if t.path == "/s1"])


ALPHABET: Final = st.characters(codec=None, categories=None) | st.sampled_from(
    "aabBC12 ..__-/\\\"'()*:\x00\n日本語한국어ｶﾞกิ🙂👨\u200d\ufe0f\u0301\u093fभéßﬁøŁйё½①\u00ad\ud800"
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.text(ALPHABET, max_size=30), min_size=1, max_size=4), st.data())
def test_the_index_gives_all_that_reading_everything_gives(texts: list[str], data: Any) -> None:
    """Of any texts and any piece of them, and words nobody would think of."""
    shelf = Shelf(None)
    shelf.feed(
        "/s", [header("s"), *(message(str(n), "user", text) for n, text in enumerate(texts))]
    )
    pieces = []
    for _ in range(4):
        text = data.draw(st.sampled_from(texts))
        first = data.draw(st.integers(0, len(text)))
        pieces.append(text[first : data.draw(st.integers(first, len(text)))])
    for query in (*pieces, *(f'"{piece}"' for piece in pieces), " ".join(pieces)):
        made = Query(query)
        read = [("/s", str(n)) for n, text in enumerate(texts) if made.find(text) is not None]
        assert shelf.ask(query) == read
    shelf.catalogue.close()


def test_phrases_keep_the_order_of_their_words(shelf: Shelf) -> None:
    shelf.feed(
        "/s", [header("s"), message("a", "user", "one two three"), message("b", "user", "two one")]
    )
    assert shelf.ask('"one two"') == [("/s", "a")]
    assert shelf.ask('"two one"') == [("/s", "b")]
    assert shelf.ask("two one") == [("/s", "a"), ("/s", "b")]
    assert shelf.ask('"two three" one') == [("/s", "a")]


HOSTILE: Final = [
    '"',
    '""""',
    "(",
    ")(",
    "a AND",
    "NOT a",
    "NEAR(a b, 5)",
    "words : a",
    "{words parts} : a",
    "-words : a",
    "^a",
    "a*",
    "*",
    "a + b",
    "\0",
    "a\0b",
    "'; DROP TABLE search_texts; --",
    "\ud800",
    "(((((" * 2_000,
    "a " * 50_000,
    '"' + "a b " * 25_000,
    "x" * 100_000,
    "日" * 100_000,
    "".join(f"w{number} " for number in range(15_000)),
    "😀" * 50_000,
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_query_is_words_like_any_other(query: str, shelf: Shelf) -> None:
    shelf.feed(
        "/s", [header("s"), message("1", "user", "nothing of this"), message("2", "user", "a b")]
    )
    started = time.perf_counter()
    assert ("/s", "1") not in shelf.ask(query)
    assert time.perf_counter() - started < 5
    assert shelf.ask("nothing") == [("/s", "1")]


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "xX" * 50_000, "日本" * 50_000, "a\0b c", "\ud800x y", "ａＢ ½ ①"]
)
def test_an_odd_text_is_found_by_itself(text: str, shelf: Shelf) -> None:
    line = json.loads(json.dumps(message("1", "user", text)))
    shelf.files["/s"] = []
    shelf.catalogue.put([CatalogueRow(0, "/s", 1, 1, 1, 1, 1, b"", "{}")])
    row = shelf.catalogue.rows()[0]
    lines = [json.dumps(one).encode() for one in (header("s"), line)]
    shelf.files["/s"] = lines
    shelf.catalogue.feed(row.id, [(0, lines[0]), (len(lines[0]) + 1, lines[1])], 1)
    assert shelf.ask(text) == [("/s", "1")]


def test_of_a_repeated_id_the_later_line_counts(shelf: Shelf) -> None:
    entries = [header("s"), message("a", "user", "older"), message("a", "user", "newer")]
    for slices in (1, 3):
        shelf.feed("/s", entries, slices=slices)
        assert shelf.ask("older") == []
        assert shelf.ask("newer") == [("/s", "a")]


def test_numbers_are_ids_of_their_own(shelf: Shelf) -> None:
    shelf.feed("/s", [header("s"), message(7, "user", "seven"), message("7", "user", "text seven")])
    assert shelf.ask("seven") == [("/s", "7"), ("/s", 7)] or len(shelf.ask("seven")) == 2


def test_a_copy_in_a_fork_is_told_with_the_entry_and_not_twice(shelf: Shelf) -> None:
    shared = message("a", "user", "shared words")
    shelf.feed("/s1", [header("s1"), shared])
    shelf.feed("/s2", [header("s2", parentSession="/s1"), shared, message("b", "user", "words")])
    made = Query("shared")
    page = shelf.index.find(made.index_query, TextFilter(), now=START, last=None, start=0, limit=10)
    (only,) = page.texts
    assert {only.path, *(path for _, path in only.copies)} == {"/s1", "/s2"}
    assert shelf.ask("shared", session="s2") == [("/s2", "a")]


def test_the_better_and_the_newer_come_first(shelf: Shelf) -> None:
    day = 86_400_000
    other = "filler about other things that go on for quite a while here"
    shelf.feed(
        "/s",
        [
            header("s"),
            message("old", "user", "the parser", -300 * day),
            message("new", "user", "the parser", -1 * day),
            message("long", "user", f"parser {other} " + " ".join([other] * 30), -300 * day),
            *(message(f"x{number}", "user", other, -day) for number in range(20)),
        ],
    )
    page = shelf.index.find('"parser"', TextFilter(), now=START, last=None, start=0, limit=10)
    assert [one.entry for one in page.texts] == ["new", "old", "long"]


def test_nothing_of_a_forgotten_or_rewritten_file_is_found(shelf: Shelf) -> None:
    shelf.feed("/s", [header("s"), message("a", "user", "before")])
    shelf.feed("/s", [header("s"), message("b", "user", "after")])
    assert shelf.ask("before") == []
    assert shelf.ask("after") == [("/s", "b")]
    shelf.catalogue.forget(["/s"])
    assert shelf.ask("after") == []


def test_an_index_that_is_mostly_garbage_is_made_anew(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pisessiond.storage.text_index._GARBAGE_AT_LEAST", 10)
    shelf.feed("/kept", [header("kept"), message("a", "user", "kept")])
    for number in range(30):
        shelf.feed("/s", [header("s"), message(f"b{number}", "user", "words")])
    shelf.refeed()
    assert shelf.ask("kept") == [("/kept", "a")]
    assert shelf.ask("words") == [("/s", "b29")]
    seq = shelf.catalogue.connection.execute("SELECT max(id) FROM search_texts").fetchone()[0]
    assert seq <= 32


@pytest.mark.parametrize("how", ["deleted", "damaged", "table", "version", "part", "empty"])
def test_an_index_that_is_gone_damaged_or_older_is_made_anew(how: str, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "catalogue.sqlite"
    shelf = Shelf(path)
    entries = [header("s")]
    entries += [message(f"{n:x}", "user", f"word{n} " + "filler " * 50) for n in range(500)]
    shelf.feed("/s", entries)
    assert shelf.ask("word7") == [("/s", "7")]
    shelf.catalogue.close()
    damage(path, how)
    again = Shelf(path)
    again.files = shelf.files
    for _ in range(2):
        # What is damaged is noticed by asking, or by feeding; then all is fed again.
        again.ask("word7")
        again.catalogue.recover()
        if again.ask("word7") == []:
            again.refeed()
    assert again.ask("word7") == [("/s", "7")]
    assert len(again.ask("filler")) == 500
    again.catalogue.close()


def damage(path: Path, how: str) -> None:
    if how == "deleted":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "damaged":
        data = bytearray(path.read_bytes())
        for at in range(8192, len(data), 3000):
            data[at : at + 200] = os.urandom(200)
        path.write_bytes(data)
    else:
        with sqlite3.connect(path) as connection:
            if how == "table":
                connection.execute("UPDATE search_words_data SET block = randomblob(length(block))")
            elif how == "version":
                connection.execute("UPDATE about SET version = 0")
            else:
                connection.execute("UPDATE parts SET version = 0")
        connection.close()


def test_ten_thousand_entries_are_quick(tmp_path: Path) -> None:
    dice = random.Random(7)
    shelf = Shelf(tmp_path / "catalogue.sqlite")
    vocabulary = ["".join(dice.choices(SYLLABLES, k=3)) for _ in range(5_000)]
    entries: list[Any] = [header("s")]
    for number in range(10_000):
        text = " ".join(dice.choices(vocabulary, k=60)) + f" needle{number} always"
        entries.append(message(f"{number:08x}", "user", text, number))
    started = time.perf_counter()
    shelf.feed("/s", entries, slices=20)
    fed = time.perf_counter() - started
    slowest = 0.0
    for query in ("needle4711", "always", f'"{vocabulary[0]} {vocabulary[1]}"', vocabulary[3]):
        started = time.perf_counter()
        shelf.index.find(
            Query(query).index_query, TextFilter(), now=START, last=None, start=0, limit=50
        )
        slowest = max(slowest, time.perf_counter() - started)
    print(f"10,000 entries: fed in {fed:.2f} s, slowest question {slowest * 1000:.0f} ms")
    shelf.catalogue.close()
    assert slowest < 1
    assert fed < 20

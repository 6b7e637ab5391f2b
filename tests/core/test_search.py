"""Search: what words a text has, what a query means, and the piece of text that is shown."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.javascript import utf16_length
from pisessiond.core.search_query import Query
from pisessiond.core.search_text import search_texts
from pisessiond.core.search_words import fold, fold_with_places, identifier_parts, indexed_words
from pisessiond.core.snippets import make_snippet

ANY_TEXT = st.text(
    st.characters(codec=None, categories=None)
    | st.sampled_from("aB1 _-./\\\"'()*:^\x00\n日本語한국어ｶﾞ🙂👨\u200d\ufe0f\u0301éßﬁ\ud800\udc00"),
    max_size=60,
)


def stretches(query: str, text: str) -> list[str] | None:
    found = Query(query).find(text)
    return None if found is None else [text[first:last] for _, (first, last) in found]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("login", "Fix the Login, please", ["Login"]),
        ("log", "Fix the login", None),
        ("fix login", "Fix the login", ["Fix", "login"]),
        ("fix logout", "Fix the login", None),
        ('"fix login"', "Fix the login", None),
        ('"the login"', "Fix the,\n  login", ["the,\n  login"]),
        ('"the login', "login the", ["login", "the"]),
        # Case and accents, composed or not.
        ("cafe", "CAFÉ café cafe\u0301", ["CAFÉ", "café", "cafe\u0301"]),
        ("CAFÉ", "cafe", ["cafe"]),
        ("strasse", "Straße", ["Straße"]),
        ("lodz", "Łódź", ["Łódź"]),
        ("йод", "иод", None),
        ("ελλαδα", "Ελλάδα", ["Ελλάδα"]),
        ("भूत", "भत", None),
        ("office", "oﬃce", ["oﬃce"]),
        ("soft", "so\u00adft", ["so\u00adft"]),
        # Scripts without spaces.
        ("日本", "今日本語", ["日本"]),
        ("語", "日本語", ["語"]),
        ("本日", "日本", None),
        ("日本語", "日本の語", None),
        ("test", "日本test語", ["test"]),
        ("本test", "日本test語", ["本test"]),
        ("한국", "한국어", ["한국"]),
        ("가", unicodedata.normalize("NFD", "가나"), [unicodedata.normalize("NFD", "가")]),
        ("ガ", "ｶﾞ", ["ｶﾞ"]),
        # Identifiers, paths, code.
        ("getUserName", "x.getUserName()", ["getUserName"]),
        ("getusername", "x.getUserName()", ["getUserName"]),
        ("user", "getUserName", ["User"]),
        ("UserName", "getUserName", ["UserName"]),
        ("username", "getUserName", None),
        ("http", "parseHTTPHeader", ["HTTP"]),
        # One that stands alone behind one that does not, in each other's letters.
        ("mumu", "zedmuMumu", ["Mumu"]),
        ("aa", "aaa aa", ["aa"]),
        ("max_size", "self.max_size = 1", ["max_size"]),
        ("max_size", "max size", None),
        ("size", "self.max_size = 1", ["size"]),
        ("src/app.py", "in ./src/app.py:12", ["src/app.py"]),
        ("src/app.py", "src app py", None),
        ("app.py", "src/app.py", ["app.py"]),
        ("C:\\Users\\x", "at C:\\Users\\x.", ["C:\\Users\\x"]),
        ("a.b()", "a.b(c)", ["a.b"]),
        ("👍", "ok👍!", ["👍"]),
        ("👨\u200d👩\u200d👧", "a 👨\u200d👩\u200d👧 b", ["👨\u200d👩\u200d👧"]),
        ("€", "5 €", ["€"]),
        ('"ok 👍"', "ok 👍", ["ok 👍"]),
        ('"ok go"', "ok 👍 go", None),
        ('"ok भू"', "ok, भू", ["ok, भू"]),
        # Python 3.11 does not know the last character.
        ("0¯\U0003134b", "0¯\U0003134b", ["0¯\U0003134b"]),
        # No operators.
        ("cat AND dog", "cat dog", None),
        ("cat NOT dog", "cat not dog", ["cat", "not", "dog"]),
        ("NEAR(cat", "near(cat dog)", ["near(cat"]),
        ("words:cat", "cat", None),
        ("cat*", "cats", None),
        ("cat*", "cat", ["cat"]),
        ("^cat", "a cat", ["cat"]),
    ],
)
def test_what_a_query_finds(query: str, text: str, found: list[str] | None) -> None:
    assert stretches(query, text) == found


@pytest.mark.parametrize(
    "query", ["", " ", '"', '""', "()", "*", "\0", "—", "_", "\u0301", "\ud800"]
)
def test_a_query_without_a_word_finds_nothing(query: str) -> None:
    assert Query(query).terms == ()
    assert Query(query).find("anything") is None


def test_the_words_given_to_an_index() -> None:
    assert indexed_words("getUserName max_size") == "getUserName max_size"
    assert indexed_words("Café, 日本語test!").split() == ["cafe,", "日本", "本語", "語", "test!"]
    assert identifier_parts("a getUserName parseHTTPHeader B2BSales") == (
        "get User Name parse HTTP Header B2 B Sales"
    )


@given(ANY_TEXT)
def test_folding_twice_changes_nothing_and_places_are_kept(text: str) -> None:
    folded, places = fold_with_places(text)
    assert folded == fold(text)
    assert fold(folded) == folded or not text.isascii()
    if places is not None:
        assert len(places) == len(folded) + 1
        assert places == sorted(places)
        assert places[-1] == len(text)


@given(ANY_TEXT, ANY_TEXT)
def test_any_query_can_be_asked_of_any_text(query: str, text: str) -> None:
    made = Query(query)
    assert '""' not in made.index_query
    for _, (first, last) in made.find(text) or ():
        assert 0 <= first < last <= len(text)


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_a_text_is_found_by_itself_wherever_it_stands(before: str, text: str, after: str) -> None:
    text = text.replace('"', " ")
    for query in (Query(text), Query(f'"{text}"')):
        if query.terms:
            assert query.find(f"{before} {text} {after}") is not None


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 300))
def test_a_snippet_is_one_plain_line_that_says_where_the_words_are(
    before: str, after: str, filler: int
) -> None:
    text = f"{before}{' word' * filler} Zürich🙂 naïve {' word' * filler}{after}"
    found = Query("ZURICH naive").find(text)
    assert found is not None
    snippet = make_snippet(text, found)
    assert not [c for c in snippet.text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert utf16_length(snippet.text) <= 500
    units = snippet.text.encode("utf-16-le")
    shown = [units[2 * a : 2 * b].decode("utf-16-le") for a, b in snippet.matches]
    assert {"zurich", "naive"} <= {fold(one) for one in shown}
    assert list(snippet.matches) == sorted(snippet.matches)


def entry(**message: Any) -> dict[str, Any]:
    return {"type": "message", "id": "a", "message": message}


def test_the_texts_of_entries() -> None:
    calls = [
        {"type": "thinking", "thinking": "Hmm"},
        {"type": "text", "text": "Looking"},
        {
            "type": "toolCall",
            "name": "read",
            "arguments": {"path": "a.py", "range": [1, {"x": "y"}]},
        },
    ]

    def told(entry: dict[str, Any]) -> list[tuple[str, str | None, str]]:
        return [(one.role, one.tool, one.text) for one in search_texts(entry)]

    assert told(entry(role="assistant", content=calls)) == [
        ("assistant", None, "Hmm\nLooking"),
        ("assistant", "read", "read\na.py\n1\ny"),
    ]
    text = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    assert told(entry(role="user", content=text)) == [("user", None, "one\ntwo")]
    assert told(entry(role="toolResult", toolName="bash", content=text)) == [
        ("toolResult", "bash", "one\ntwo")
    ]
    assert told(entry(role="bashExecution", command="ls", output="a")) == [
        ("bashExecution", "bash", "ls\na")
    ]
    assert told(entry(role="hookMessage", content="hi")) == [("custom", None, "hi")]
    assert told({"type": "compaction", "summary": "So far"}) == [("summary", None, "So far")]
    assert told({"type": "session_info", "name": "login"}) == [("name", None, "login")]
    assert told({"type": "label", "label": "green"}) == [("label", None, "green")]
    assert told({"type": "custom", "data": {"text": "mine"}}) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
ODD = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "label", "compaction", "custom_message", "x", ""]) | JSON},
    optional={
        "message": JSON
        | st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "toolResult", "system"]) | JSON},
            optional={
                "content": JSON
                | st.lists(
                    st.fixed_dictionaries(
                        {"type": st.sampled_from(["text", "toolCall", "thinking"]) | JSON},
                        optional={"text": JSON, "arguments": JSON, "name": JSON},
                    ),
                    max_size=3,
                ),
                "toolName": JSON,
                "sections": JSON,
            },
        ),
        "content": JSON,
        "label": JSON,
        "summary": JSON,
    },
)


@given(ODD)
def test_an_odd_entry_has_the_texts_it_has(entry: dict[str, Any]) -> None:
    for one in search_texts(json.loads(json.dumps(entry))):
        assert one.text

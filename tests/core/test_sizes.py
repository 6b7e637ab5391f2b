"""The size at every entry against the plain projection, whatever the file looks like."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pisessiond.core.session import Session, load_session
from tests.support.naive import iso, naive_messages, naive_parents, naive_path, naive_size

Entry = dict[str, Any]
IDS = list("abcdefghijkl")


def message(role: str, **rest: Any) -> Entry:
    return {"type": "message", "message": {"role": role, **rest}}


TEXT = st.sampled_from(["", "abcd", "x" * 41, "🙂🙂🙂"])
BODY = st.one_of(
    st.builds(lambda text: message("user", content=text), TEXT),
    st.builds(
        lambda text, usage, stop: message(
            "assistant",
            content=[{"type": "text", "text": text}],
            usage={"totalTokens": usage},
            stopReason=stop,
        ),
        TEXT,
        st.integers(0, 90),
        st.sampled_from(["stop", "error"]),
    ),
    st.builds(
        lambda text, tool: message(
            "system", content=text, toolsAdded=[{"name": tool}], timestamp=1, sections={tool: text}
        ),
        TEXT,
        st.sampled_from("pq"),
    ),
    st.builds(
        lambda text, kept, system: {
            "type": "compaction",
            "summary": text,
            "firstKeptEntryId": kept,
            "tokensBefore": 1,
            **(
                {"systemMessage": {"role": "system", "content": text, "timestamp": 1}}
                if system
                else {}
            ),
        },
        TEXT,
        st.sampled_from([*IDS, "nowhere"]),
        st.booleans(),
    ),
    st.builds(
        lambda target, text: {
            "type": "context_edit",
            "targetId": target,
            "replacement": None if text is None else {"content": text},
        },
        st.sampled_from([*IDS, "nowhere"]),
        st.none() | TEXT,
    ),
    st.builds(lambda text: {"type": "branch_summary", "fromId": "x", "summary": text}, TEXT),
    st.builds(
        lambda text: {
            "type": "custom_message",
            "customType": "x",
            "content": text,
            "display": True,
        },
        TEXT,
    ),
    st.just({"type": "custom", "customType": "x"}),
)


@st.composite
def lines(
    draw: st.DrawFn, body: st.SearchStrategy[Entry] = BODY
) -> list[tuple[str, str | None, Entry]]:
    """Mostly a line that goes on from entry to entry, with every oddity now and then."""
    found: list[tuple[str, str | None, Entry]] = []
    for place in range(draw(st.integers(0, 12))):
        previous = found[-1][0] if found else None
        name = draw(st.sampled_from([IDS[place % len(IDS)]] * 12 + IDS))
        parent = draw(st.sampled_from([previous] * 30 + [None, *IDS, "nowhere"]))
        found.append((name, parent, draw(body)))
    return found


def opened(entries: list[Entry]) -> Session:
    header = {"type": "session", "version": 3, "id": "s"}
    lines = [json.dumps(value).encode() for value in (header, *entries)]
    places = {}
    at = 0
    for line in lines:
        places[at] = line
        at += len(line) + 1
    return load_session([(0, lines)], lambda wanted: [places[place] for place, _ in wanted])


@given(drawn=lines(), step=st.sampled_from([1, 2, 3, 50]))
def test_any_file_at_any_entry(drawn: list[tuple[str, str | None, Entry]], step: int) -> None:
    entries = [
        {"id": name, "parentId": parent, "timestamp": iso(0), **body}
        for name, parent, body in drawn
    ]
    session = opened(entries)
    while not session.sizes.is_complete:
        session.sizes.extend(session.measure_next(step))
    parents, _ = naive_parents([(name, parent, "") for name, parent, _ in drawn])
    by_id = {entry["id"]: entry for entry in entries}
    # Asked in the order of the file and then against it: what is remembered must not depend on it.
    for name in [*by_id, *reversed(by_id)]:
        branch = [by_id[above] for above in naive_path(name, parents)]
        row = session.row_of(name)
        size = session.size_at(row)
        assert session.projection(row).messages == naive_messages(branch)
        assert (size.estimated, size.measured) == naive_size(branch)


@given(parents=st.lists(st.integers(0, 99), max_size=10), bodies=st.data())
def test_what_is_appended_has_the_size_it_has_when_it_is_loaded(
    parents: list[int], bodies: st.DataObject
) -> None:
    from pisessiond.core.lines import Head, read_line

    entries: list[Entry] = []
    session = opened([])
    lines: dict[int, bytes] = {}
    session._read_lines = lambda wanted: [lines[at] for at, _ in wanted]
    for row, number in enumerate(parents):
        parent = f"e{number % row}" if row else None
        body = bodies.draw(BODY)
        for name in ("firstKeptEntryId", "targetId"):
            if name in body:
                body = {**body, name: f"e{number % (row + 1)}"}
        entry = {"id": f"e{row}", "parentId": parent, "timestamp": iso(0), **body}
        entries.append(entry)
        lines[row] = json.dumps(entry).encode()
        head = read_line(lines[row])
        assert isinstance(head, Head)
        session.take_in(head, lines[row], row)
        loaded = opened(entries)
        loaded.measure_rest()
        assert [session.size_at(r) for r in range(row + 1)] == [
            loaded.size_at(r) for r in range(row + 1)
        ]

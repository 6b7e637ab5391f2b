"""New entries: what is refused, and how the others are spelled (SESSION-RULES section 2)."""

import json
from typing import Any

import pytest

from pisessiond.core.entries import ENTRY_TYPES, check_entry, complete_entry, encode_entry
from pisessiond.core.errors import InvalidEntry
from pisessiond.core.flush import FlushRule, calls_for_flush
from pisessiond.core.headers import (
    encode_header,
    file_name,
    folder_name,
    is_session_id,
    make_header,
)
from pisessiond.core.lines import head_of, read_line

WHOLE: dict[str, dict[str, Any]] = {
    "message": {"message": {"role": "user", "content": "x"}},
    "thinking_level_change": {"thinkingLevel": "high"},
    "model_change": {"provider": "p", "modelId": "m"},
    "active_tools_change": {"activeToolNames": ["a", "b"]},
    "compaction": {
        "summary": "s",
        "firstKeptEntryId": "e",
        "tokensBefore": 1.0,
        "details": None,
        "usage": {},
        "fromHook": False,
        "systemMessage": {"role": "system"},
    },
    "branch_summary": {
        "fromId": "root",
        "summary": "",
        "details": {"a": 1},
        "usage": None,
        "fromHook": True,
    },
    "custom_message": {"customType": "c", "content": [], "display": False, "details": None},
    "context_edit": {"targetId": "t", "replacement": None},
    "custom": {"customType": "c", "data": None},
    "usage": {"kind": "k", "provider": "p", "model": "m", "usage": {}, "note": "n"},
    "label": {"targetId": "t", "label": ""},
    "session_info": {"name": "n"},
    "leaf": {"targetId": None},
}
OPTIONAL = {
    "compaction": ["details", "usage", "fromHook", "systemMessage"],
    "branch_summary": ["details", "usage", "fromHook"],
    "custom_message": ["details"],
    "custom": ["data"],
    "usage": ["note"],
    "label": ["label"],
}
BASE_LAST = ("custom_message", "custom")
BASE = ["id", "parentId", "timestamp"]


def spelled(given: dict[str, Any]) -> str:
    check_entry(given)
    return encode_entry(complete_entry(given, "i", None, "t")).decode()


def test_every_type_is_tried() -> None:
    assert set(WHOLE) == set(ENTRY_TYPES)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("less", [False, True])
def test_members_stand_in_pis_order_whatever_order_they_came_in(kind: str, less: bool) -> None:
    members = dict(WHOLE[kind])
    if less:
        for name in OPTIONAL.get(kind, []):
            del members[name]
    given = {"zeta": 1, **dict(reversed(members.items())), "type": kind, "1": None}
    order = list(json.loads(spelled(given)))
    # JavaScript puts a name that is an array index first.
    known = [*members, *BASE] if kind in BASE_LAST else [*BASE, *members]
    assert order == ["1", "type", *known, "zeta"]


@pytest.mark.parametrize("kind", WHOLE)
def test_what_is_written_reads_back(kind: str) -> None:
    given = {"type": kind, **WHOLE[kind]}
    entry = complete_entry(given, "i", "p", "2026-11-30T00:00:00.000Z")
    assert read_line(encode_entry(entry)) == head_of(entry)


@pytest.mark.parametrize("kind", WHOLE)
def test_every_member_that_must_be_there_is_asked_for(kind: str) -> None:
    for name in WHOLE[kind]:
        given = {"type": kind, **WHOLE[kind]}
        del given[name]
        if name in OPTIONAL.get(kind, []):
            check_entry(given)
        else:
            with pytest.raises(InvalidEntry) as caught:
                check_entry(given)
            assert caught.value.path == name


@pytest.mark.parametrize("kind", WHOLE)
def test_every_member_is_of_its_kind(kind: str) -> None:
    anything = {"details", "data"} | ({"usage"} if kind != "usage" else set())
    for name, value in WHOLE[kind].items():
        if name in anything:
            continue
        odd: list[Any] = [5, "x", None, True, [], {}, [5], {"a": 1}]
        for other in odd:
            given = {"type": kind, **WHOLE[kind], name: other}
            if is_alike(kind, name, value, other):
                check_entry(given)
            else:
                with pytest.raises(InvalidEntry):
                    check_entry(given)


def is_alike(kind: str, name: str, value: Any, other: Any) -> bool:
    """Whether another value is of the kind that the member asks for."""
    is_id = isinstance(other, str | int) and not isinstance(other, bool)
    fitting: dict[str, bool] = {
        "targetId": is_id or (kind == "leaf" and other is None),
        "firstKeptEntryId": is_id,
        "fromId": is_id,
        "label": other is None or isinstance(other, str),
        "replacement": other is None,
        "activeToolNames": other == [],
        "content": other == [] or isinstance(other, str),
        "message": False,
        "tokensBefore": type(other) is int,
    }
    return fitting.get(name, type(other) is type(value))


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": ""},
        {"role": 5},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "assistant", "content": [1]},
        {"role": "toolResult", "content": {}},
        {"role": "bashExecution", "command": "x"},
        {"role": "branchSummary", "summary": "x"},
        {"role": "compactionSummary", "summary": "x"},
    ],
)
def test_a_message_that_pi_could_not_show_is_refused(message: Any) -> None:
    with pytest.raises(InvalidEntry) as caught:
        check_entry({"type": "message", "message": message})
    assert caught.value.path == "message"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"type": None},
        {"type": ""},
        {"type": "session"},
        {"type": "x", "id": ""},
        {"type": "x", "id": 5},
        {"type": "x", "id": None},
        {"type": "x", "timestamp": 5},
        {"type": "x", "timestamp": "yesterday"},
    ],
)
def test_what_every_entry_needs(given: Any) -> None:
    with pytest.raises(InvalidEntry):
        check_entry(given)


def test_a_type_of_tomorrow_is_taken_as_it_is() -> None:
    assert spelled({"b": 1, "type": "tomorrow", "a": {"2": 0, "1": 0}}) == (
        '{"type":"tomorrow","id":"i","parentId":null,"timestamp":"t","b":1,"a":{"1":0,"2":0}}'
    )


def test_names_are_one_trimmed_line_and_empty_notes_are_left_out() -> None:
    assert '"name":"a b"' in spelled({"type": "session_info", "name": "\ufeff a\r\n\nb\t"})
    assert "note" not in spelled({"type": "usage", **WHOLE["usage"], "note": ""})


# Headers and names


def test_a_header_is_spelled_as_pi_spells_it() -> None:
    header = make_header("s", "t", "/w ü")
    assert encode_header(header).decode() == (
        '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w ü"}'
    )
    assert encode_header(make_header("s", "t", "/", "/p")).endswith(b',"parentSession":"/p"}')


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a", True),
        ("0", True),
        ("a-b_c.D", True),
        ("", False),
        (".", False),
        ("-a", False),
        ("a-", False),
        ("a b", False),
        ("a/b", False),
        ("ä", False),
        ("a\n", False),
    ],
)
def test_session_ids(text: str, fits: bool) -> None:
    assert is_session_id(text) == fits


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/srv/my project", "--srv-my project--"),
        ("/", "----"),
        ("", "----"),
        ("//a", "---a--"),
        ("C:\\a\\b", "--C--a-b--"),
        ("\\\\host\\a", "---host-a--"),
        ("/a.b-c", "--a.b-c--"),
    ],
)
def test_folders(cwd: str, folder: str) -> None:
    assert folder_name(cwd) == folder


def test_a_files_name_begins_with_its_time() -> None:
    assert file_name("s", "2026-11-30T01:02:03.004Z") == "2026-11-30T01-02-03-004Z_s.jsonl"


# When the file appears


@pytest.mark.parametrize(
    ("rule", "calling"),
    [
        ("first-assistant", {"assistant"}),
        ("first-message", {"assistant", "user"}),
        ("immediate", {"", "assistant", "user", "system", "custom", "custom_message"}),
    ],
)
def test_what_calls_for_a_file(rule: FlushRule, calling: set[str]) -> None:
    entries: dict[str, dict[str, Any]] = {
        role: {"type": "message", "message": {"role": role}}
        for role in ("assistant", "user", "system")
    }
    entries |= {kind: {"type": kind, **WHOLE[kind]} for kind in ("custom", "custom_message")}
    for name, entry in entries.items():
        kind = head_of({"id": "i", **entry}).kind
        assert calls_for_flush(rule, [kind]) == (name in calling)
    assert calls_for_flush(rule, []) == ("" in calling)

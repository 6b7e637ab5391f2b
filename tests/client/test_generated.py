"""What the client makes of the protocol's table, compared with the table itself."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client.aio import PROTOCOL_VERSIONS, Client
from pisessiond.client.framing import MAX_HEADER, MAX_MESSAGE
from pisessiond.client.inbox import SESSION_RESET
from pisessiond.client.session import Session
from pisessiond.client.update import DID_CHANGE
from pisessiond.protocol import wire
from pisessiond.protocol.methods import METHODS, NOTIFICATIONS
from tests.client.generated import CLIENT, made

MADE = made()

TYPED: dict[str, Callable[..., Any]] = {
    "session/create": Client.create,
    "session/list": Client.sessions,
    "session/search": Client.search,
    "session/close": Session.close,
    "session/sync": Session.sync,
    "session/tree": Session.tree,
    "session/rows": Session.rows,
    "session/branches": Session.branches,
    "session/graph": Session.graph,
    "session/entries": Session.entries,
    "session/context": Session.context,
    "session/stats": Session.stats,
    "session/compare": Session.compare,
    "session/summarizers": Session.summarizers,
    "session/check": Session.check,
    "session/export": Session.export,
    "session/import": Client.import_session,
    "session/append": Session.append,
    "session/navigate": Session.navigate,
    "session/compact": Session.compact,
    "session/cancel": Session.cancel_operation,
    "session/fork": Session.fork,
    "session/clone": Session.clone,
    "session/label": Session.label,
    "session/rename": Session.rename,
    "session/editContext": Session.edit_context,
    "session/prompt": Session.prompt,
    "session/abort": Session.abort,
    "session/reread": Session.reread,
}
ELSEWHERE = {
    "initialize", "initialized", "shutdown", "exit", "$/cancelRequest",  # the connection's own
    "daemon/status", "daemon/shutdown",  # no parameters
    "session/open",  # its three ways are told apart by name
    "session/delete",  # and its two
    "session/contextSize",  # two methods: the leaf's, and some entries'
}  # fmt: skip
LEFT_OUT = {
    ("session/list", "watch"),
    ("session/navigate", "work_done_token"),
    ("session/compact", "work_done_token"),
}
"""Parameters that typed methods do not take; the last two are made where `progress` is given."""


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_modules_made_by_rule_are_up_to_date(path: Path) -> None:
    hint = "run: python -m tests.client.generated"
    assert path.read_text("utf-8") == MADE[path], hint


def test_every_method_of_the_table_can_be_called() -> None:
    ours = {name for name, method in METHODS.items() if method.kind != "pi"}
    assert set(TYPED) | ELSEWHERE == ours


@pytest.mark.parametrize("name", TYPED)
def test_a_typed_method_takes_the_parameters_of_the_table(name: str) -> None:
    given = set(inspect.signature(TYPED[name]).parameters)
    given -= {"self", "session", "progress"}
    expected = {
        parameter
        for parameter in METHODS[name].params.model_fields
        if parameter != "session" and (name, parameter) not in LEFT_OUT
    }
    assert given == expected


def test_a_typed_method_says_the_answer_of_the_table() -> None:
    # The type stands beside the method's name: `self._call(answers.Done, "session/label", …)`.
    modules = (CLIENT / "session.py", CLIENT / "questions.py")
    text = "".join(module.read_text("utf-8") for module in modules)
    calls = re.findall(r'self\._call\(\s*(?:answers\.)?(\w+),\s*"([\w/]+)"', text)
    said = {method: answer for answer, method in calls}
    said.pop("session/contextSize")  # one answer of two
    assert said.pop("session/close") == said.pop("session/sync") == "dict"
    for method, answer in said.items():
        result = METHODS[method].result
        assert result is not None
        assert answer == result.__name__, method


def test_limits_and_names_are_the_protocols() -> None:
    assert (MAX_HEADER, MAX_MESSAGE) == (wire.MAX_HEADER_BYTES, wire.MAX_MESSAGE_BYTES)
    assert set(PROTOCOL_VERSIONS) <= set(wire.SUPPORTED_VERSIONS)
    assert {DID_CHANGE, SESSION_RESET} <= set(NOTIFICATIONS)

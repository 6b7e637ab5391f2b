"""The TypeScript types made from the method table."""

from __future__ import annotations

import re
from pathlib import Path

from pisessiond.protocol.errors import ERRORS
from pisessiond.protocol.methods import ASKED, METHODS, NOTIFICATIONS
from pisessiond.protocol.typescript import typescript

FILE = Path(__file__).parents[2] / "vscode-extension" / "src" / "rpc" / "protocol.ts"


def test_the_types_of_the_extension_are_in_step_with_the_table() -> None:
    hint = "remake them: python -m pisessiond.protocol.typescript > " + "/".join(FILE.parts[-4:])
    assert FILE.read_text("utf-8") == typescript(), hint


def test_every_message_and_error_of_the_table_is_typed() -> None:
    text = typescript()
    named = set(re.findall(r'^  "([^"]+)":', text, re.MULTILINE))
    assert named == {*METHODS, *NOTIFICATIONS, *ASKED}
    assert set(re.findall(r'^  \| "(\w+)"', text, re.MULTILINE)) == set(ERRORS)


def test_every_type_that_is_named_is_there() -> None:
    text = typescript()
    without_words = re.sub(r'/\*\*.*?\*/|"[^"]*"', "", text, flags=re.DOTALL)
    defined = set(re.findall(r"export (?:interface|type) (\w+)", text))
    used = set(re.findall(r"[:|<;]\s*(?:\()?([A-Z]\w+)", without_words))
    assert used - {"Record", "Partial"} <= defined

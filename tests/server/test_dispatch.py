"""The handlers and the table of methods are the same set."""

from __future__ import annotations

from collections import Counter

from pisessiond.protocol.methods import METHODS
from pisessiond.server import dispatch


def test_every_method_has_one_handler_and_no_handler_is_without_a_method() -> None:
    bound = Counter(row.method.name for row in dispatch._ROWS)
    assert set(bound) == set(METHODS)
    assert set(bound.values()) == {1}


def test_handlers_are_bound_to_the_rows_of_the_table() -> None:
    for name, handler in dispatch.HANDLERS.items():
        assert handler.method is METHODS[name]

"""How rows have changed, on its way to clients."""

import json

from pisessiond.core.rows.row import Row, RowsChange
from pisessiond.server.conversion import did_change
from pisessiond.service.types import SessionChange


def test_what_is_new_gone_and_stale_among_rows_arrives() -> None:
    row = Row("e:a", "user", None, None, "a", "a", "a", 1, "Hello")
    change = SessionChange(
        "s1",
        epoch="e1",
        base=1,
        rev=1,
        changes=(),
        leaf="a",
        context_size=None,
        rows={"all": RowsChange((row,), ("e:b",), (None, "b:c"))},
    )
    (sent,) = json.loads(did_change(change, "all"))["params"]["changes"]
    assert sent["kind"] == "rows"
    assert [one["id"] for one in sent["upsert"]] == ["e:a"]
    assert sent["gone"] == ["e:b"]
    assert sent["stale"] == [None, "b:c"]

"""Graphs on the wire: members that say nothing stay away, all others are what the models say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pisessiond.protocol.graph_models import GraphParams, GraphResult
from pisessiond.server.graph_conversion import graph_text
from pisessiond.service.graph_pages import GraphWish
from tests.support.service import answer, service, user

GRAPHS = sorted((Path(__file__).parents[1] / "graphs").glob("*.json"))


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_an_answer_is_what_the_models_say_and_comes_back_as_it_was(path: Path) -> None:
    answer = json.loads(path.read_text("utf-8"))
    model = GraphResult.model_validate(answer, strict=True)
    assert json.loads(model.to_wire()) == answer


@pytest.mark.anyio
async def test_half_a_surrogate_pair_goes_out_as_the_escape_it_came_as(tmp_path: Path) -> None:
    async with service(tmp_path) as house:
        session = await house.opened(user("cut", "\ud83d"), answer("off", "b", "\ud83d"))
        page = await session.rows.graph(GraphWish())
    told = json.loads(graph_text(page).data)
    assert told["lines"][0]["entry"] == "\ud83d"
    assert [line["parent"] for line in told["lines"]] == [None, 0, 1]


ABSENT = {"end": None, "comesOut": False, "leads": False, "count": 1}
"""What a member that is not there means."""


def test_members_that_are_seldom_needed_are_absent_elsewhere() -> None:
    seen = dict.fromkeys(ABSENT, 0)
    lines: list[dict[str, Any]] = []
    for path in GRAPHS:
        lines += json.loads(path.read_text("utf-8"))["lines"]
    lanes = [lane for line in lines for lane in (*line["passing"], *line["leaving"])]
    for one in (*lines, *lanes):
        for name in ABSENT.keys() & one.keys():
            assert one[name] != ABSENT[name]
            seen[name] += 1
    assert min(seen.values()) > 0
    assert seen["end"] < len(lines) / 2


@pytest.mark.parametrize(
    "params",
    [
        {"start": 0, "around": "here"},
        {"start": -1},
        {"start": "0"},
        {"count": 0},
        {"count": 2_001},
        {"zoom": "days"},
        {"around": ["u1"]},
    ],
    ids=str,
)
def test_a_stretch_that_cannot_be_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GraphParams.model_validate({"session": "s", **params})


def test_a_stretch_begins_at_the_top_unless_something_else_is_asked_for() -> None:
    params = GraphParams.model_validate({"session": "s", "unknown": 1})
    assert (params.zoom, params.start, params.around, params.count) == ("turns", 0, None, 200)

"""The command that draws a whole session as lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pisessiond.cli.output import Output, can_draw, screen_width
from pisessiond.cli.remote import (
    examples,
    latest_argument,
    open_session,
    remote_command,
    width_option,
)
from pisessiond.cli.view_commands import ascii_option

if TYPE_CHECKING:
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.questions import Zoom

ZOOMS = ["branches", "turns", "entries"]


@click.command(
    epilog=examples(
        "pisessiond graph",
        "pisessiond graph session.jsonl --zoom branches",
        "pisessiond graph latest --json | jq '.lines[] | select(.end) | .end.entry'",
    )
)
@latest_argument
@click.option(
    "--zoom",
    type=click.Choice(ZOOMS),
    default="turns",
    show_default=True,
    help="The shape alone, the rows of the tree, or every entry.",
)
@ascii_option
@width_option
@remote_command
def graph(
    client: BlockingClient,
    output: Output,
    session: str,
    zoom: Zoom,
    ascii: bool,  # noqa: A002
    width: int | None,
) -> None:
    """Draw a whole session: each branch in a lane of its own.

    Oldest on top, the main line at the left. A full block stands in the lane of the line itself and
    is as wide as the context was full there, so that a compaction (═) is a waist; light blocks are
    lanes that pass by, │ leads to a branch that begins further down. `end · 14` is the end of a
    branch of 14 entries. Beside the main line there are eight lanes; +3 are three branches more.
    """
    from datetime import datetime

    from pisessiond.cli.canvas import Canvas
    from pisessiond.cli.graph_view import GraphView
    from pisessiond.cli.tree_header import header_lines

    held = open_session(client, session)
    # Of a session that was just loaded sizes are being counted, and its model's window is looked
    # up; this waits for both.
    held.opened["contextSize"] = held.size()
    if held.leaf is not None:
        held.sizes([held.leaf])
    answer = held.whole_graph(zoom)
    if output.as_json:
        output.json(answer)
        return
    canvas = Canvas(screen_width(width), not can_draw(ascii))
    others = [one for one in held.clients if one["client"] != client.client_id]
    for line in header_lines(held.opened, answer["total"], zoom, canvas, others):
        output.lines([output.paint(line, "head")])
    view = GraphView(canvas, datetime.now().astimezone().date(), output.paint)
    output.lines(view.draw(answer["lines"], answer["lanes"]))

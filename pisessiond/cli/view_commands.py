"""Commands that look: list, tree, show, context, follow."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import REFUSED, Output, can_draw, screen_width
from pisessiond.cli.remote import (
    examples,
    given,
    latest_argument,
    open_session,
    remote_command,
    session_argument,
    width_option,
)

if TYPE_CHECKING:
    from pisessiond.cli.row_view import RowView
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.blocking_session import BlockingSession
    from pisessiond.client.questions import Filter

FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"]

WITH_IDS = 72
"""Cells from which a tree has ids; its rows keep all their columns beside them."""

filter_option = click.option(
    "--filter", "shown", type=click.Choice(FILTERS), default="default", show_default=True
)
ascii_option = click.option("--ascii", is_flag=True, help="Draw with ASCII characters only.")


@click.command(
    "list",
    epilog=examples(
        "pisessiond list",
        "pisessiond list --all --live",
        "pisessiond list --all --query login --json | jq '.sessions[].path'",
    ),
)
@click.option("--all", "everywhere", is_flag=True, help="Sessions of all folders.")
@click.option("--cwd", metavar="DIR", help="Sessions of this folder instead of the one you are in.")
@click.option("--name", metavar="TEXT", help="Only sessions with this text in their name.")
@click.option("--query", metavar="TEXT", help="Only sessions with this text in name or beginning.")
@click.option("--open", "is_open", is_flag=True, help="Only sessions that a client has open.")
@click.option("--live", is_flag=True, help="Only sessions that another program writes to.")
@click.option("--unsaved", is_flag=True, help="Only sessions with nothing on disk yet.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 500))
@width_option
@remote_command
def list_sessions(
    client: BlockingClient,
    output: Output,
    everywhere: bool,
    cwd: str | None,
    name: str | None,
    query: str | None,
    is_open: bool,
    live: bool,
    unsaved: bool,
    limit: int,
    width: int | None,
) -> None:
    """List the sessions of this folder, or of --all.

    Families of forks by their newest activity: time of it, messages, size at the end, id, title.
    ● is open in a client, ○ is not, + has nothing on disk yet, ⑂ is a fork; pi is one that runs and
    has it open, live is what another program wrote to in the last 15 minutes.
    """
    if everywhere and cwd is not None:
        raise click.UsageError("--all and --cwd cannot be given together")
    wanted: dict[str, Any] = {
        "cwd": given(None if everywhere else cwd or os.getcwd()),
        "name": given(name),
        "query": given(query),
        "open": is_open,
        "live": live,
        "unsaved": unsaved,
    }
    answer = client.sessions(**wanted, limit=limit)
    # Before all files have been read, an answer may hold fewer than there are.
    while (cursor := answer["cursor"]) is not None and len(answer["sessions"]) < limit:
        more = client.sessions(**wanted, limit=limit - len(answer["sessions"]), cursor=cursor)
        answer = {**more, "sessions": [*answer["sessions"], *more["sessions"]]}
    if output.as_json:
        output.json(answer)
        return
    from pisessiond.cli.list_view import ASCII_FORK, FORK, folder_lines, list_notes, session_lines

    cells = screen_width(width)
    fork = FORK if can_draw(asked_for_ascii=False) else ASCII_FORK
    output.lines(session_lines(answer["sessions"], cells, fork=fork))
    for line in list_notes(answer, is_cut=answer["cursor"] is not None):
        output.lines([output.paint(line, "dim")])
    if not answer["sessions"]:
        is_some = bool(name or query or is_open or live or unsaved)
        none = ["no such session" if is_some else "no session in any folder"]
        lines = none if everywhere else folder_lines(answer, is_some=is_some)
        output.lines([output.paint(line, "dim") for line in lines])


@click.command(
    epilog=examples(
        "pisessiond tree",
        "pisessiond tree session.jsonl --filter user-only",
        "pisessiond tree latest --open 5f2c91aa --open 77d04c1e",
        "pisessiond tree latest --open all --json | jq '.rows[].entry'",
    )
)
@latest_argument
@filter_option
@click.option(
    "--open",
    "opened",
    multiple=True,
    metavar="all|none|ID",
    default=("none",),
    show_default=True,
    help="Unfold everything, nothing, or the way to an entry and what it stands for; repeatable.",
)
@click.option(
    "--ids/--no-ids", default=None, help="Put entry ids in front; they are from 72 cells."
)
@ascii_option
@width_option
@remote_command
def tree(
    client: BlockingClient,
    output: Output,
    session: str,
    shown: Filter,
    opened: tuple[str, ...],
    ids: bool | None,
    ascii: bool,  # noqa: A002
    width: int | None,
) -> None:
    """Draw a tree: turns, work, branches, labels, leaf, sizes.

    Work, branches that leave the line, what was summarised and what is ahead are one row each (▸)
    until they are opened. `~` is estimated, `+` is not on disk yet, `!2` are two failures, x is out
    of the context, ⑂ was forked, ‹pi› is where a running pi stands. A row's id is what acting on it
    means; that of a branch, its end.
    """
    from dataclasses import replace

    from pisessiond.cli.canvas import Canvas
    from pisessiond.cli.pi_view import standing
    from pisessiond.cli.row_reading import read_rows
    from pisessiond.cli.row_view import id_column
    from pisessiond.cli.tree_header import header_lines

    held = open_session(client, session)
    # Of a session that was just loaded sizes are being counted, and its model's window is looked
    # up; this waits for both.
    held.opened["contextSize"] = held.size()
    read = read_rows(held, shown, opened)
    if output.as_json:
        output.json({"rev": read.rev, "level": None, "total": read.total, "rows": read.rows})
        return
    canvas = Canvas(screen_width(width), not can_draw(ascii))
    others = [one for one in held.clients if one["client"] != client.client_id]
    for line in header_lines(held.opened, len(read.rows), shown, canvas, others):
        output.lines([output.paint(line, "head")])
    shows_ids = canvas.width >= WITH_IDS if ids is None else ids
    column = id_column(read.rows, canvas.glyphs.cut) if shows_ids else [""] * len(read.rows)
    cells = canvas.width - (len(column[0]) + 1 if shows_ids and column else 0)
    view = _row_view(output, cells, canvas.is_ascii)
    view = replace(view, standing=standing(held.opened, read.rows, canvas.glyphs.running))
    drawn = view.draw(read.rows, read.opened)
    for name, line in zip(column, drawn, strict=True):
        output.lines([f"{output.paint(name, 'id')} {line}" if shows_ids else line])


def _row_view(output: Output, width: int, is_ascii: bool) -> RowView:
    from datetime import datetime

    from pisessiond.cli.row_view import ASCII, UNICODE, RowView

    today = datetime.now().astimezone().date()
    return RowView(width, ASCII if is_ascii else UNICODE, today=today, paint=output.paint)


@click.command(
    epilog=examples(
        "pisessiond show latest",
        "pisessiond show session.jsonl 5f2c91aa 77d04c1e",
        "pisessiond show latest 5f2c91aa --json | jq '.entries[0].message'",
    )
)
@session_argument
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@remote_command
def show(client: BlockingClient, output: Output, session: str, entries: tuple[str, ...]) -> None:
    """Print entries: the one at the leaf, or others."""
    from pisessiond.cli.entry_view import entry_lines

    opened = open_session(client, session)
    wanted: list[Any] = list(entries)
    if not wanted and opened.leaf is not None:
        wanted = [opened.leaf]
    answer = opened.entries(ids=wanted)
    if output.as_json:
        output.json(answer)
        return
    for entry in answer["entries"]:
        output.lines(entry_lines(entry))


@click.command(
    epilog=examples(
        "pisessiond context",
        "pisessiond context session.jsonl 5f2c91aa",
        "pisessiond context --size --window 200000",
        "pisessiond context --json | jq '.messages[].role'",
        "pisessiond context --size --json | jq '.largest[] | .entry'",
    )
)
@latest_argument
@click.argument("entry", required=False)
@click.option("--size", "only_size", is_flag=True, help="Only how large it is and what fills it.")
@click.option(
    "--window",
    metavar="TOKENS",
    type=click.IntRange(1),
    help="Count by a context window of this size instead of the model's.",
)
@width_option
@remote_command
def context(
    client: BlockingClient,
    output: Output,
    session: str,
    entry: str | None,
    only_size: bool,
    window: int | None,
    width: int | None,
) -> None:
    """Show what the model would be sent.

    At the leaf or at an entry, how large that is, what it is made of and which entries take most.
    """
    from pisessiond.cli.context_view import context_lines

    opened = open_session(client, session)
    if only_size or not output.as_json:
        sizes = [] if entry is None else [*opened.sizes([entry], window=given(window)).values()]
        size = sizes[0] if sizes else opened.size(window=given(window))
        if output.as_json:
            output.json(size)
            return
        head, *rest = context_lines(size, screen_width(width))
        output.lines([output.paint(head, "head"), *rest])
    if not only_size:
        _show_messages(output, opened, entry, width)


def _show_messages(
    output: Output, opened: BlockingSession, entry: str | None, width: int | None
) -> None:
    from pisessiond.cli.entry_view import message_lines
    from pisessiond.cli.figures import count

    answer = opened.context(given(entry))
    while (cursor := answer["cursor"]) is not None:
        page = opened.context(given(entry), cursor=cursor)
        answer["messages"] += page["messages"]
        answer["sources"] += page["sources"]
        answer["omitted"] += page["omitted"]
        answer["cursor"] = page["cursor"]
    if output.as_json:
        output.json(answer)
        return
    output.lines(message_lines(answer["messages"], answer["sources"], screen_width(width)))
    if answer["omitted"]:
        left_out = count(len(answer["omitted"]), "entry gives", "entries give")
        output.lines([output.paint(f"{left_out} no message here", "dim")])


@click.command(
    epilog=examples(
        "pisessiond follow",
        "pisessiond follow session.jsonl --filter no-tools",
        "pisessiond follow session.jsonl --json | jq --unbuffered .leaf",
    )
)
@latest_argument
@filter_option
@ascii_option
@width_option
@remote_command
def follow(
    client: BlockingClient,
    output: Output,
    session: str,
    shown: Filter,
    ascii: bool,  # noqa: A002
    width: int | None,
) -> None:
    """Print each change as it happens.

    Who did what, and the rows of the tree that are new or other by it; each compaction or summary,
    when it begins and how it ends; and what a running pi does: idle, at work, waiting for its user,
    gone. Ends with Ctrl-C. With --json each line is one object; the first, and each after changes
    were lost, has a snapshot.
    """
    from pisessiond.cli.following import Telling
    from pisessiond.client.errors import RpcFailure
    from pisessiond.client.update import Update

    opened = open_session(client, session, rows=shown)
    telling = Telling(output, _row_view(output, screen_width(width), is_ascii=not can_draw(ascii)))
    telling.say(Update.of_opening(opened.opened))
    try:
        for update in opened.changes(progress=True, presence=True):
            telling.say(update)
            if any(None in change.get("stale", ()) for change in update.changes):
                # Changes go on in rows from where somebody has asked for them. What is wrong with
                # the session is told by its changes too.
                with contextlib.suppress(RpcFailure):
                    opened.rows(around="here", count=1, filter=shown)
    except RpcFailure as failure:
        if failure.kind != "SessionNotFound":
            raise
        gone = "the session is gone: it was deleted, or its file was moved"
        raise output.fail(failure.kind, gone, REFUSED, failure.data) from failure

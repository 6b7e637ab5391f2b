"""Commands that look: list, tree, show, context, follow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import Output, can_draw, screen_width
from pisessiond.cli.plain_text import cut
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
    from pisessiond.client import answers
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.blocking_session import BlockingSession
    from pisessiond.client.session import Filter
    from pisessiond.client.update import Update

FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"]

AT_ONCE = 2000
"""Entries whose sizes are asked for in one request; the protocol's most."""


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
    ● is open in a client, ○ is not, + has nothing on disk yet, ⑂ is a fork; live is what another
    program wrote to in the last 15 minutes.
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
    if not answer["sessions"] and not everywhere:
        output.lines([output.paint(line, "dim") for line in folder_lines(answer)])


@click.command(
    epilog=examples(
        "pisessiond tree",
        "pisessiond tree session.jsonl --filter user-only",
        "pisessiond tree 0192f3c1-... --json | jq '.nodes[].id'",
    )
)
@latest_argument
@click.option("--filter", "shown", type=click.Choice(FILTERS), default="default", show_default=True)
@click.option("--ascii", is_flag=True, help="Draw with ASCII characters only.")
@width_option
@remote_command
def tree(
    client: BlockingClient,
    output: Output,
    session: str,
    shown: Filter,
    ascii: bool,  # noqa: A002
    width: int | None,
) -> None:
    """Draw a tree: branches, labels, leaf, sizes.

    The main line is never indented; a branch that leaves it is, right under the entry where it
    does. `~` is estimated, `+` is not on disk yet, `!` has a problem.
    """
    from pisessiond.cli.report_view import header_lines
    from pisessiond.cli.tree_view import ASCII, UNICODE, TreeView

    opened = open_session(client, session)
    answer = _counted_tree(opened, shown)
    if output.as_json:
        output.json(answer)
        return
    if opened.context_size is None:
        opened.context_size = opened.opened["contextSize"] = opened.size()
    cells = screen_width(width)
    glyphs = UNICODE if can_draw(ascii) else ASCII
    view = TreeView(cells, glyphs, paint=output.paint)
    for line in header_lines(opened.opened, len(answer["nodes"]), cells, shown):
        output.lines([output.paint(line, "head")])
    output.lines(view.draw(answer["nodes"], opened.context_size))


def _counted_tree(session: BlockingSession, shown: Filter) -> answers.TreeResult:
    """The whole tree, the sizes that its nodes do not know yet asked for one by one."""
    answer = session.whole_tree(filter=shown)
    unknown = [node for node in answer["nodes"] if node["contextSize"] is None]
    for at in range(0, len(unknown), AT_ONCE):
        some = unknown[at : at + AT_ONCE]
        sizes = session.sizes([node["id"] for node in some])
        for node in some:
            if (size := sizes.get(str(node["id"]))) is not None:
                node["contextSize"] = {"tokens": size["tokens"], "source": size["source"]}
    return answer


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
        "pisessiond follow session.jsonl --json | jq --unbuffered .leaf",
    )
)
@latest_argument
@width_option
@remote_command
def follow(client: BlockingClient, output: Output, session: str, width: int | None) -> None:
    """Print each change as it happens.

    And each compaction or summary, when it begins and how it ends. Ends with Ctrl-C. With --json
    each line is one object; the first, and each after changes were lost, has a snapshot.
    """
    from pisessiond.client.update import Update

    opened = open_session(client, session)
    cells = screen_width(width)
    _say_update(output, Update.of_opening(opened.opened), cells)
    for update in opened.changes(progress=True):
        _say_update(output, update, cells)


def _say_update(output: Output, update: Update, width: int) -> None:
    if output.as_json:
        line: dict[str, Any] = {
            "rev": update.rev,
            "changes": update.changes,
            "leaf": update.leaf,
            "contextSize": update.context_size,
        }
        if update.progress is not None:
            output.json({"rev": update.rev, "progress": update.progress})
        else:
            output.json(line if update.snapshot is None else {**line, "snapshot": update.snapshot})
        return
    if update.progress is not None:
        from pisessiond.cli.operation_view import operation_line

        if (told := operation_line(update.progress)) is not None:
            output.lines([cut(told, width)])
        return
    from pisessiond.cli.change_view import update_lines

    output.lines(update_lines(update, width))

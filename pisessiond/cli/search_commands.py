"""The command that looks for words: search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from pisessiond.cli.output import Output, screen_width
from pisessiond.cli.remote import (
    examples,
    given,
    open_session,
    remote_command,
    width_option,
)

if TYPE_CHECKING:
    from pisessiond.client.blocking import BlockingClient

PAUSE_SECONDS: Final = 0.2


@click.command(
    epilog=examples(
        "pisessiond search login fixture",
        "pisessiond search '\"clock is naive\"' --role assistant --cwd .",
        "pisessiond search src/app.py --tool edit --since 2026-11-01",
        "pisessiond search 検索 --json | jq -r '.hits[].entry'",
    )
)
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--session", metavar="SESSION", help="Only in this session: a file, an id or latest.")
@click.option("--role", metavar="ROLE", help="Only what was said by user, assistant, toolResult, …")
@click.option("--tool", metavar="NAME", help="Only calls and results of this tool.")
@click.option("--label", metavar="LABEL", help="Only entries with this label.")
@click.option("--cwd", metavar="DIR", help="Only in sessions of this folder.")
@click.option("--since", metavar="TIME", help="Only what is not older, such as 2026-11-01.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500))
@click.option("--cursor", metavar="CURSOR", help="Go on where an answer ended.")
@click.option(
    "--wait",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Wait for session files that are still being read.",
)
@width_option
@remote_command
def search(
    client: BlockingClient,
    output: Output,
    words: tuple[str, ...],
    session: str | None,
    role: str | None,
    tool: str | None,
    label: str | None,
    cwd: str | None,
    since: str | None,
    limit: int,
    cursor: str | None,
    wait: float,
    width: int | None,
) -> None:
    """Search what was said in all sessions.

    All words must stand in one message or tool call, whatever their case and accents; in double
    quotes a phrase. The best and newest come first, each with its session, entry, who said it and
    when.
    """
    if session is not None:
        # A session that is none is refused here: nothing would be found in it without a word.
        session = open_session(client, session).handle
    end = time.monotonic() + wait
    while True:
        found = client.search(
            " ".join(words),
            session=given(session),
            role=given(role),
            tool=given(tool),
            label=given(label),
            cwd=given(cwd),
            since=given(since),
            limit=limit,
            cursor=given(cursor),
        )
        if not found["pending"] or time.monotonic() >= end:
            break
        # The daemon reads on in the background; each answer helps it along too.
        time.sleep(PAUSE_SECONDS)
    if output.as_json:
        output.json(found)
        return
    from pisessiond.cli.search_view import search_lines

    output.lines(search_lines(found, screen_width(width), output.paint))

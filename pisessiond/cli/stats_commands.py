"""`stats`: the totals of one session, or with --all of many."""

from __future__ import annotations

import os
from typing import Any

import click

from pisessiond.cli.output import Output, can_draw, screen_width
from pisessiond.cli.remote import examples, json_option, open_session, socket_option


@click.command(
    epilog=examples(
        "pisessiond stats",
        "pisessiond stats session.jsonl --json | jq .file.cost",
        "pisessiond stats --all",
        "pisessiond stats --all --cwd . --json | jq '.days[] | [.day, .cost]'",
    )
)
@click.argument("session", metavar="[SESSION]", required=False)
@click.option(
    "--all", "all_sessions", is_flag=True, help="Of all sessions, by model, project, day."
)
@click.option("--cwd", metavar="DIR", help="With --all: only sessions of this folder.")
@click.option(
    "--agent-dir",
    envvar="PI_CODING_AGENT_DIR",
    metavar="DIR",
    help="With --all: pi's agent folder, usually ~/.pi/agent.",
)
@click.option("--ascii", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--width", type=click.IntRange(12, 10_000), help="Cells in a line.")
@json_option
@socket_option
def stats(
    session: str | None,
    all_sessions: bool,
    cwd: str | None,
    agent_dir: str | None,
    ascii: bool,  # noqa: A002
    width: int | None,
    socket: str | None,
    as_json: bool,
) -> None:
    """Count messages, tokens and cost.

    Of the active branch and of the whole file. With --all of every session, read without a daemon;
    entries that forks share count once.
    """
    output = Output(as_json=as_json)
    if all_sessions:
        if session is not None:
            raise click.UsageError("--all counts every session; name none")
        _of_all(output, agent_dir, cwd, ascii_only=not can_draw(ascii), width=width)
        return
    if cwd is not None:
        raise click.UsageError("--cwd goes with --all")
    answer = _of_one(session or "latest", socket, output)
    if as_json:
        output.json(answer)
        return
    from pisessiond.cli.report_view import stats_lines

    output.lines(stats_lines(answer))


def _of_one(session: str, socket: str | None, output: Output) -> Any:
    with output.refusals():
        from pisessiond.client.blocking import connect

        with connect(socket or None, name="pisessiond-cli") as client:
            return open_session(client, session).stats()


def _of_all(
    output: Output, agent_dir: str | None, cwd: str | None, *, ascii_only: bool, width: int | None
) -> None:
    from pisessiond import offline
    from pisessiond.cli.progress import Progress
    from pisessiond.cli.totals_view import totals_lines
    from pisessiond.client.address import agent_folder

    with output.refusals():
        # That of the daemon, whose home is not HOME.
        agent_dir = agent_folder(agent_dir)
    progress = Progress("reading sessions", ascii_only=ascii_only)
    try:
        found = offline.totals(agent_dir, cwd and os.path.abspath(cwd), progress)
    finally:
        progress.end()
    if output.as_json:
        output.json(found)
        return
    output.lines(
        totals_lines(found, screen_width(width), ascii_only=ascii_only, paint=output.paint)
    )

"""Commands that look for what is lost or broken: check, recover. They need no daemon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import REFUSED, UNUSABLE, Output
from pisessiond.cli.remote import examples, is_file, json_option, open_session, socket_option

if TYPE_CHECKING:
    from pisessiond.client import answers


@click.command(
    epilog=examples(
        "pisessiond check session.jsonl",
        "pisessiond check session.jsonl --json | jq '.problems[].line'",
        "pisessiond check session.jsonl --repair mended.jsonl",
    )
)
@click.argument("session", metavar="[SESSION]", default="latest")
@click.option(
    "--repair", "out", metavar="OUT", help="Write a sound session to a new file; the old one stays."
)
@json_option
@socket_option
def check(session: str, out: str | None, socket: str | None, as_json: bool) -> None:
    """Name the problems in a session's file.

    With their line, byte offset, and what they mean. A file is read without a daemon, and nothing
    in it is changed. Exits with 0 when it is sound, 1 when it has problems, 2 when it is no
    session or cannot be read. With --repair 0 says that OUT was written.
    """
    output = Output(as_json=as_json)
    if not is_file(session):
        session, problems = _asked(session, socket, output)
    else:
        problems = _found(session, output)
    found: dict[str, Any] = {"problems": problems}
    if out is not None:
        found["repair"] = _repaired(session, out, output)
    if as_json:
        output.json(found)
    else:
        from pisessiond.cli.report_view import problem_lines, repair_lines

        output.lines(problem_lines(problems) if problems else ["no problems"])
        if out is not None:
            output.lines(repair_lines(found["repair"]))
    if problems and out is None:
        raise click.exceptions.Exit(REFUSED)


def _asked(session: str, socket: str | None, output: Output) -> tuple[str, list[answers.Problem]]:
    """Path and problems of a session that a daemon has to find."""
    with output.refusals():
        from pisessiond.client.blocking import connect

        with connect(socket or None, name="pisessiond-cli") as client:
            opened = open_session(client, session)
            return opened.opened["path"] or session, opened.check()["problems"]


def _found(path: str, output: Output) -> list[Any]:
    from pisessiond import app

    try:
        return app.check(path)
    except app.InspectError as error:
        raise output.fail(error.kind, error.message, UNUSABLE) from error


def _repaired(path: str, out: str, output: Output) -> dict[str, Any]:
    from pisessiond import app

    if os.path.lexists(out):
        # Said before anything is read; that nothing is written over is seen to when it is made.
        raise output.fail("SessionExists", f"{out} exists; name a new file", UNUSABLE)
    try:
        return app.repair(path, out)
    except app.InspectError as error:
        raise output.fail(error.kind, error.message, UNUSABLE) from error

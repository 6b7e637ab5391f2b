"""Commands that look for what is lost or broken: check, recover. They need no daemon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import REFUSED, UNUSABLE, Output, screen_width
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
        from pisessiond.client.errors import RpcFailure

        with connect(socket or None, name="pisessiond-cli") as client:
            try:
                opened = open_session(client, session)
                return opened.opened["path"] or session, opened.check()["problems"]
            except RpcFailure as failure:
                # 1 is kept for problems, as where the file is read here.
                raise output.refuse(failure, code=UNUSABLE) from failure


def _found(path: str, output: Output) -> list[Any]:
    from pisessiond import offline

    try:
        return offline.check(path)
    except offline.InspectError as error:
        raise output.fail(error.kind, error.message, UNUSABLE) from error


def _repaired(path: str, out: str, output: Output) -> dict[str, Any]:
    from pisessiond import offline

    if os.path.lexists(out):
        # Said before anything is read; that nothing is written over is seen to when it is made.
        raise output.fail("SessionExists", f"{out} exists; name a new file", UNUSABLE)
    try:
        return offline.repair(path, out)
    except offline.InspectError as error:
        raise output.fail(error.kind, error.message, UNUSABLE) from error


@click.command(
    epilog=examples(
        "pisessiond recover",
        "pisessiond recover --export prompt.jsonl 0192f3c1",
        "pisessiond recover --discard 0192f3c1",
    )
)
@click.argument("session", metavar="[ID]", required=False)
@click.option("--export", "out", metavar="OUT", help="Write one to a new session file.")
@click.option("--discard", is_flag=True, help="Take one away for good.")
@click.option(
    "--agent-dir",
    envvar="PI_CODING_AGENT_DIR",
    metavar="DIR",
    help="pi's agent folder, usually ~/.pi/agent.",
)
@click.option("--width", type=click.IntRange(12, 10_000), help="Cells in a line.")
@json_option
def recover(
    session: str | None,
    out: str | None,
    discard: bool,
    agent_dir: str | None,
    width: int | None,
    as_json: bool,
) -> None:
    """List prompts whose session never got its file.

    A session has a file from its first answer on. Until then its entries are kept apart, and the
    next daemon brings them back by itself: `held` is in a running daemon, `waiting` comes back
    with the next one, `conflict` does not, since another program wrote its file. ID is the
    session's, or its beginning.
    """
    from pisessiond import offline
    from pisessiond.client.address import find_place

    if (session is None) != (out is None and not discard) or (out is not None and discard):
        raise click.UsageError("say which session, and whether to --export OUT or to --discard it")
    output = Output(as_json=as_json)
    with output.refusals():
        folder = find_place(agent_dir).recovery
    found = offline.recoveries(folder)
    if session is None:
        _list_recoveries(found, output, width)
        return
    one = _the_one(found, session, output)
    if out is not None:
        try:
            offline.export_recovery(folder, one["file"], out)
        except offline.InspectError as error:
            raise output.fail(error.kind, error.message, UNUSABLE) from error
        done = f"written: {out}"
    else:
        if not offline.discard_recovery(folder, one["file"]):
            sentence = "a running daemon holds this session; stop it first: pisessiond stop"
            raise output.fail("Busy", sentence, REFUSED)
        done = "discarded"
    if as_json:
        output.json(one)
    else:
        output.lines([done])


def _list_recoveries(found: list[dict[str, Any]], output: Output, width: int | None) -> None:
    if output.as_json:
        output.json({"sessions": found})
        return
    from pisessiond.cli.report_view import recovery_lines

    output.lines(recovery_lines(found, screen_width(width)) if found else ["nothing is kept"])


def _the_one(found: list[dict[str, Any]], session: str, output: Output) -> dict[str, Any]:
    fitting = [one for one in found if (one["session"] or "").startswith(session)]
    fitting = fitting or [one for one in found if os.path.basename(one["file"]) == session]
    if not fitting:
        raise output.fail("SessionNotFound", "nothing is kept of such a session", REFUSED)
    if len(fitting) > 1:
        # Two files of one session differ in their names.
        names = ", ".join(os.path.basename(one["file"]) for one in fitting)
        raise output.fail("AmbiguousSession", f"several begin so; name one of {names}", REFUSED)
    return fitting[0]

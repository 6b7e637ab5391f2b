"""Commands about running pi: the bridge in them, a prompt, a stop."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import Output
from pisessiond.cli.remote import (
    examples,
    given,
    json_option,
    open_session,
    remote_command,
    session_argument,
    socket_option,
    which_pi_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pisessiond.client.blocking import BlockingClient

ASKS_AFTER_SECONDS = 1.0
ASKING = "pisessiond: pi has not taken it yet; it may be asking its user whether you may"


@click.group(
    epilog=examples("pisessiond pi install", "pisessiond pi status", "pisessiond pi uninstall")
)
def pi() -> None:
    """Let running pi be seen and moved from here."""


@pi.command(epilog=examples("pisessiond pi install", "pisessiond pi install --json"))
@json_option
def install(as_json: bool) -> None:
    """Add the bridge to pi's packages.

    The next pi that starts loads it; one that runs does after /reload. Only the list of packages in
    pi's user settings changes.
    """
    from pisessiond.cli.pi_package import install as add
    from pisessiond.cli.pi_package import package_folder

    output = Output(as_json=as_json)
    with output.refusals():
        folder = package_folder()
        by = add(_agent_dir(), folder)
    if as_json:
        output.json({"folder": str(folder), "changed": by != "nothing"})
    elif by == "nothing":
        output.lines([f"pi loads the bridge already, from {folder}"])
    else:
        output.lines([f"pi loads the bridge from {folder}; in one that runs, enter /reload"])


@pi.command(epilog=examples("pisessiond pi uninstall"))
@json_option
def uninstall(as_json: bool) -> None:
    """Take the bridge out of pi's packages."""
    from pisessiond.cli.pi_package import installed_folders
    from pisessiond.cli.pi_package import uninstall as remove

    output = Output(as_json=as_json)
    with output.refusals():
        agent_dir = _agent_dir()
        gone = [str(one) for one in installed_folders(agent_dir) if remove(agent_dir, one)]
    if as_json:
        output.json({"folders": gone, "changed": bool(gone)})
    else:
        output.lines(["pi loads the bridge no more" if gone else "pi did not load the bridge"])


@pi.command(
    "status", epilog=examples("pisessiond pi status", "pisessiond pi status --json | jq .running")
)
@socket_option
@json_option
def show_status(socket: str | None, as_json: bool) -> None:
    """Show whether the bridge is installed, and which pi are connected."""
    from pisessiond.cli.pi_package import installed_folders, package_version

    output = Output(as_json=as_json)
    with output.refusals():
        folders = installed_folders(_agent_dir())
        running = _running(socket)
    installed = [{"folder": str(one), "version": package_version(one)} for one in folders]
    if as_json:
        output.json({"installed": installed, "running": running or []})
    else:
        output.lines(_status_lines(installed, running))


def _agent_dir() -> str:
    from pisessiond.client.address import find_place

    return find_place().agent_dir


def _running(socket: str | None) -> list[dict[str, Any]] | None:
    """Running pi that are connected; None when no daemon runs."""
    from pisessiond.client.blocking import connect
    from pisessiond.client.errors import NoDaemon

    try:
        with connect(socket or None, name="pisessiond-cli", start=False) as client:
            return [dict(one) for one in client.status().get("pis", [])]
    except NoDaemon:
        return None


def _status_lines(
    installed: list[dict[str, str]], running: list[dict[str, Any]] | None
) -> Iterator[str]:
    from pisessiond.cli.plain_text import clean_line

    if not installed:
        yield "not installed; pi loads the bridge after: pisessiond pi install"
    for one in installed:
        yield f"installed {clean_line(one['version'])} from {clean_line(one['folder'])}"
    if running is None:
        yield "no daemon is running"
        return
    for one in running:
        place = clean_line(one["file"] or "in memory") if one["session"] else "no session"
        state = "waits for its user" if one["waitingForUser"] else one["state"]
        how = "" if one["drives"] else f", only watched: {clean_line(one.get('why') or '')}"
        version = clean_line(one["version"])
        yield f"pi {version} · process {one['pid']} · {one['mode']} · {state} · {place}{how}"
    if not running:
        yield "no pi is connected"


@contextmanager
def _said_if_slow(sentence: str, seconds: float) -> Iterator[None]:
    """Says a sentence on standard error once what is done here takes longer."""
    from threading import Timer

    timer = Timer(seconds, click.echo, [sentence], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@click.command(
    epilog=examples(
        'pisessiond prompt latest "Now fix the test."',
        'pisessiond prompt latest --steer "Leave the fixture alone."',
    )
)
@session_argument
@click.argument("text")
@click.option("--steer", is_flag=True, help="While it runs: between its steps, not behind them.")
@which_pi_option
@remote_command
def prompt(
    client: BlockingClient,
    output: Output,
    session: str,
    text: str,
    steer: bool,
    pid: int | None,
) -> None:
    """Give the pi that has a session open a prompt.

    It is as if it had been typed there.
    """
    opened = open_session(client, session)
    how = "steer" if steer else None
    with _said_if_slow(ASKING, ASKS_AFTER_SECONDS):
        answer = opened.prompt(text, deliver_as=given(how), pi=given(pid))
    if output.as_json:
        output.json(answer)
    elif answer["queued"]:
        until = "it comes between its steps" if steer else "it waits for the run"
        output.lines([f"pi has it; {until}"])
    else:
        output.lines([f"pi has it as {answer.get('entry', '')}"])


@click.command(epilog=examples("pisessiond abort latest"))
@session_argument
@which_pi_option
@remote_command
def abort(client: BlockingClient, output: Output, session: str, pid: int | None) -> None:
    """Stop what the pi that has a session open is at."""
    answer = open_session(client, session).abort(pi=given(pid))
    if output.as_json:
        output.json(answer)
    else:
        output.lines(["pi was told to stop"])

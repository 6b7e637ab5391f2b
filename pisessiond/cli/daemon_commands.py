"""Commands about the daemon itself: status, stop, call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pisessiond.cli.output import REFUSED, Output
from pisessiond.cli.remote import examples, json_option, remote_command, socket_option

if TYPE_CHECKING:
    from pisessiond.client.blocking import BlockingClient


@click.command(
    epilog=examples(
        "pisessiond status",
        "pisessiond status --json | jq .pid",
    )
)
@remote_command
def status(client: BlockingClient, output: Output) -> None:
    """Show the daemon, its clients and sessions."""
    answer = client.status()
    if output.as_json:
        output.json(answer)
    else:
        from pisessiond.cli.report_view import status_lines

        output.lines(status_lines(answer))


@click.command(
    epilog=examples(
        "pisessiond stop",
    )
)
@json_option
@socket_option
def stop(socket: str | None, as_json: bool) -> None:
    """End the daemon, for everyone. That there is none is fine."""
    from pisessiond.client.stopping import stop_daemon

    output = Output(as_json=as_json)
    with output.refusals():
        was_running = stop_daemon(socket or None)
    if output.as_json:
        output.json({"wasRunning": was_running})
    else:
        output.lines(["the daemon is stopped" if was_running else "no daemon is running"])


@click.command(epilog=examples("pisessiond doctor", "pisessiond doctor --json | jq .troubles"))
@json_option
def doctor(as_json: bool) -> None:
    """Look for what keeps the daemon from working.

    Exits with 0 when no trouble was found, else with 1.
    """
    from pisessiond.cli.doctor import examine, finding_lines

    output = Output(as_json=as_json)
    findings = list(examine())
    troubles = sum(one.state == "trouble" for one in findings)
    if as_json:
        output.json({"findings": [one._asdict() for one in findings], "troubles": troubles})
    else:
        output.lines(finding_lines(findings, output))
    raise click.exceptions.Exit(REFUSED if troubles else 0)


@click.command(
    epilog=examples(
        "pisessiond call daemon/status",
        "pisessiond call --open latest session/tree '{\"count\": 10}'",
    )
)
@click.argument("method")
@click.argument("params", default="{}", metavar="[JSON]")
@click.option("--open", "session", metavar="SESSION", help="Open this session first.")
@remote_command
def call(
    client: BlockingClient, output: Output, method: str, params: str, session: str | None
) -> None:
    """Send any request, print its result.

    With --open the session's handle is added to the parameters.
    """
    from pisessiond.cli.remote import open_session

    members = parse_object(params, "JSON")
    if session is not None:
        members = {"session": open_session(client, session).handle, **members}
    output.json(client.call(method, members))


def parse_object(text: str, name: str) -> dict[str, Any]:
    """The JSON object in an argument.

    Raises:
        click.BadParameter: It is none.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"this is no JSON: {error}", param_hint=name) from error
    if not isinstance(value, dict):
        raise click.BadParameter("this is no JSON object", param_hint=name)
    return value

"""Commands that need no daemon: serve is one, inspect reads a file, schema prints the protocol."""

from __future__ import annotations

from typing import Any

import click

from pisessiond.cli.output import REFUSED, Output
from pisessiond.cli.remote import examples, json_option, socket_option


@click.command(
    epilog=examples(
        'pisessiond serve --socket "$XDG_RUNTIME_DIR/pisessiond.sock"',
        "pisessiond serve --stdio",
    )
)
@socket_option
@click.option("--stdio", is_flag=True, help="Serve one client on standard input and output.")
@click.option(
    "--flush",
    type=click.Choice(["first-assistant", "first-message", "immediate"]),
    default="first-assistant",
    show_default=True,
    help="When a new session's file appears.",
)
@click.option(
    "--agent-dir",
    envvar="PI_CODING_AGENT_DIR",
    metavar="DIR",
    help="pi's agent folder, usually ~/.pi/agent.",
)
@click.option("--log-file", metavar="PATH", help="Where the log goes, instead of standard error.")
def serve(
    socket: str | None, stdio: bool, flush: str, agent_dir: str | None, log_file: str | None
) -> None:
    """Run the daemon until it is stopped."""
    if bool(socket) == stdio:
        # The environment may name the socket for all other commands: --stdio then wins.
        if not stdio:
            raise click.UsageError("say where to serve: --socket PATH or --stdio")
        socket = None
    from pisessiond import app

    options: dict[str, Any] = {"flush": flush, "agent_dir": agent_dir, "log_file": log_file}
    code = app.serve(app.ServeOptions(socket=socket, stdio=stdio, **options))
    raise click.exceptions.Exit(code)


@click.command(
    epilog=examples(
        "pisessiond inspect session.jsonl",
        "pisessiond inspect session.jsonl --json | jq .prepareCompaction",
    )
)
@click.argument("file", metavar="FILE")
@json_option
def inspect(file: str, as_json: bool) -> None:
    """Say what pi makes of a session file.

    Nothing is changed and no daemon asked.
    """
    from pisessiond import app

    output = Output(as_json=as_json)
    try:
        found = app.inspect(file)
    except app.InspectError as error:
        raise output.fail(error.kind, error.message, REFUSED) from error
    if as_json:
        output.json(found)
    else:
        from pisessiond.cli.inspect_view import inspect_lines

        output.lines(inspect_lines(found))


@click.command(
    epilog=examples(
        "pisessiond schema > openrpc.json",
    )
)
def schema() -> None:
    """Print the protocol, as OpenRPC."""
    from pisessiond import app

    Output(as_json=True).json(app.schema())

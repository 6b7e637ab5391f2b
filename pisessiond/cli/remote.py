"""What every command that asks a daemon has in common: its options, its connection, its session."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from pisessiond.cli.output import Output

if TYPE_CHECKING:
    from pisessiond.client.blocking import BlockingClient
    from pisessiond.client.blocking_session import BlockingSession
    from pisessiond.client.questions import Filter

P = ParamSpec("P")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as one JSON document."
)
socket_option = click.option(
    "--socket", envvar="PISESSIOND_SOCKET", metavar="PATH", help="The socket of another daemon."
)
session_argument = click.argument("session", metavar="SESSION")
latest_argument = click.argument("session", metavar="[SESSION]", default="latest")
which_pi_option = click.option(
    "--pi", "pid", type=int, metavar="PID", help="Which pi, where several have it open."
)

width_option = click.option("--width", type=click.IntRange(12, 10_000), help="Cells in a line.")


def examples(*lines: str) -> str:
    """The end of a command's help, which click leaves as it is behind a backspace."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def bound_act(function: Callable[..., None]) -> Callable[..., None]:
    """Gives an act what it is bound to, as `bound`: the leaf it was meant for, and which pi."""

    @click.option("--base-leaf", metavar="ENTRY", help="Refuse if the leaf is another by now.")
    @which_pi_option
    @click.option("--when-idle", is_flag=True, help="Wait until a running pi is done.")
    @functools.wraps(function)
    def command(
        *args: Any, base_leaf: str | None, pid: int | None, when_idle: bool, **named: Any
    ) -> None:
        bound = {"base_leaf": given(base_leaf), "pi": given(pid), "when_idle": when_idle}
        function(*args, bound=bound, **named)

    return command


def remote_command(
    function: Callable[Concatenate[BlockingClient, Output, P], None],
) -> Callable[..., None]:
    """Gives a command a connected client and its output, and the options that choose both."""

    @json_option
    @socket_option
    @functools.wraps(function)
    def command(*args: Any, socket: str | None, as_json: bool, **named: Any) -> None:
        output = Output(as_json=as_json)
        with output.refusals():
            from pisessiond.client.blocking import connect

            with connect(socket or None, name="pisessiond-cli") as client:
                if client.older_daemon is not None:
                    click.echo(f"pisessiond: {client.older_daemon}", err=True)
                function(client, output, *args, **named)

    return command


def open_session(
    client: BlockingClient, session: str, rows: Filter | None = None
) -> BlockingSession:
    """Opens what a SESSION argument means: a file, `latest` of this folder, or an id.

    With `rows` (a filter) its changes tell of rows.
    """
    wish = given(rows)
    if session == "latest":
        return client.open(latest=os.getcwd(), rows=wish)
    if is_file(session):
        return client.open(path=session, rows=wish)
    return client.open(session, rows=wish)


def is_file(session: str) -> bool:
    """Whether a SESSION argument names a file."""
    return session.endswith(".jsonl") or os.sep in session or os.path.exists(session)


def given(value: Any) -> Any:
    """An option as a parameter: one that was not given is not sent."""
    from pisessiond.client.params import UNSET

    return UNSET if value is None else value

"""Commands that ask no daemon: attach passes bytes on, inspect reads a file, others print."""

from __future__ import annotations

import click

from pisessiond.cli.output import REFUSED, Output
from pisessiond.cli.remote import examples, json_option


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def attach(arguments: tuple[str, ...]) -> None:
    """Connect standard input and output to the daemon."""
    # Usually `python -m pisessiond` gets there without click.
    from pisessiond.cli.attach import attach as run

    raise click.exceptions.Exit(run(list(arguments)))


@click.command("socket-path", epilog=examples('nc -U "$(pisessiond socket-path)"'))
@click.option(
    "--agent-dir",
    envvar="PI_CODING_AGENT_DIR",
    metavar="DIR",
    help="pi's agent folder, usually ~/.pi/agent.",
)
@json_option
def socket_path(agent_dir: str | None, as_json: bool) -> None:
    """Print where your daemon listens."""
    from pisessiond.client import address

    output = Output(as_json=as_json)
    with output.refusals():
        place = address.find_place(agent_dir)
        path = address.socket_path(place)
    if as_json:
        output.json({"socket": path, "folder": place.folder, "agentDir": place.agent_dir})
    else:
        output.lines([path])


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
    from pisessiond import offline

    output = Output(as_json=as_json)
    try:
        found = offline.inspect(file)
    except offline.InspectError as error:
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
    from pisessiond import offline

    Output(as_json=True).json(offline.schema())


@click.command(
    epilog=examples(
        'eval "$(pisessiond completion bash)"            # in ~/.bashrc',
        'eval "$(pisessiond completion zsh)"             # in ~/.zshrc, after compinit',
        "pisessiond completion fish > ~/.config/fish/completions/pisessiond.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands and options.

    Bash has to be 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    program = ctx.find_root().command
    complete = made(program, {}, "pisessiond", "_PISESSIOND_COMPLETE")
    # Not `source`: that asks the bash of this machine for its version, whoever reads the script.
    click.echo(complete.source_template % complete.source_vars())

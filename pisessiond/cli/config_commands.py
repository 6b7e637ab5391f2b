"""`pisessiond config`: each effective setting, and where it comes from. It asks no daemon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from pisessiond.cli.output import REFUSED, Output
from pisessiond.cli.remote import examples, json_option

if TYPE_CHECKING:
    from pisessiond.wiring.config_report import Whose


@click.command(
    epilog=examples(
        "pisessiond config",
        "pisessiond config --model anthropic/claude-sonnet-4-5",
        "pisessiond config --cwd ~/shop --json | jq .settings",
    )
)
@click.option("--cwd", metavar="DIR", help="Whose project settings count.  [default: here]")
@click.option(
    "--model",
    metavar="PROVIDER/ID",
    help="Tell what counts for this model, its window, its price and how it is reached.",
)
@click.option(
    "--agent-dir",
    envvar="PI_CODING_AGENT_DIR",
    metavar="DIR",
    help="pi's agent folder, usually ~/.pi/agent.",
)
@json_option
def config(cwd: str | None, model: str | None, agent_dir: str | None, as_json: bool) -> None:
    """Show each setting and where it comes from.

    pi's settings and our own; keys by their places alone. Exits with 1 when something in a file
    means nothing.
    """
    output = Output(as_json=as_json)
    provider, _, model_id = (model or "").partition("/")
    if model is not None and not (provider and model_id):
        raise click.BadParameter("write provider/id, as sessions do", param_hint="--model")
    with output.refusals():
        whose = find_whose(agent_dir)
    from pisessiond.wiring.config_report import describe

    told = describe(whose, os.path.abspath(cwd or "."), model)
    if as_json:
        output.json(told)
    else:
        from pisessiond.cli.config_view import config_lines

        output.lines(config_lines(told, output.paint))
    raise click.exceptions.Exit(REFUSED if told["problems"] else 0)


def find_whose(agent_dir: str | None) -> Whose:
    """Whose settings count here.

    Raises:
        NoDaemon: there is no home.
    """
    from pisessiond.app import session_places
    from pisessiond.client.address import cache_folder, config_file, find_place
    from pisessiond.wiring.config_report import Whose

    place = find_place(agent_dir)
    places = session_places(place.agent_dir)
    return Whose(
        places.agent_dir,
        places.home,
        places.environment,
        config_file(),
        cache_folder(place),
    )

"""What the user set up, put together from files and from the environment, for daemon and commands.

It names concrete readers and starts nothing. Where models are reached, and with which keys, stands
apart (`model_access`): a daemon starts without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pisessiond.models.known import KnownModels
from pisessiond.models.pi_models import PiModels, read_pi_models
from pisessiond.settings.config_file import ConfigFile
from pisessiond.settings.files import CachedFile, with_tilde
from pisessiond.settings.folder_settings import FileSettings


@dataclass(frozen=True, slots=True)
class Setup:
    """What the user set up, read from files and from the environment."""

    config: ConfigFile
    settings: FileSettings
    models: KnownModels
    pi_models: CachedFile[PiModels]


def read_setup(
    agent_dir: str,
    home: str,
    environment: Mapping[str, str],
    *,
    config_file: str | None,
    cache_folder: str | None,
) -> Setup:
    """The settings and models of an agent dir. Nothing is read before it is asked for.

    Args:
        agent_dir: pi's, as a real path.
        home: shown as `~`.
        environment: of this process; may name a proxy.
        config_file: our own settings; None: nothing is set.
        cache_folder: where looked up facts are kept; None keeps them in memory.
    """
    config = ConfigFile(config_file, with_tilde(config_file or "", home))
    models_path = f"{agent_dir}/models.json"
    models_shown = with_tilde(models_path, home)
    pi_models = CachedFile(models_path, lambda text: read_pi_models(text, models_shown))
    known = KnownModels(
        lambda: config.last.config.context.windows,
        pi_models,
        None if cache_folder is None else f"{cache_folder}/models.json",
    )
    return Setup(
        config,
        # Sizes are told without looking at any file; whoever asks for settings looks for them too.
        FileSettings(agent_dir, home, config, environment, also=known.refresh),
        known,
        pi_models,
    )


def start_settings(config_file: str | None) -> dict[str, Any]:
    """What `config.toml` says of what counts at the start alone, by names of `ServeOptions`.

    What is wrong in it is logged once the log is there; until then the usual values count.
    """
    config = ConfigFile(config_file, "").look().config
    daemon, of_sessions = config.daemon, config.sessions
    given = {
        "idle": (daemon, "idle"),
        "sync": (daemon, "sync"),
        "tcp": (daemon, "tcp"),
        "memory_mib": (daemon, "memory_mib"),
        "flush": (of_sessions, "flush"),
        "persist": (of_sessions, "persist"),
    }
    return {
        name: getattr(table, key)
        for name, (table, key) in given.items()
        if key in table.model_fields_set
    }

"""Where models are reached and with which keys: the user's files and environment together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pisessiond.models.config_values import Commands, UnrunCommands
from pisessiond.models.keys import Credentials, read_auth
from pisessiond.models.resolving import FileEndpoints
from pisessiond.settings.files import CachedFile
from pisessiond.wiring.user_setup import Setup


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """How the models of one agent dir are reached."""

    endpoints: FileEndpoints
    dry_endpoints: FileEndpoints
    """The same, but no key command runs: for telling what is set up."""
    auth: CachedFile[Credentials]


def model_access(setup: Setup, agent_dir: str, environment: Mapping[str, str]) -> ModelAccess:
    """Endpoints and keys of an agent dir. Nothing is read before it is asked for.

    Args:
        setup: of the same agent dir.
        agent_dir: pi's, as a real path.
        environment: of this process; may hold keys.
    """
    auth = CachedFile(f"{agent_dir}/auth.json", read_auth)
    models = setup.pi_models
    return ModelAccess(
        FileEndpoints(models, auth, environment, Commands(environment)),
        FileEndpoints(models, auth, environment, UnrunCommands(environment)),
        auth,
    )

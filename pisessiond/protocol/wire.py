"""What every message on the wire has in common: spelling, ids, limits, the protocol's version.

Members are camelCase by alias; in Python they are snake_case. Whether a member was sent at all
is `model_fields_set`, so that null and absent stay apart where the protocol tells them apart.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

PROTOCOL_VERSION = 1
"""The newest version spoken here."""

SUPPORTED_VERSIONS = (1,)
"""All versions spoken here. New methods and optional members do not raise the number."""

MAX_HEADER_BYTES = 8 << 10
MAX_MESSAGE_BYTES = 64 << 20
MAX_IN_FLIGHT = 256
MAX_ASKED = 16
"""Requests of the daemon that one client has not answered: a compaction asks for two texts, and
several sessions may be compacted at a time."""
MAX_CLIENTS = 256
"""Clients served at once."""
MAX_ANSWER_BYTES = 8 << 20
"""Bodies of entries in one answer of `session/entries`."""
MAX_TREE_NODES = 2_000
"""Nodes in one answer of `session/tree`."""
MAX_LISTED = 500
"""Sessions in one answer of `session/list`."""

EntryId: TypeAlias = Annotated[
    StrictStr | StrictInt | StrictFloat,
    Field(description="Entry id; pi writes strings, a number read from a file stays a number."),
]

JsonObject: TypeAlias = dict[str, Any]
"""JSON we do not own: same keys, same values, same order."""


class WireModel(BaseModel):
    """Base of all models. Members it does not know are ignored, as clients must do too."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        # Each is built when it is first used, in a few milliseconds: no client uses all of them,
        # and together they take 25 ms and 1 MB of a start.
        defer_build=True,
        # The daemon makes results from values it has checked; there is nothing to copy or verify.
        revalidate_instances="never",
    )

    def to_wire(self) -> bytes:
        """The JSON text of this model: aliases, and only what was set."""
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_unset=True)


class ReadParams(WireModel):
    """Parameters of a request that changes nothing: unknown members are ignored."""


class MutationParams(WireModel):
    """Parameters of a request that changes something.

    An unknown member is refused, so that a misspelt `baseLeaf` cannot pass unseen.
    """

    model_config = ConfigDict(extra="forbid")

    request_id: StrictStr | None = Field(default=None, min_length=1, max_length=200)
    """Repeating it from the same `client.id` within ten minutes repeats the answer, not the act."""


class SessionMutationParams(MutationParams):
    """Parameters of a change to one open session."""

    session: StrictStr
    """Handle of an open session."""


ProgressToken: TypeAlias = Annotated[
    StrictStr | StrictInt,
    Field(description="Progress is told with `$/progress` under this token (LSP workDoneToken)."),
]


class LeafMutationParams(SessionMutationParams):
    """Parameters of a change that can be bound to the place the client has seen."""

    base_leaf: EntryId | None = None
    """Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first
    entry. Absent: no comparison."""
    pi: StrictInt | None = None
    """Pid of the running pi that is to do it, where several have the session open."""
    when_idle: StrictBool = False
    """While the pi that has it open is at work: wait until it is idle, then decide anew. One
    request a session waits so."""

"""Parameters as Python names them and as the wire spells them."""

from __future__ import annotations

import enum
from typing import Any, Final, Literal


class _Unset(enum.Enum):
    UNSET = "unset"


UNSET: Final = _Unset.UNSET
"""Not given. Null means something of its own in the protocol: `base_leaf=None` is the place before
the first entry, `base_leaf=UNSET` compares nothing."""
Unset = Literal[_Unset.UNSET]


def to_wire(**named: Any) -> dict[str, Any]:
    """The parameters that were given, their names in camelCase."""
    return {_camel(name): value for name, value in named.items() if value is not UNSET}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)

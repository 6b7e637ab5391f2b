"""What a client on TCP has to show: 256 bits in a file that only this user can read."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

_TOKEN: Final = re.compile(r"[0-9a-f]{64}")


class TokenError(Exception):
    """The token's file will not do; the sentence says why and what to do."""


def read_token(path: Path) -> str:
    """The token in a file, which is made with a new one where it is missing.

    Raises:
        TokenError: Others can read it, it is not ours, or it holds something else.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise TokenError(f"The token in {path} cannot be read: {error.strerror}.") from error
    token = secrets.token_hex(32)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "w", encoding="ascii") as out:
            os.fchmod(file, 0o600)
            out.write(token + "\n")
    except OSError as error:
        raise TokenError(f"The token cannot be written to {path}: {error.strerror}.") from error
    return token


def _read(path: Path) -> str:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(file, encoding="ascii", errors="replace") as opened:
        found = os.fstat(file)
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise TokenError(f"Others can read {path}; remove it, and a new token is made.")
        token = opened.read(256).strip()
    if not _TOKEN.fullmatch(token):
        raise TokenError(f"{path} holds no token of 64 hex digits; remove it, and one is made.")
    return token

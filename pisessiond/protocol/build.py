"""Which build this is, and which of two is the older one. Clients and the daemon compare theirs."""

from __future__ import annotations

import os
import re

from pisessiond import __version__


def current_build() -> str:
    """The version of this program.

    PISESSIOND_TEST_BUILD says another one: tests let an older and a newer program meet with it.
    """
    return os.environ.get("PISESSIOND_TEST_BUILD") or __version__


def is_older(build: str, other: str) -> bool:
    """Whether a build came before another one. Of what is no version neither came first."""
    left, right = _numbers(build), _numbers(other)
    return bool(left[0] and right[0]) and left < right


def _numbers(build: str) -> tuple[tuple[int, ...], bool]:
    found = re.match(r"\d+(\.\d+)*", build)
    if found is None:
        return (), False
    # 1.0 is 1.0.0.
    numbers = tuple(int(part) for part in re.sub(r"(\.0+)+$", "", found[0]).split("."))
    # 1.0rc1 and 1.0.dev3 come before 1.0.
    is_final = not re.match(r"\.?(a|b|rc|dev)", build[found.end() :])
    return numbers, is_final

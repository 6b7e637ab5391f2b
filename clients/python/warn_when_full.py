"""Follows a session and warns when its context fills up: `warn_when_full.py SOCKET SESSION [%]`.

Ends with the first warning, so that a shell can ring a bell: `warn_when_full.py … 70 && tput bel`.
"""

import sys

from pisessiond.client.blocking import connect


def main(socket: str, file: str, limit: str = "70") -> None:
    with connect(socket, name="warn_when_full") as client:
        session = client.open(path=file)
        percent = _percent(session.context_size)
        updates = session.changes()
        while percent is None or percent < float(limit):
            percent = _percent(next(updates).context_size)
        print(f"{percent:.0f}% of the context is used")


def _percent(size: object) -> float | None:
    percent = size.get("percent") if isinstance(size, dict) else None
    return float(percent) if percent is not None else None


if __name__ == "__main__":
    main(*sys.argv[1:])

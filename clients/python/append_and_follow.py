"""Appends a message and waits until its own change comes back: `… SOCKET SESSION TEXT`.

Everyone who has the session open, an editor too, sees that change at the same moment.
"""

import asyncio
import sys

from pisessiond.client.aio import connect
from pisessiond.client.entries import user_message


async def main(socket: str, file: str, text: str) -> None:
    async with connect(socket, name="append_and_follow") as client:
        session = await client.open(path=file)
        answer = await session.append(user_message(text), base_leaf=session.leaf)
        async for update in session.changes(timeout=10):
            for change in update.changes:
                for node in change["nodes"]:
                    print(f"rev {update.rev}: {change['kind']} {node['id']} {node['preview']}")
            if update.rev >= answer["rev"]:
                break
        size = await session.size()
        print(f"the context has {size['tokens']} tokens, {size['source']}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""Lends a model to the daemon: it writes the summaries of sessions that are open here.

    … SOCKET SESSION

Then `pisessiond compact SESSION --summarizer client` is answered by `summarize` below. A real one
would send `system` and `prompt` to its model; this one picks the first lines. Ends with Ctrl-C.
"""

import asyncio
import sys
from contextlib import suppress

from pisessiond.client.aio import connect
from pisessiond.client.answers import SummarizeParams, SummarizeResult


async def summarize(asked: SummarizeParams) -> SummarizeResult:
    """Is cancelled where the daemon no longer wants to know; what it raises counts as no answer."""
    print(f"asked for a {asked['kind']} summary", flush=True)
    said = [line for line in asked["prompt"].splitlines() if line.startswith("[User]:")]
    await asyncio.sleep(0)  # here a model would be waited for
    return {"summary": "## Goal\n" + "\n".join(said[:3] or ["Nothing was said."])}


async def main(socket: str, file: str) -> None:
    requests = {"session/summarize": summarize}
    async with connect(socket, name="lend_model", reconnect=True, requests=requests) as client:
        session = await client.open(path=file)
        print("lending", flush=True)
        async for update in session.changes(progress=True):
            if update.progress is not None:
                told = update.progress
                print(f"{told['operation']}: {told['state']}", flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))

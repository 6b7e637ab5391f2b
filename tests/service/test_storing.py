"""Workers for questions: shared by a few, and never waited for by what ends."""

import sys
import threading
import time

import anyio
import anyio.to_thread
import pytest

from pisessiond.service import storing
from pisessiond.service.storing import Questions

pytestmark = pytest.mark.anyio


async def test_a_worker_that_was_left_does_not_wait_for_the_loop() -> None:
    questions = Questions(1)
    begun, go_on = threading.Event(), threading.Event()
    workers: list[threading.Thread] = []

    def work() -> None:
        workers.append(threading.current_thread())
        begun.set()
        go_on.wait(10)

    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, work)
        await anyio.to_thread.run_sync(begun.wait)
        group.cancel_scope.cancel()
    go_on.set()
    # The loop carries nothing out meanwhile, as one that is ending.
    patience = time.monotonic() + 5
    while is_asked(workers[0]) and time.monotonic() < patience:
        time.sleep(0.005)
    assert not is_asked(workers[0])
    # Its place is free again as soon as the loop goes on.
    assert await questions.ask(lambda: "answered") == "answered"


def is_asked(worker: threading.Thread) -> bool:
    """Whether a worker is still at a question."""
    frame = sys._current_frames().get(worker.ident or 0)
    while frame is not None:
        if frame.f_code.co_filename == storing.__file__:
            return True
        frame = frame.f_back
    return False

"""A load that users have: several clients on one session of some size, and how fast it is told.

The load generator is one process that sends prepared bytes and looks no further into an answer
than it has to, so that the daemon is what is measured; a server on vscode-jsonrpc is measured
with the same generator in the same run.
"""

import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import msgspec

from tests.bench.figures import Row, Samples, Table
from tests.bench.generated import session_file, user_message
from tests.bench.over_socket import RawClient, daemon, scratch_copy
from tests.support.pi import node_path

ENTRIES: Final = 10_000
CLIENTS: Final = 8
WINDOW: Final = 32
"""Requests that each client has in flight where only throughput counts."""
PATIENCE: Final = 60.0
ECHO_SERVER: Final = Path(__file__).with_name("echo_server.mjs")
MEGABYTE: Final = 1_000_000

Params = Callable[[int], Mapping[str, Any]]


class Stream:
    """One connection that counts frames, and knows a notification when it sees one."""

    def __init__(self, path: str) -> None:
        # It says hello; after that its socket is all that is needed.
        self.socket = RawClient(path).socket
        self.sent = 0.0
        self._buffer = b""

    def send(self, body: bytes) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, method: str, params: Mapping[str, Any]) -> None:
        # RawClient has used the smaller numbers.
        message = {"jsonrpc": "2.0", "id": 1_000, "method": method, "params": params}
        self.send(msgspec.json.encode(message))

    def bodies(self) -> Iterator[bytes]:
        """What is there now; waits for something if nothing is."""
        data = self.socket.recv(1 << 20)
        assert data, "the server hung up"
        self._buffer += data
        start = 0
        while (end := self._buffer.find(b"\r\n\r\n", start)) >= 0:
            length = int(self._buffer[start:end].rsplit(b":", 1)[1])
            if len(self._buffer) < end + 4 + length:
                break
            yield self._buffer[end + 4 : end + 4 + length]
            start = end + 4 + length
        self._buffer = self._buffer[start:]

    def answers(self) -> int:
        """How many answers came; every one of them has to be a result."""
        count = 0
        for body in self.bodies():
            if b'"method":"' not in body[:200]:
                assert b'"result":' in body[:200], body[:200]
                count += 1
        return count


@contextmanager
def streams(path: str, count: int) -> Iterator[tuple[list[Stream], selectors.BaseSelector]]:
    with ExitStack() as stack:
        made = [Stream(path) for _ in range(count)]
        selector = stack.enter_context(selectors.DefaultSelector())
        for stream in made:
            stack.callback(stream.socket.close)
            selector.register(stream.socket, selectors.EVENT_READ, stream)
        yield made, selector


def drive(
    path: str, clients: int, count: int, method: str, params: Params, handle: str | None = None
) -> dict[str, float]:
    """Each client asks as soon as it is answered; how many a second, and how long each waits."""
    times: list[float] = []
    with streams(path, clients) as (made, selector):
        if handle is not None:
            for stream in made:
                stream.ask("session/open", {"session": handle})
                while not stream.answers():
                    pass
        numbers = iter(range(count))
        began = time.perf_counter()
        for stream, number in zip(made, numbers, strict=False):
            stream.ask(method, params(number))
        while len(times) < count:
            for key, _ in selector.select(PATIENCE):
                stream = key.data
                if not stream.answers():
                    continue
                times.append((time.perf_counter() - stream.sent) * 1000)
                if (following := next(numbers, None)) is not None:
                    stream.ask(method, params(following))
        seconds = time.perf_counter() - began
    return {"perSecond": count / seconds, "p50": median(times), "p99": p99(times)}


def p99(times: Sequence[float]) -> float:
    return quantiles(times, n=100)[98]


def fan_out(path: str, handle: str, count: int) -> dict[str, float]:
    """From the sending of an append until each of eight other clients has been told of it."""
    times: list[float] = []
    spreads: list[float] = []
    with streams(path, CLIENTS + 1) as (made, selector):
        for stream in made[1:]:
            stream.ask("session/open", {"session": handle})
            while not stream.answers():
                pass
        actor = made[0]
        # What came before was a storm, and the first changes after one are joined too.
        time.sleep(0.2)
        for number in range(count):
            actor.ask("session/append", append_params(handle)(number))
            # As someone types, not as a storm comes: that is joined on purpose.
            missing = {id(stream) for stream in made}
            while missing:
                for key, _ in selector.select(PATIENCE):
                    for body in key.data.bodies():
                        if b'"session/didPresence"' in body[:200]:
                            # Who has it open is told a moment after they came.
                            continue
                        is_told = b'"session/didChange"' in body[:200]
                        if is_told and key.data is not actor:
                            times.append((time.perf_counter() - actor.sent) * 1000)
                        assert is_told or key.data is actor
                        missing.discard(id(key.data))
            spreads.append(times[-1] - times[-CLIENTS])
            time.sleep(0.005)
    return {"p50": median(times), "p99": p99(times), "spread": p99(spreads)}


def size_params(handle: str) -> Params:
    return lambda _: {"session": handle}


def append_params(handle: str) -> Params:
    return lambda number: {
        "session": handle,
        "entry": {"type": "message", "message": user_message(number)},
    }


def large_params(handle: str) -> Params:
    text = "one more line of a long output\n" * (MEGABYTE // 31)

    def params(number: int) -> Mapping[str, Any]:
        message = {"role": "user", "content": f"{number} {text}", "timestamp": number}
        return {"session": handle, "entry": {"type": "message", "message": message}}

    return params


def echo(path: str, count: int) -> float:
    """Small requests a second, from eight clients with many in flight each."""
    message = {
        "jsonrpc": "2.0",
        "id": 1_000,
        "method": "session/close",
        "params": {"session": "00000000-0000-0000-0000-000000000000"},
    }
    frames = []
    for number in range(WINDOW):
        # An id that is at work must not be used again.
        body = msgspec.json.encode({**message, "id": 1_000 + number})
        frames.append(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    window = b"".join(frames)
    with streams(path, CLIENTS) as (made, selector):
        waiting = {id(stream): WINDOW for stream in made}
        left = count - WINDOW * CLIENTS
        began = time.perf_counter()
        for stream in made:
            stream.socket.sendall(window)
        while any(waiting.values()):
            for key, _ in selector.select(PATIENCE):
                waiting[id(key.data)] -= key.data.answers()
                if waiting[id(key.data)] == 0 and left > 0:
                    key.data.socket.sendall(window)
                    waiting[id(key.data)] = WINDOW
                    left -= WINDOW
        return count / (time.perf_counter() - began)


@contextmanager
def node_server() -> Iterator[str]:
    """The address of a server on vscode-jsonrpc that runs until the block ends."""
    with tempfile.TemporaryDirectory(prefix="pisessiond-bench-") as folder:
        path = f"{folder}/node"
        command = [str(node_path()), str(ECHO_SERVER), path]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n", "the node server did not start"
                yield path
            finally:
                process.terminate()


def _add(samples: Samples, prefix: str, figures: Mapping[str, float]) -> None:
    for name, value in figures.items():
        samples.setdefault(prefix + name, []).append(value)


def measure_load(rounds: int, count: int) -> Table:
    """The table of what clients of one session wait for.

    Args:
        rounds: values of each figure.
        count: requests measured in a round.
    """
    samples: Samples = {}
    with scratch_copy(session_file(ENTRIES)) as copy:
        for _ in range(rounds):
            with daemon() as (path, _), node_server() as node:
                first = RawClient(path)
                handle = first.call("session/open", {"path": copy})["session"]
                first.call("session/contextSize", {"session": handle})
                size = size_params(handle)
                for clients in (1, CLIENTS):
                    asked = drive(path, clients, count, "session/contextSize", size)
                    _add(samples, f"size{clients}", asked)
                    append = append_params(handle)
                    asked = drive(path, clients, count, "session/append", append, handle)
                    _add(samples, f"append{clients}", asked)
                _add(samples, "told", fan_out(path, handle, count // 4))
                large = drive(path, 1, max(count // 40, 10), "session/append", large_params(handle))
                _add(samples, "large", large)
                # In turn, so that what else the machine does meets both.
                for _ in range(2):
                    samples.setdefault("ours", []).append(echo(path, 10 * count))
                    samples.setdefault("node", []).append(echo(node, 10 * count))
                first.socket.close()
    return Table(f"{ENTRIES:,} entries, several clients", _rows(samples))


def _rows(samples: Samples) -> list[Row]:
    rows = []
    for clients in (1, CLIENTS):
        who = "1 client" if clients == 1 else f"{clients} clients"
        for what, name in (("size", "session/contextSize"), ("append", "session/append")):
            figures = f"{what}{clients}"
            rows += [
                Row(f"{name} from {who}", "/s", samples[f"{figures}perSecond"]),
                Row("  median wait", "ms", samples[f"{figures}p50"]),
                Row("  the slowest in a hundred", "ms", samples[f"{figures}p99"]),
            ]

    def spent(name: str) -> list[float]:
        return [1_000_000 / value for value in samples[name]]

    return [
        *rows,
        Row(f"one append told to {CLIENTS} clients", "ms", samples["toldp50"]),
        Row("  the slowest in a hundred", "ms", samples["toldp99"], None, 5, "value"),
        Row("  from the first client to the last, so", "ms", samples["toldspread"]),
        Row("append of a 1 MB entry", "/s", samples["largeperSecond"]),
        Row("  median wait", "ms", samples["largep50"]),
        Row("  the slowest in a hundred", "ms", samples["largep99"]),
        Row("small requests, 8 x 32 in flight", "/s", samples["ours"], samples["node"]),
        Row("  a thousand of them", "ms", spent("ours"), spent("node"), 1),
    ]


def load_text(table: Table) -> str:
    """The table for a person; what is compared with is no pi here."""
    return table.text().replace("pi 1.6.0", "vscode-jsonrpc")

"""Programs that write summaries: well-behaved ones and every other kind, none of which stays."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import psutil
import pytest

from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask
from pisessiond.summarizers.base import FailureReason, SummaryFailed, Written
from pisessiond.summarizers.command import CommandSummarizer
from pisessiond.summarizers.process import find_program, plain_lines

pytestmark = pytest.mark.anyio

TASK = SummaryTask("history", ({"role": "user", "content": "Mend the näïve parser 🙂"},))
LONG_TASK = SummaryTask("history", ({"role": "user", "content": "long " * 100_000},))


def python(script: str, *, seconds: float = 20.0, **environment: str) -> CommandSummarizer:
    return CommandSummarizer(
        "mine",
        [sys.executable, "-S", "-c", script],
        seconds=seconds,
        environment={**os.environ, **environment},
    )


async def write(summarizer: CommandSummarizer, task: SummaryTask = TASK) -> Written:
    return await summarizer.write(task, lambda _units: None)


async def check_fails(
    script: str, reason: FailureReason, *words: str, task: SummaryTask = TASK, seconds: float = 20
) -> None:
    with pytest.raises(SummaryFailed) as failed:
        await write(python(script, seconds=seconds), task)
    assert failed.value.reason == reason
    assert failed.value.summarizer == "mine"
    for word in words:
        assert word in str(failed.value)


async def test_the_prompt_goes_in_and_the_summary_comes_out() -> None:
    script = "import sys; print(ascii(sys.stdin.buffer.read()))"
    written = await write(python(script))
    prompt = make_prompt(TASK)
    assert written.text == ascii(f"{prompt.system}\n\n{prompt.user}\n".encode())
    assert written.usage is None
    assert written.model is None


async def test_received_characters_are_told_in_utf16_units() -> None:
    told: list[int] = []
    script = """
import sys, time
for byte in '🙂é'.encode():
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush(); time.sleep(0.01)
"""
    written = await python(script).write(TASK, told.append)
    assert written.text == "🙂é"
    assert told == sorted(told)
    assert told[-1] == 3


async def test_it_sees_the_environment_and_an_empty_folder_that_goes() -> None:
    script = "import json, os; print(json.dumps([os.getcwd(), os.listdir(), os.environ['WORD']]))"
    folder, names, word = json.loads((await write(python(script, WORD="kept"))).text)
    assert (names, word) == ([], "kept")
    assert not Path(folder).exists()


async def test_arguments_are_handed_over_as_they_are() -> None:
    odd = ["$HOME; echo x", "*", "a b", ""]
    program = [sys.executable, "-S", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
    summarizer = CommandSummarizer("mine", [*program, *odd], seconds=20)
    assert json.loads((await write(summarizer)).text) == odd


@pytest.mark.parametrize(
    "script",
    [
        "print('done')",
        "import sys; sys.stdin.close(); print('done')",
        "import os, sys; os.close(0); print('done')",
        "import sys; print('done', flush=True); sys.stdin.read()",
        "import sys; sys.stdout.write('done'); sys.stdout.flush(); sys.stdin.read(10)",
        "import os, sys, time; os.write(1, b'done'); os.close(1); sys.stdin.read()",
        "import os, sys, time; os.write(1, b'done'); os.close(1); os.close(2); time.sleep(0.2)",
        "import sys; sys.stderr.write('x' * 300_000); print('done'); sys.stdin.read()",
    ],
    ids=[
        "never reads",
        "closes its input",
        "closes its input's file",
        "writes before it reads",
        "reads ten characters",
        "closes its output early",
        "closes all early",
        "complains at length",
    ],
)
async def test_odd_manners_do_no_harm(script: str) -> None:
    assert (await write(python(script), LONG_TASK)).text == "done"


@pytest.mark.parametrize("own_group", [False, True], ids=["child", "child in its own session"])
async def test_a_child_that_holds_the_output_does_not_hold_up_the_summary(
    tmp_path: Path, own_group: bool
) -> None:
    script = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'],
                         start_new_session={own_group})
open({str(tmp_path / "pid")!r}, 'w').write(str(child.pid))
print('done', flush=True)
os._exit(0)
"""
    begin = time.monotonic()
    assert (await write(python(script))).text == "done"
    assert time.monotonic() - begin < 10
    child = int((tmp_path / "pid").read_text())
    if own_group:
        # One that left on purpose is not ours to end; but nobody waited for it.
        os.kill(child, signal.SIGKILL)
    await gone(child)


async def test_the_last_complaint_stands_in_the_failure() -> None:
    complaint = "\\033[31mNo quota\\033[0m \\x07left"
    script = f"import sys; print('part'); print('{complaint}\\n', file=sys.stderr); sys.exit(3)"
    await check_fails(script, "program", "failed with exit code 3: “No quota left”.")


async def test_a_key_in_a_complaint_is_cut_out() -> None:
    said = "f'refused: {os.environ[\"MY_TOKEN\"]} Bearer abcdefgh12 sk-1234abcd5'"
    script = f"import os, sys; sys.exit({said})"
    with pytest.raises(SummaryFailed) as failed:
        await write(python(script, MY_TOKEN="of-no-known-form"))
    assert "“refused: … Bearer … …”" in str(failed.value)


async def test_a_failure_without_a_word_says_how_it_ended() -> None:
    await check_fails("import sys; sys.exit(1)", "program", "failed with exit code 1.")
    await check_fails("import os; os.kill(os.getpid(), 9)", "program", "ended by signal 9.")


async def test_a_complaint_that_repeats_the_conversation_is_not_shown() -> None:
    script = "import sys; print(sys.stdin.read()[-300:-100], file=sys.stderr); sys.exit(3)"
    await check_fails(script, "program", "failed with exit code 3.")


async def test_a_long_complaint_is_cut_and_names_no_home() -> None:
    (line,) = plain_lines(f"{Path.home()}/x failed {'y' * 500}\n\n \n".encode())
    assert line.startswith("~/x failed y")
    assert len(line) == 200


async def test_nothing_written_is_no_summary() -> None:
    await check_fails("print('  \\n ')", "empty", "without writing a summary")


async def test_too_much_is_no_summary() -> None:
    await check_fails("while True: print('x' * 9999)", "program", "more than 1024 KiB")


async def test_a_program_that_takes_too_long_is_ended() -> None:
    begin = time.monotonic()
    await check_fails("import time; time.sleep(60)", "timeout", "0.3 seconds", seconds=0.3)
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize("program", [["no-such-program"], ["/"], ["\0"], ["/dev/null"]], ids=repr)
async def test_what_cannot_be_started_says_so(program: list[str]) -> None:
    with pytest.raises(SummaryFailed, match="could not be started") as failed:
        await write(CommandSummarizer("mine", program, seconds=5))
    assert failed.value.reason == "program"


def test_a_program_is_looked_for_on_the_path_of_the_environment(tmp_path: Path) -> None:
    assert find_program(("pi",), {"PATH": str(tmp_path)}) is None
    (tmp_path / "pi").touch(mode=0o755)
    assert find_program(("pi",), {"PATH": str(tmp_path)}) == str(tmp_path / "pi")


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-S', '-c',
    'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); '
    'print("up", flush=True); time.sleep(60)'], stdout=subprocess.PIPE)
child.stdout.readline()
open({path!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')
print('begun', flush=True)
time.sleep(60)
"""
POLITE = """
import os, signal, sys, time
def leave(*_):
    open({path!r} + '.left', 'w').write('x')
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
open({path!r}, 'w').write(str(os.getpid()))
print('begun', flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("script", [STUBBORN, POLITE], ids=["stubborn", "polite"])
async def test_cancelling_ends_the_whole_group_within_half_a_second(
    tmp_path: Path, script: str
) -> None:
    path = tmp_path / "pids"
    begun = anyio.Event()
    took = 0.0
    async with anyio.create_task_group() as group:

        async def run() -> None:
            summarizer = python(script.format(path=str(path)))
            await summarizer.write(LONG_TASK, lambda _units: begun.set())

        group.start_soon(run)
        with anyio.fail_after(20):
            await begun.wait()
        begin = time.monotonic()
        group.cancel_scope.cancel()
    took = time.monotonic() - begin
    assert took < 0.5
    for pid in map(int, path.read_text().split()):
        await gone(pid)
    assert (tmp_path / "pids.left").exists() == (script is POLITE)


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.005, 0.02, 0.05, 0.1])
async def test_cancelling_at_any_moment_leaves_nothing(
    delay: float, open_files: Callable[[], int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_files()
    others = children()
    with anyio.move_on_after(delay):
        await write(python("import sys, time; sys.stdin.read(); time.sleep(60)"), LONG_TASK)
    assert list(tmp_path.iterdir()) == []
    assert open_files() == before
    assert children() <= others


async def test_many_at_once_do_not_wait_for_each_other() -> None:
    texts: dict[int, str] = {}

    async def run(number: int) -> None:
        texts[number] = (await write(python(f"print({number})"))).text

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(run, number)
    assert texts == {number: str(number) for number in range(12)}


@pytest.fixture
def open_files() -> Callable[[], int]:
    folder = Path("/proc/self/fd")
    return lambda: len(list(folder.iterdir())) if folder.exists() else 0


def children() -> set[int]:
    """Processes that are ours, zombies included."""
    return {one.pid for one in psutil.Process().children()}


async def gone(pid: int) -> None:
    """Waits until a process that is not our child any more is no more; it was killed already."""
    with anyio.fail_after(5):
        while is_alive(pid):
            await anyio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    # Whose parent is gone waits for the system's own reaper, which a container may lack.
    return state != "Z"

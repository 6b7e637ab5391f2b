"""Ends what a daemon leaves behind that is killed while a program writes a summary.

A small shell stands beside each program, in a session of its own, and reads a pipe whose other end
nobody but the daemon holds. The system closes that end when the daemon is gone, however it went;
the shell then kills the program's whole group and removes its folder. As long as the daemon lives
it does both itself, and kills the shell when it has.

Linux could signal the program by itself when its parent ends (PR_SET_PDEATHSIG). That follows the
thread that started it, and ours end when they are idle; it reaches no child of the program, leaves
the folder, and other systems do not have it. Notes for the next daemon would act only when one
comes, and would have to prove that a number still means the same process.
"""

from __future__ import annotations

import os
import subprocess
from typing import Final

_SCRIPT: Final = """\
read -r group || group=
read -r rest
if [ -n "$group" ]; then kill -s KILL -- "-$group"; fi
rm -rf -- "$1"
"""
# A line without its end counts as none: a part of a number is another one. Nothing follows the
# first, so that the second wait is for the end of the pipe.


class Watcher:
    """Waits for the end of this process; all of it blocks, for a few milliseconds."""

    def __init__(self, folder: str) -> None:
        """Remove `folder` when this process is gone.

        Raises:
            OSError: the system starts no further process.
        """
        self._shell = subprocess.Popen(  # noqa: S603 - ours
            ["/bin/sh", "-c", _SCRIPT, "pisessiond-watcher", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            start_new_session=True,
        )

    def guard(self, group: int) -> None:
        """Kill this process group, too."""
        assert self._shell.stdin is not None
        try:
            os.write(self._shell.stdin.fileno(), b"%d\n" % group)
        except BrokenPipeError:
            # Somebody ended the shell; the program is none the worse for it.
            pass

    def end(self) -> None:
        """There is nothing left to watch."""
        # Killed before the pipe is closed, since that is what it waits for.
        self._shell.kill()
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()

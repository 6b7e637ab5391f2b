"""`python -m pisessiond`, and the `pisessiond` program itself."""

import os
import sys


def main() -> None:
    """Runs a command. `attach` goes past the rest of them, whose imports would triple its start."""
    if os.name == "nt":
        sys.exit("pisessiond does not run on native Windows; install it inside WSL")
    if sys.argv[1:2] == ["attach"]:
        from pisessiond.cli.attach import attach

        code = attach(sys.argv[2:])
        sys.stdout.flush()
        # A thread may still wait for standard input; nothing here has anything to tidy up.
        os._exit(code)
    from pisessiond.cli.main import main as run

    run()


if __name__ == "__main__":
    main()

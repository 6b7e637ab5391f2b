"""`python -m pisessiond`: the same as the `pisessiond` program."""

from pisessiond.cli.main import main

main()

"""pisessiond: a daemon that holds pi's session trees open for many clients at once."""

__version__ = "0.1.0"

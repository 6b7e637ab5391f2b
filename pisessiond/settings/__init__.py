"""The user's settings as files: pi's and our own, and what they come to."""

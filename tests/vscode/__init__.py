"""The extension in the real VS Code, served to a real browser."""

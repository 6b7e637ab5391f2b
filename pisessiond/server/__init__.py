"""The daemon: connections, dispatch, handlers, the LSP half, listeners and the process."""

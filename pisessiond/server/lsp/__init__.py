"""Session files in any editor that speaks LSP; see `half`."""

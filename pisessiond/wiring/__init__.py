"""Parts put together for whoever runs: what the user set up, who writes summaries. See `app`."""

"""What travels between a client and the daemon: methods, models, errors and their schema."""

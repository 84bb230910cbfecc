"""One file per command, found by its name."""

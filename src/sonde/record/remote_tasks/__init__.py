"""The tasks of event loops in another process, read from its memory while it runs or hangs."""

"""The bytes of a recording: blocks, the tables they hold, and how columns are encoded."""

"""The recorder process: it opens events, drains targets and writes the recording."""

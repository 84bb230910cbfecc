"""What part of a recording is looked at: the selection, spans, durations, weights."""

"""Step traces: every instruction for a while."""

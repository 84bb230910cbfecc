"""Stacks as rows: functions, contexts, source lines, and the profile of the running session."""

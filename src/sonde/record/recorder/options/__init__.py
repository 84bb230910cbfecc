"""What to record, where to, and how sizes, times and events are written."""

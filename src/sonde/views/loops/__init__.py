"""Event loops: what their tasks did, and what those waited for."""

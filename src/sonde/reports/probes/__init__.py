"""Values at lines."""

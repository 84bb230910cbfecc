"""From the records in the rings to rows."""

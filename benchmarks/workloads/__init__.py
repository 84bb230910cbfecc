"""Programs that are measured, and recordings made by hand."""

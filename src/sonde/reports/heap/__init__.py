"""Reports of heap snapshots."""

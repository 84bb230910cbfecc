"""The store: where it is, its tables and parts, how recordings get in and stay few."""

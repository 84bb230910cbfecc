"""Contentions and their owners, what waits are for, and who waits for whom."""

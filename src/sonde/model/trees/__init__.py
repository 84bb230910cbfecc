"""Calling context trees: whole, partial, put together from pairs, and compared."""

"""Sampled allocations: what they stand for, and what of them is alive when."""

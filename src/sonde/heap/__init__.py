"""Heaps: what objects there are, and which keeps which alive."""

"""Heaps of CPython: what its agent writes of one, as snapshots."""

from sonde.heap.cpython.objects import read

__all__ = ["read"]

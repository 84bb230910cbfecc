"""Heap dumps of JVMs: hprof files as snapshots."""

from sonde.heap.hprof.dump import read

__all__ = ["read"]

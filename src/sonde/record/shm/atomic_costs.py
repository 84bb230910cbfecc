"""What acquiring a lock that nobody holds costs on this machine, measured by native/drain."""

from __future__ import annotations

import ctypes

from ..system import native_libraries


def atomic_costs() -> dict[str, float | None]:
    """In nanoseconds: to acquire and release a lock that this thread had last (`alone`), and to get
    its cache line from another processor (`transfer`; None: there is no other)."""
    measure = ctypes.CDLL(str(native_libraries.drain())).sonde_atomic_costs
    measure.restype = None
    alone, transfer = ctypes.c_double(), ctypes.c_double()
    measure(ctypes.byref(alone), ctypes.byref(transfer))
    return {
        "alone_ns": round(alone.value, 2),
        "transfer_ns": None if transfer.value < 0 else round(transfer.value, 2),
    }

"""The floor of every sampler that is driven by a timer: a timer that does nothing.

A task-clock event at the sampler's period, on every thread as sonde's are, but without a signal
and without sample data. What it costs is the timer interrupt alone, in a virtual machine mostly
the exits to the hypervisor. No sampler on this machine can be cheaper at that rate, so a sampler
is judged by what it costs above it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_SOFTWARE, _TASK_CLOCK = 1, 1
_INHERIT, _EXCLUDE_HV = 1 << 1, 1 << 6
_CLOEXEC = 8
# perf_event_attr up to bp_len (PERF_ATTR_SIZE_VER1): type, size, config, period, sample type, read
# format, flags; the rest stays zero.
_ATTR = struct.Struct("<IIQQQQQ24x")


class EmptyTimer:
    """Interrupts every thread of this process `rate` times per second of its CPU time."""

    def __init__(self, rate: int) -> None:
        self._period = 1_000_000_000 // rate
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long
        self._number = _PERF_EVENT_OPEN[platform.machine()]
        self._events: list[int] = []

    def on(self) -> None:
        for tid in os.listdir("/proc/self/task"):
            self._events.append(self._open(int(tid)))

    def off(self) -> None:
        while self._events:
            os.close(self._events.pop())

    def _open(self, tid: int) -> int:
        flags = _INHERIT | _EXCLUDE_HV
        attr = _ATTR.pack(_SOFTWARE, _ATTR.size, _TASK_CLOCK, self._period, 0, 0, flags)
        event = self._syscall(
            ctypes.c_long(self._number),
            ctypes.c_char_p(attr),
            ctypes.c_int(tid),
            ctypes.c_int(-1),
            ctypes.c_int(-1),
            ctypes.c_ulong(_CLOEXEC),
        )
        if event < 0:
            error = ctypes.get_errno()
            raise OSError(error, f"no perf timer: {os.strerror(error)}")
        return int(event)

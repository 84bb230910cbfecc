"""What no sampler of this kind can be cheaper than: a timer that does nothing, or only signals.

`EmptyTimer` is a task-clock event at the sampler's period, on every thread as sonde's are, but
without a signal and without sample data. What it costs is the timer interrupt alone, in a virtual
machine mostly the exits to the hypervisor. No timer sampler on this machine can be cheaper at that
rate, so a sampler is judged by what it costs above it. `EmptySignal` sends the same SIGTRAP as
sonde's events to a handler that does nothing: of the rest, the part that is the kernel's.
`TellingTimer` and `TellingSignal` also have the kernel write down when they struck.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
import signal
import struct
import threading
import time

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_SOFTWARE, _TASK_CLOCK = 1, 1
_INHERIT, _EXCLUDE_HV = 1 << 1, 1 << 6
_INHERIT_THREAD, _REMOVE_ON_EXEC, _SIGTRAP = 1 << 35, 1 << 36, 1 << 37
_CLOEXEC = 8
# perf_event_attr up to sig_data (PERF_ATTR_SIZE_VER7): type, size, config, period, sample type,
# read format, flags, and then the clock; the rest stays zero.
_ATTR = struct.Struct("<IIQQQQQ44xi32x")
_TIME, _USE_CLOCK = 1 << 2, 1 << 25
_HEAD_AT = 1024
_RECORD, _SAMPLE = struct.Struct("<IHHQ"), 9

_SA_SIGINFO, _SA_RESTART, _SA_ONSTACK = 4, 0x10000000, 0x08000000


class EmptyTimer:
    """Interrupts every thread of a process, or of this one, `rate` times per second of CPU time."""

    flags = _INHERIT | _EXCLUDE_HV
    tells = 0
    """What of each tick is written down."""

    def __init__(self, rate: int, pid: int | None = None) -> None:
        self._threads = f"/proc/{pid or 'self'}/task"
        self._period = 1_000_000_000 // rate
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.syscall.restype = ctypes.c_long
        self._number = _PERF_EVENT_OPEN[platform.machine()]
        self._events: list[int] = []

    def on(self) -> None:
        for tid in self._tids():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                self._events.append(self._open(tid))

    def off(self) -> None:
        while self._events:
            os.close(self._events.pop())

    def _tids(self) -> list[int]:
        return [int(tid) for tid in os.listdir(self._threads)]

    def _open(self, tid: int) -> int:
        attr = _ATTR.pack(
            _SOFTWARE, _ATTR.size, _TASK_CLOCK, self._period, self.tells, 0, self.flags,
            time.CLOCK_MONOTONIC if self.flags & _USE_CLOCK else 0,
        )  # fmt: skip
        event = self._libc.syscall(
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


class TellingTimer(EmptyTimer):
    """The same for the calling thread alone, which tells at the end when it struck."""

    # Of events that other threads inherit nothing can be told.
    flags = _EXCLUDE_HV | _USE_CLOCK
    tells = _TIME

    def __init__(self, rate: int, ticks: int = 30_000) -> None:
        super().__init__(rate)
        # By default just what anybody may have (perf_event_mlock_kb).
        pages = -(-ticks * _RECORD.size // mmap.PAGESIZE)
        self._room = mmap.PAGESIZE << (pages - 1).bit_length()

    def on(self) -> None:
        super().on()
        self._ring = mmap.mmap(self._events[0], mmap.PAGESIZE + self._room)

    def off(self) -> None:
        super().off()
        self._ring.close()

    def _tids(self) -> list[int]:
        return [threading.get_native_id()]

    def ticks(self) -> list[int]:
        """By the monotonic clock; all of them, if they found room."""
        (head,) = struct.unpack_from("<Q", self._ring, _HEAD_AT)
        if head > self._room:
            raise OSError("the timer struck more often than it could tell")
        at = mmap.PAGESIZE
        records = _RECORD.iter_unpack(self._ring[at : at + head])
        return [struck for kind, _, _, struck in records if kind == _SAMPLE]


class _Action(ctypes.Structure):
    """glibc's struct sigaction on 64-bit machines."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class EmptySignal(EmptyTimer):
    """The same timer, and a signal whose handler returns at once."""

    flags = EmptyTimer.flags | _INHERIT_THREAD | _REMOVE_ON_EXEC | _SIGTRAP

    def __init__(self, rate: int) -> None:
        super().__init__(rate)
        # `abs` takes an int, as handlers do, and touches nothing.
        handler = ctypes.cast(self._libc.abs, ctypes.c_void_p).value
        self._empty = _Action(handler, flags=_SA_SIGINFO | _SA_RESTART | _SA_ONSTACK)
        self._before = _Action()

    def on(self) -> None:
        self._act(self._empty, self._before)
        super().on()

    def off(self) -> None:
        super().off()
        self._act(self._before, None)

    def _act(self, new: _Action, old: _Action | None) -> None:
        where = ctypes.byref(old) if old is not None else None
        if self._libc.sigaction(signal.SIGTRAP, ctypes.byref(new), where):
            raise OSError(ctypes.get_errno(), "no handler for the empty signal")


class TellingSignal(EmptySignal, TellingTimer):
    """Both: a signal whose handler returns at once, and at the end when it came."""

    flags = TellingTimer.flags | _REMOVE_ON_EXEC | _SIGTRAP

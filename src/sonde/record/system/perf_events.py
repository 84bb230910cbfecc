"""Perf events the recorder opens on a target's threads.

They live in the recorder: the target gets no descriptor, and they vanish with the recorder.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import time

from . import permissions

_PERF_EVENT_OPEN = 298  # x86-64
HARDWARE, SOFTWARE, TRACEPOINT, CACHE, RAW = 0, 1, 2, 3, 4
_CPU_CYCLES = 0
_CPU_CLOCK = 0
TASK_CLOCK = 1
CONTEXT_SWITCHES = 3
_MIGRATIONS, _MINOR_FAULTS, _MAJOR_FAULTS = 4, 5, 6
_INSTRUCTIONS, _CACHE_MISSES, _BRANCH_MISSES = 1, 3, 5

_INHERIT = 1 << 1
_EXCLUDE_KERNEL = 1 << 5
_EXCLUDE_HV = 1 << 6
_MMAP = 1 << 8
_COMM = 1 << 9
_MMAP2 = 1 << 23
_USE_CLOCKID = 1 << 25
_INHERIT_THREAD = 1 << 35
_REMOVE_ON_EXEC = 1 << 36
_SIGTRAP = 1 << 37
_CLOEXEC = 8
_FORMAT_ENABLED, _FORMAT_RUNNING, _FORMAT_GROUP = 1 << 0, 1 << 1, 1 << 3

# what a sample in a ring contains
_IP, _TID, _TIME, _CPU = 1 << 0, 1 << 1, 1 << 2, 1 << 7

# perf_event_attr up to sig_data (PERF_ATTR_SIZE_VER7, kernel 5.13)
_ATTR = struct.Struct("<IIQQQQQ II QQQQ Ii Q I HH II Q")

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long

# Before 5.18 a SIGTRAP that meets a thread with that signal blocked kills the target.
SIGTRAP_SAFE_FROM = (5, 18)


def kernel_version() -> tuple[int, int]:
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


def open_event(
    tid: int,
    config: int,
    period: int,
    sig_data: int,
    *,
    kind: int = SOFTWARE,
    exclude_kernel: bool = False,
    probe: tuple[str, int] | None = None,
) -> int:
    """An event that sends SIGTRAP to `tid` and to the threads it starts; OSError if not.

    `probe`: the file and the place in it of a uprobe.
    """
    flags = _INHERIT | _EXCLUDE_HV | _INHERIT_THREAD | _REMOVE_ON_EXEC | _SIGTRAP
    if exclude_kernel:
        flags |= _EXCLUDE_KERNEL
    if probe is None:
        return _open(tid, kind, config, period, flags, sig_data)
    path = ctypes.create_string_buffer(os.fsencode(probe[0]))
    return _open(
        tid, kind, config, period, flags, sig_data, more=(ctypes.addressof(path), probe[1])
    )


def open_machine(cpu: int, rate: int) -> int:
    """Where one processor is, so many times a second, and what processes map; OSError if not."""
    return _open(
        -1,
        SOFTWARE,
        _CPU_CLOCK,
        1_000_000_000 // rate,
        _MMAP | _COMM | _MMAP2 | _USE_CLOCKID | _EXCLUDE_HV,
        0,
        sample_type=_IP | _TID | _TIME | _CPU,
        cpu=cpu,
        clock=time.CLOCK_MONOTONIC,
    )


def open_cycles(tid: int) -> int:
    """A counter of processor cycles, which only a machine with a PMU has; OSError if not."""
    return _open(tid, HARDWARE, _CPU_CYCLES, 0, _EXCLUDE_KERNEL | _EXCLUDE_HV, 0)


# What a thread can be asked for, in the order the counters are read in.
COUNTED: dict[str, tuple[int, int]] = {
    "cpu_ns": (SOFTWARE, TASK_CLOCK),
    "migrations": (SOFTWARE, _MIGRATIONS),
    "minor_faults": (SOFTWARE, _MINOR_FAULTS),
    "major_faults": (SOFTWARE, _MAJOR_FAULTS),
    "cycles": (HARDWARE, _CPU_CYCLES),
    "instructions": (HARDWARE, _INSTRUCTIONS),
    "cache_misses": (HARDWARE, _CACHE_MISSES),
    "branch_misses": (HARDWARE, _BRANCH_MISSES),
}


def open_counters(tid: int, names: list[str], *, exclude_kernel: bool) -> list[int]:
    """Counters of one thread as a group: read from the first, they are all of one moment."""
    flags = _EXCLUDE_HV | (_EXCLUDE_KERNEL if exclude_kernel else 0)
    opened: list[int] = []
    try:
        for name in names:
            kind, config = COUNTED[name]
            group = opened[0] if opened else -1
            opened.append(_open(tid, kind, config, 0, flags, 0, _FORMAT_GROUP, group))
    except OSError:
        for fd in opened:
            os.close(fd)
        raise
    return opened


def open_own_counter(kind: int, config: int, *, exclude_kernel: bool) -> int:
    """A counter of the calling thread, read with the times enabled and running; OSError if not."""
    flags = _EXCLUDE_HV | (_EXCLUDE_KERNEL if exclude_kernel else 0)
    return _open(0, kind, config, 0, flags, 0, _FORMAT_ENABLED | _FORMAT_RUNNING)


def _open(
    tid: int,
    kind: int,
    config: int,
    period: int,
    flags: int,
    sig_data: int,
    read_format: int = 0,
    group: int = -1,
    more: tuple[int, int] = (0, 0),
    sample_type: int = 0,
    cpu: int = -1,
    clock: int = 0,
) -> int:
    attr = _ATTR.pack(
        kind, _ATTR.size, config, period, sample_type, read_format, flags,
        0, 0, *more, 0, 0, 0, clock, 0, 0, 0, 0, 0, 0, sig_data,
    )  # fmt: skip
    fd: int = _syscall(_PERF_EVENT_OPEN, attr, tid, cpu, group, _CLOEXEC)
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def refusal(error: OSError) -> str:
    """Why an event was refused, for a person."""
    if error.errno in (errno.EACCES, errno.EPERM):
        if refused_by_filter(error):
            return "perf events are not permitted: a seccomp filter refuses them"
        level = permissions.setting("perf_event_paranoid")
        shown = "unknown" if level is None else level
        return f"perf events are not permitted (perf_event_paranoid is {shown})"
    if error.errno == errno.ENOSYS:
        return "this kernel has no perf events, or a filter hides them"
    if error.errno == errno.EINVAL:
        return "this kernel cannot send perf signals to the running thread; 5.13 or newer can"
    if error.errno == errno.EMFILE:
        return "the recorder ran out of file descriptors"
    return f"perf events failed: {error.strerror}"


def refused_by_filter(error: OSError) -> bool:
    """The kernel says EACCES, and only to those without the capability; filters say EPERM."""
    if permissions.seccomp_mode() != permissions.FILTERED:
        return False
    privileged = permissions.has_capability(permissions.CAP_PERFMON, permissions.CAP_SYS_ADMIN)
    return error.errno == errno.EPERM or privileged

"""What the kernel lets this process do, as far as it can be known beforehand."""

from __future__ import annotations

# linux/capability.h
CAP_CHOWN, CAP_DAC_OVERRIDE = 0, 1
CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON = 19, 21, 38

FILTERED = 2
"""The seccomp mode of a process behind a filter, as in most containers."""


def setting(name: str) -> int | None:
    """A number under /proc/sys/kernel; None where this kernel has no such setting."""
    try:
        with open(f"/proc/sys/kernel/{name}") as f:
            return int(f.read())
    except (OSError, ValueError):
        return None


def seccomp_mode() -> int:
    return _status("Seccomp", 10)


def has_capability(*numbers: int) -> bool:
    """Whether one of them is in effect."""
    effective = _status("CapEff", 16)
    return any(effective >> number & 1 for number in numbers)


def _status(key: str, base: int) -> int:
    try:
        with open("/proc/self/status") as f:
            for line in f:
                name, _, value = line.partition(":")
                if name == key:
                    return int(value, base)
    except (OSError, ValueError):
        pass
    return 0

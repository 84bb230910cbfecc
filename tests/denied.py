#!/usr/bin/env python3
"""Runs a command that the kernel refuses some system calls, as a container's seccomp profile does.

    python tests/denied.py [--errno EACCES] perf_event_open,sched_setaffinity -- COMMAND [ARGS...]

The filter is inherited by everything the command starts. No privilege is needed to install it,
because none can be gained after it (no_new_privs).
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import platform
import struct

# Numbers of the x86-64 kernel interface; they never change.
SYSTEM_CALLS = {
    "ptrace": 101,
    "sched_setaffinity": 203,
    "sched_getaffinity": 204,
    "timer_create": 222,
    "perf_event_open": 298,
    "process_vm_readv": 310,
    "memfd_create": 319,
    "pidfd_open": 434,
}

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

# Classic BPF over struct seccomp_data, whose first word is the call's number, the second the ABI.
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ARCH_X86_64 = 0xC000003E
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _filter(names: list[str], error: int) -> bytes:
    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_true, if_false, value)

    program = [
        instruction(_LOAD, 4),
        instruction(_JUMP_IF_EQUAL, _ARCH_X86_64, 1, 0),
        instruction(_RETURN, _ALLOW),
        instruction(_LOAD, 0),
    ]
    for left, name in zip(range(len(names), 0, -1), names, strict=True):
        program.append(instruction(_JUMP_IF_EQUAL, SYSTEM_CALLS[name], left, 0))
    program += [instruction(_RETURN, _ALLOW), instruction(_RETURN, _REFUSE | error)]
    return b"".join(program)


def deny(names: list[str], error: int = errno.EPERM) -> None:
    """From here on this process and its children get `error` for these calls, for good."""
    if platform.machine() != "x86_64":
        raise NotImplementedError("the numbers of system calls are known for x86-64 only")
    code = _filter(names, error)
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (
        lambda: libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        lambda: libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program)),
    ):
        if call() != 0:
            raise OSError(ctypes.get_errno(), "the filter cannot be installed")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--errno", default="EPERM", choices=sorted(errno.errorcode.values()))
    parser.add_argument("calls", help=f"comma-separated, of: {', '.join(SYSTEM_CALLS)}")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    names = asked.calls.split(",")
    unknown = [name for name in names if name not in SYSTEM_CALLS]
    command = asked.command[1:] if asked.command[:1] == ["--"] else asked.command
    if unknown or not command:
        parser.error(f"unknown calls: {', '.join(unknown)}" if unknown else "no command")
    deny(names, getattr(errno, asked.errno))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()

"""Asking an interpreter to run a script: the remote-debugging protocol of CPython 3.14 (PEP 768).

It acts when its main thread next looks at its eval breaker: at once while that runs Python, never
while it sleeps. `sys.remote_exec` refuses other minor versions than its own, so the fields are
written here.
"""

from __future__ import annotations

import ctypes
import struct

from ..system import native_libraries
from . import cpython

_COOKIE = b"xdebugpy"


class _Table(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint64),
        ("interpreters_head", ctypes.c_uint64),
        ("threads_main", ctypes.c_uint64),
        ("debugger_support", ctypes.c_uint64),
        ("stop_bit", ctypes.c_uint64),
    )


def script_that_loads(library: str, socket_path: str) -> str:
    """Loads the agent as a module that never becomes one; needs nothing of the target but _imp."""
    return f"""
import _imp
class Agent:
    name, origin, socket = "sonde_agent", {library!r}, {socket_path!r}
_imp.create_dynamic(Agent)
"""


class RemoteScript:
    """A script waiting to be run by the main thread of a process."""

    def __init__(self, pid: int, found: cpython.Runtime) -> None:
        self._pid = pid
        self._pending_at = 0
        self.refusal: str | None = None
        table = _table(found.version)
        if table is None:
            self.refusal = f"CPython {found.version} has no remote debugging"
            return
        try:
            self._locate(found, table)
        except (OSError, struct.error):
            self.refusal = "its memory cannot be read"

    def _locate(self, found: cpython.Runtime, table: _Table) -> None:
        facts = cpython.read(self._pid, found.address, table.size)
        if facts[:8] != _COOKIE or _word(facts, 8) >> 16 != found.version_hex >> 16:
            self.refusal = "its interpreter has no debug offsets"
            return
        (eval_breaker, support, enabled, pending, script, self._room) = struct.unpack_from(
            "<6Q", facts, table.debugger_support
        )
        interpreter = self._follow(found.address + _word(facts, table.interpreters_head))
        allowed = cpython.read(self._pid, interpreter + enabled, 4)
        if not int.from_bytes(allowed, "little"):
            self.refusal = "remote debugging is disabled in it"
            return
        thread = self._follow(interpreter + _word(facts, table.threads_main))
        self._breaker_at, self._stop_bit = thread + eval_breaker, table.stop_bit
        self._pending_at = thread + support + pending
        self._script_at = thread + support + script

    def _follow(self, address: int) -> int:
        pointer = cpython.read_word(self._pid, address)
        if not pointer:
            raise OSError
        return pointer

    def request(self, path: str) -> bool:
        """Asks for the script; false if it cannot be, or somebody else has asked for one."""
        text = path.encode() + b"\0"
        if self.refusal is not None or len(text) > self._room:
            return False
        try:
            if int.from_bytes(cpython.read(self._pid, self._pending_at, 4), "little"):
                self.refusal = "it has another script pending"
                return False
            cpython.write(self._pid, self._script_at, text)
            cpython.write(self._pid, self._pending_at, struct.pack("<i", 1))
            # Not atomic, like CPython's own: what the target sets in between is lost until it is
            # set again.
            breaker = cpython.read_word(self._pid, self._breaker_at)
            if not breaker & self._stop_bit:
                cpython.write(
                    self._pid, self._breaker_at, struct.pack("<Q", breaker | self._stop_bit)
                )
        except OSError:
            return False
        return True

    def withdraw(self) -> None:
        try:
            cpython.write(self._pid, self._pending_at, struct.pack("<i", 0))
        except OSError:
            return  # it has exited


def _table(version: str) -> _Table | None:
    path = native_libraries.FOLDER / f"libsonde-remote-{version}.so"
    if not path.exists():
        return None
    table = _Table()
    ctypes.CDLL(str(path)).sonde_debug_offsets(ctypes.byref(table))
    return table if table.size else None


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")

"""The interpreter inside a running process: where it lies, and which one it is."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..system import elf

# 3.13 and later: the runtime begins with a cookie, the version and whether it is free-threaded
# (struct _Py_DebugOffsets).
_TELLS_THREADING = 0x030D0000
_FREE_THREADED_AT = 16

_SYMBOLS = ("_PyRuntime", "PyCode_Type", "Py_Version")


@dataclass(frozen=True)
class Runtime:
    """A CPython 3.11 or newer in a process."""

    module: elf.Module
    """The library or the executable that carries it."""
    address: int
    """Of `_PyRuntime`."""
    code_type: int
    version_hex: int
    free_threaded: bool

    @property
    def version(self) -> str:
        """Its minor version, as agents are named after: "3.12"."""
        return f"{self.version_hex >> 24 & 255}.{self.version_hex >> 16 & 255}"


def find(pid: int) -> Runtime | None:
    """The interpreter of process `pid`; an OSError says that its memory may not be read."""
    for module in _candidates(pid):
        symbols = elf.find_symbols(pid, module, _SYMBOLS)
        if len(symbols) < len(_SYMBOLS):
            continue
        version = read_word(pid, symbols["Py_Version"])
        if not version:  # not initialised yet
            continue
        address = symbols["_PyRuntime"]
        free_threaded = version >= _TELLS_THREADING and read_word(pid, address + _FREE_THREADED_AT)
        return Runtime(module, address, symbols["PyCode_Type"], version, bool(free_threaded))
    return None


def is_older(pid: int) -> bool:
    """Whether it runs a CPython, but one that does not state its version (before 3.11)."""
    return any(
        elf.find_symbols(pid, module, ("_PyRuntime", "PyImport_ImportModule"))
        for module in _candidates(pid)
    )


def read(pid: int, address: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        f.seek(address)
        return f.read(size)


def read_word(pid: int, address: int) -> int:
    return int.from_bytes(read(pid, address, 8), "little")


def write(pid: int, address: int, data: bytes) -> None:
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as f:
        f.seek(address)
        f.write(data)


def _candidates(pid: int) -> list[elf.Module]:
    """What may carry an interpreter: the executable, and libraries that are named so."""
    executable = os.readlink(f"/proc/{pid}/exe")
    return [
        module
        for module in elf.modules(pid)
        if module.path == executable or "python" in os.path.basename(module.path)
    ]

"""Bringing the agent into a running process by ptrace: native/inject does the work."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import SondeError

from ..system import elf, native_libraries
from .cpython import Runtime, read
from .hotspot import Jvm
from .process import owner_of

TIMEOUT_MS = 5000

# What came of it: the mirror of native/inject/inject.h.
INJECTED, NO_SAFE_MOMENT, NOT_PERMITTED, GONE, NOT_LOADED = 0, 1, 2, 3, 4
NO_FUNCTION, FAULTED, WRONG_ORDER, NO_COPY = 5, 6, 7, 8

# Whose code it is: the mirror of native/inject/safe.h.
_PYTHON, _LIBC, _LOADER, _ALLOCATOR, _OTHER, _LOADER_DATA = 1, 2, 3, 4, 5, 6

_OF_LIBC = ("libc.so", "libc-2", "libpthread", "libdl.so", "libdl-2", "librt", "[vdso]")
_OF_LOADER = ("ld-linux", "ld-2", "ld.so", "ld-musl")
# Of a library, to know it again.
_COMPARED = 4096
_CALLED = ("dlopen", "dlsym", "dlerror", "memfd_create", "close")


class _Text(ctypes.Structure):
    _fields_ = (
        ("low", ctypes.c_uint64),
        ("high", ctypes.c_uint64),
        ("whose", ctypes.c_uint64),
    )


class _Order(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_int32),
        ("unused", ctypes.c_uint32),
        ("timeout_ms", ctypes.c_uint64),
        ("texts", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("dlopen_at", ctypes.c_uint64),
        ("dlsym_at", ctypes.c_uint64),
        ("dlerror_at", ctypes.c_uint64),
        ("memfd_create_at", ctypes.c_uint64),
        ("close_at", ctypes.c_uint64),
        ("function_at", ctypes.c_uint64),
        ("library", ctypes.c_char * 1024),
        ("runtime", ctypes.c_char * 1024),
        ("function", ctypes.c_char * 64),
        ("argument", ctypes.c_char * 256),
    )


class _Answer(ctypes.Structure):
    _fields_ = (
        ("outcome", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("returned", ctypes.c_int32),
        ("tries", ctypes.c_uint32),
        ("tid", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("stopped_ns", ctypes.c_uint64),
        ("words", ctypes.c_char * 256),
    )


@dataclass(frozen=True)
class Injection:
    """What came of it."""

    outcome: int
    returned: int
    """What the function in the target returned: 0 or an errno."""
    tries: int
    stopped_ns: int
    """How long a thread of the target was stopped, all tries together."""
    why_not: str | None


class InjectTimeout:
    """How long a safe moment is waited for; `end` from another thread takes it away."""

    def __init__(self, ms: int = TIMEOUT_MS) -> None:
        self.left = ctypes.c_uint32(ms)

    def end(self) -> None:
        self.left.value = 0


def inject(
    pid: int,
    runtime: Runtime | Jvm,
    library: Path,
    function: str,
    argument: str,
    timeout: InjectTimeout | None = None,
) -> Injection:
    """Has process `pid` load `library` and call `function(argument)` there."""
    timeout = timeout or InjectTimeout()
    order = _Order(pid=pid, timeout_ms=ctypes.addressof(timeout.left))
    order.library = os.fsencode(library)
    carrier = os.fsencode(runtime.module.path)
    if isinstance(runtime, Runtime) and len(carrier) < _Order.runtime.size:
        order.runtime = carrier
    order.function = function.encode()
    order.argument = os.fsencode(argument)
    order.function_at = _where_it_is_already(pid, library, function)
    called = _called(pid)
    missing = [name for name in _CALLED if name not in called]
    if missing:
        return Injection(
            NOT_LOADED, 0, 0, 0, f"its C library has no {missing[0]}; sonde needs glibc"
        )
    for name in ("dlopen", "dlsym", "dlerror"):
        setattr(order, f"{name}_at", called[name])
    if not sees(pid, library):
        order.memfd_create_at, order.close_at = called["memfd_create"], called["close"]
    texts = _texts(pid, runtime)
    array = (_Text * len(texts))(*(_Text(*text) for text in texts))
    order.texts, order.count = ctypes.addressof(array), len(texts)
    answer = _Answer()
    code = _library().sonde_inject(ctypes.byref(order), ctypes.byref(answer))
    if code:
        raise SondeError(f"could not attach to process {pid}: {os.strerror(code).lower()}")
    return Injection(
        answer.outcome, answer.returned, answer.tries, answer.stopped_ns, _why_not(answer)
    )


def sees(pid: int, path: str | Path) -> bool:
    """Whether the process finds and may read our file under the same name."""
    try:
        theirs, ours = os.stat(f"/proc/{pid}/root{os.path.abspath(path)}"), os.stat(path)
    except OSError:
        return False
    same = (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
    return same and owner_of(pid)[0] == os.geteuid()


def _why_not(answer: _Answer) -> str | None:
    words = answer.words.decode(errors="replace")
    why = os.strerror(answer.error).lower()
    return {
        INJECTED: None,
        NO_SAFE_MOMENT: f"found no safe moment to load the agent ({words})",
        NOT_PERMITTED: f"ptrace is refused: {why}",
        GONE: "it exited",
        NOT_LOADED: f"it could not load the agent: {words}",
        NO_FUNCTION: "it has loaded an agent of another sonde version",
        FAULTED: "loading the agent caused a fault",
        NO_COPY: f"the agent could not be copied into it: {why}",
    }.get(answer.outcome, "injection failed")


@functools.cache
def _library() -> ctypes.CDLL:
    path = native_libraries.FOLDER / "libsonde-inject.so"
    if not path.exists():
        raise SondeError(
            f"the native part of sonde is missing ({path}); build it with `make build`"
        )
    return ctypes.CDLL(str(path))


def _called(pid: int) -> dict[str, int]:
    """Where the functions that the target is to call lie in it."""
    found: dict[str, int] = {}
    for module in elf.modules(pid):
        # dlopen is part of libc from glibc 2.34 on.
        if os.path.basename(module.path).startswith(("libc.so", "libc-2", "libdl")):
            found = elf.find_symbols(pid, module, _CALLED) | found
    return found


def _where_it_is_already(pid: int, library: Path, function: str) -> int:
    """A library once loaded stays: entered again, the target only has to call."""
    with open(library, "rb") as f:
        beginning = f.read(_COMPARED)
    for module in elf.modules(pid):
        name = module.path.removesuffix(" (deleted)")
        if name not in (str(library), f"/memfd:{library.name}"):
            continue
        # It may be another build of the same name; symbols come first in a library.
        with contextlib.suppress(OSError):
            if read(pid, module.base, len(beginning)) == beginning:
                return elf.symbols_of(str(library), module.base, (function,)).get(function, 0)
    return 0


def _texts(pid: int, runtime: Runtime | Jvm) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    with open(f"/proc/{pid}/maps") as f:
        for line in f:
            fields = line.split(maxsplit=5)
            path = fields[5].rstrip("\n") if len(fields) == 6 else ""
            low, high = (int(part, 16) for part in fields[0].split("-"))
            whose = _whose(path, runtime)
            if whose == _LOADER and "x" not in fields[1]:
                found.append((low, high, _LOADER_DATA))
            elif whose and "x" in fields[1]:
                found.append((low, high, whose))
    return found


def _whose(path: str, runtime: Runtime | Jvm) -> int:
    name = os.path.basename(path)
    # A JVM is a library like others: it may be called back by the loader.
    if path == runtime.module.path and isinstance(runtime, Runtime):
        return _PYTHON
    if name.startswith(_OF_LIBC):
        return _LIBC
    if name.startswith(_OF_LOADER):
        return _LOADER
    if "alloc" in name:
        return _ALLOCATOR
    return _OTHER if path.startswith("/") else 0

"""The last sampler: reading the target's memory from the recorder, where no agent may enter."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from . import agents, elf

# 3.13 and later: the runtime begins with a cookie, the version and whether it is free-threaded
# (struct _Py_DebugOffsets).
_TELLS_THREADING = 0x030D0000
_FREE_THREADED_AT = 16

_SYMBOLS = ("_PyRuntime", "PyCode_Type", "Py_Version")


class RemoteReader:
    """Reads one CPython process; an agent that lives in the recorder."""

    def __init__(self, pid: int, socket_path: str) -> None:
        self._pid = pid
        self._socket_path = socket_path
        self._library: ctypes.CDLL | None = None
        self._thread: threading.Thread | None = None
        self.refusal: str | None = None

    def try_start(self) -> bool:
        """Starts if the process is a CPython by now; in a thread, as it talks with our own loop."""
        found = self._find()
        if found is None:
            return False
        runtime, code_type, version = found
        name = f"{version >> 24 & 255}.{version >> 16 & 255}"
        if version >= _TELLS_THREADING and self._read_word(runtime + _FREE_THREADED_AT):
            self.refusal = f"CPython {name} without a GIL is not supported yet"
            return True
        path = agents.FOLDER / f"libsonde-remote-{name}.so"
        if not path.exists():
            self.refusal = f"there is no reader for CPython {name}"
            return True
        self._thread = threading.Thread(
            target=self._start, args=(path, runtime, code_type, version), daemon=True
        )
        self._thread.start()
        return True

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.join()
        if self._library is not None:
            self._library.sonde_remote_stop()
            self._library = None

    def _start(self, path: Path, runtime: int, code_type: int, version: int) -> None:
        library = ctypes.CDLL(str(path))
        start = library.sonde_remote_start
        start.argtypes = [
            ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32,
        ]  # fmt: skip
        code = start(os.fsencode(self._socket_path), self._pid, runtime, code_type, version)
        if code:
            self.refusal = f"its memory cannot be read: {os.strerror(code).lower()}"
        else:
            self._library = library

    def _find(self) -> tuple[int, int, int] | None:
        try:
            modules = elf.modules(self._pid)
        except OSError:
            return None
        # The executable itself, or the library it carries its interpreter in.
        for module in modules:
            if "python" not in Path(module.path).name:
                continue
            symbols = elf.find_symbols(self._pid, module, _SYMBOLS)
            if len(symbols) == len(_SYMBOLS):
                version = self._read_word(symbols["Py_Version"])
                if version:
                    return symbols["_PyRuntime"], symbols["PyCode_Type"], version
        return None

    def _read_word(self, address: int) -> int:
        try:
            with open(f"/proc/{self._pid}/mem", "rb", buffering=0) as f:
                f.seek(address)
                return int.from_bytes(f.read(8), "little")
        except OSError as error:
            self.refusal = f"its memory cannot be read: {(error.strerror or '').lower()}"
            return 0

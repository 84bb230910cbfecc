"""The last sampler: reading the target's memory from the recorder, where no agent may enter."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from ..system import native_libraries
from . import cpython


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
        try:
            found = cpython.find(self._pid)
        except OSError as error:
            self.refusal = f"cannot read its memory: {(error.strerror or '').lower()}"
            return False
        if found is None:
            return False
        name = found.version
        if found.free_threaded:
            self.refusal = f"CPython {name} without a GIL is not supported yet"
            return True
        path = native_libraries.FOLDER / f"libsonde-remote-{name}.so"
        if not path.exists():
            self.refusal = f"sonde has no remote reader for CPython {name}"
            return True
        self._thread = threading.Thread(target=self._start, args=(path, found), daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.join()
        if self._library is not None:
            self._library.sonde_remote_stop()
            self._library = None

    def _start(self, path: Path, found: cpython.Runtime) -> None:
        library = ctypes.CDLL(str(path))
        start = library.sonde_remote_start
        start.argtypes = [
            ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32,
        ]  # fmt: skip
        code = start(
            os.fsencode(self._socket_path),
            self._pid,
            found.address,
            found.code_type,
            found.version_hex,
        )
        if code:
            self.refusal = f"cannot read its memory: {os.strerror(code).lower()}"
        else:
            self._library = library

"""The heap of the process that asks for it."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import subprocess
import sys
import tempfile

from sonde.errors import SondeError

from .heap_walk import walk_here


def take(agent: ctypes.PyDLL, path: str | os.PathLike[str]) -> str:
    """Writes a snapshot file, overwriting one that is there; returns its path."""
    whole = os.path.abspath(path)
    folder = os.path.dirname(whole)
    if not os.access(folder, os.W_OK):
        raise SondeError(f"cannot write into {folder}")
    with tempfile.TemporaryFile(dir=folder) as file:
        walked = walk_here(agent, file)
        order = {
            "file": file.fileno(),
            "path": whole,
            "origin": {
                "pid": os.getpid(),
                "version": f"{sys.version_info.major}.{sys.version_info.minor}",
                "argv": list(sys.orig_argv),
                "taken": walked.taken,
                "pause_ns": walked.pause_ns,
                "walk_ns": walked.walk_ns,
            },
        }
        _convert(order, file.fileno())
    return whole


def _convert(order: dict[str, object], fd: int) -> None:
    program = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from sonde.heap.cpython_convert import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, json.dumps(order)],
        check=False,
        pass_fds=[fd],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},
        start_new_session=True,
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        raise SondeError(f"no heap snapshot: {next(filter(None, reversed(lines)), 'it was ended')}")


def new_name(stem: str) -> str:
    """A file that there is not yet."""
    names = (f"{stem}-{number}" if number > 1 else stem for number in itertools.count(1))
    return next(f"{name}.sonde" for name in names if not os.path.exists(f"{name}.sonde"))

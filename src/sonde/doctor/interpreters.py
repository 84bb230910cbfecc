"""The Python interpreters of this machine, and whether an agent fits them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.errors import SondeError
from sonde.record.system import native_libraries

_NAMED_LIKE_PYTHON = re.compile(r"(python|pypy)(3(\.\d+)?t?)?")
_TIMEOUT_S = 20

# Understood by every Python 3. A virtual environment answers with what it was made from.
_QUESTION = """
import json, os, platform, sys, sysconfig
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION")
except (OSError, ValueError):
    libc = None
print(json.dumps({
    "path": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "implementation": sys.implementation.name,
    "version": platform.python_version(),
    "minor": "%d.%d" % sys.version_info[:2],
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "libc": libc,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    path: str
    implementation: str
    version: str
    """As it calls itself: "3.13.0", "3.15.0b2"."""
    minor: str
    free_threaded: bool
    libc: str | None
    runs_sonde: bool

    def agent(self) -> Path:
        """The agent for it; a SondeError says why there is none."""
        if self.implementation != "cpython":
            raise SondeError(f"this is {self.implementation}, and sonde records CPython")
        if self.free_threaded:
            raise SondeError("this is a free-threaded build, which sonde cannot record yet")
        if tuple(map(int, self.minor.split("."))) < native_libraries.OLDEST:
            oldest = ".".join(map(str, native_libraries.OLDEST))
            raise SondeError(f"sonde records CPython {oldest} and newer")
        return native_libraries.agent_for(self.minor)


def found() -> list[Interpreter]:
    """Every interpreter that runs, once, by version; the one sonde runs on among them."""
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    answers: dict[str, Interpreter] = {}
    asked: set[str] = set()
    for path in _candidates():
        real = os.path.realpath(path)
        if real in asked or not os.path.isfile(real) or not os.access(real, os.X_OK):
            continue
        asked.add(real)
        answer = _ask(path)
        if answer is not None:
            answers.setdefault(
                answer["path"], Interpreter(**answer, runs_sonde=answer["path"] == own)
            )
    return sorted(answers.values(), key=lambda i: (_sortable(i.version), i.path))


def _candidates() -> Iterator[Path]:
    yield Path(sys.executable)
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        # pyenv's shims are slow, and stand for what is looked at below.
        if folder and Path(folder) != pyenv / "shims":
            yield from _pythons_in(Path(folder))
    for folder_ in (Path("/usr/bin"), Path("/usr/local/bin")):
        yield from _pythons_in(folder_)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "sonde" / "pythons"
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or home / ".local/share/uv/python")
    for root in (pyenv / "versions", uv, Path(os.environ.get("SONDE_PYTHONS") or cache)):
        for folder_ in _listed(root):
            yield from _pythons_in(folder_ / "bin")


def _pythons_in(folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if _NAMED_LIKE_PYTHON.fullmatch(path.name)]


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _ask(path: Path) -> dict[str, Any] | None:
    try:
        done = subprocess.run(
            [path, "-I", "-c", _QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None  # Python 2, a broken installation, something else of that name
    return answer


def _sortable(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]

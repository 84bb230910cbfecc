"""Where the native parts of this installation are, and for which interpreters."""

from __future__ import annotations

import re
from pathlib import Path

from sonde.errors import SondeError

OLDEST = (3, 11)
"""The first CPython whose frames the agents know."""

FOLDER = Path(__file__).resolve().parents[2] / "agents"


def available() -> dict[str, Path]:
    """Agents by CPython minor version ("3.12")."""
    found: dict[str, Path] = {}
    for path in sorted(FOLDER.glob("libsonde-cpython-*.so")):
        match = re.fullmatch(r"libsonde-cpython-(\d+\.\d+)\.so", path.name)
        if match:
            found[match[1]] = path
    return found


def agent_for(version: str) -> Path:
    agents = available()
    if version not in agents:
        have = ", ".join(agents) or "none"
        raise SondeError(
            f"this installation has no agent for CPython {version} (it has: {have}); "
            f"install the headers of Python {version}, then sonde again"
        )
    return agents[version]


def hotspot_agent() -> Path:
    path = FOLDER / "libsonde-hotspot.so"
    if not path.exists():
        raise SondeError(
            "this installation has no agent for Java; install a JDK with jvmti.h, then sonde again"
        )
    return path


def java_api() -> Path:
    """The jar that Java programs compile against."""
    path = FOLDER / "sonde-api.jar"
    if not path.exists():
        raise SondeError(
            "this installation has no jar for Java programs; install a JDK, then sonde again"
        )
    return path


def c_include() -> Path:
    """The folder with the header for C programs, sonde.h."""
    return FOLDER.parent / "include"


def preload() -> Path:
    return _ours("preload")


def drain() -> Path:
    return _ours("drain")


def heap() -> Path:
    return _ours("heap")


def _ours(name: str) -> Path:
    path = FOLDER / f"libsonde-{name}.so"
    if not path.exists():
        raise SondeError(
            f"the native part of sonde is missing ({path}); build it with `make build`"
        )
    return path

"""The Java virtual machines of this machine, and whether the agent fits them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import SondeError
from sonde.record.system import native_libraries
from sonde.record.targets import hotspot

_INSTALLED = Path("/usr/lib/jvm")
_LIBRARY = Path("lib/server/libjvm.so")


@dataclass(frozen=True)
class JavaHome:
    path: str
    version: str
    """As its `release` file states; empty if it has none."""

    @property
    def java(self) -> str:
        return os.path.join(self.path, "bin", "java")

    def agent(self) -> Path:
        """The agent for it; a SondeError says why there is none."""
        major = self.version.partition(".")[0]
        if major.isdecimal() and int(major) < hotspot.OLDEST:
            raise SondeError(f"sonde records Java {hotspot.OLDEST} and newer")
        return native_libraries.hotspot_agent()


def found() -> list[JavaHome]:
    """Every JDK and JRE with a HotSpot, once, by version."""
    homes = {os.path.realpath(home) for home in _candidates() if (home / _LIBRARY).exists()}
    all_ = [JavaHome(home, hotspot.version_of(home)) for home in homes]
    return sorted(all_, key=lambda home: (_sortable(home.version), home.path))


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java"):
        yield Path(os.path.realpath(java)).parent.parent
    if _INSTALLED.is_dir():
        yield from sorted(_INSTALLED.iterdir())


def _sortable(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]

#!/usr/bin/env python3
"""The JDKs the HotSpot agent is built with and tested on: find them, install one where none is.

    scripts/jdks.py             install Debian's default JDK if there is none, then show the table
    scripts/jdks.py --list      only look; one line "17.0.15 /usr/lib/jvm/..." per JDK found
    scripts/jdks.py --include   only look; the folder with jvmti.h of one of them, or nothing

Looked at, in this order: JAVA_HOME, the `java` in PATH, the folders below /usr/lib/jvm.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17
PACKAGE = "default-jdk-headless"


def candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java"):
        yield Path(os.path.realpath(java)).parent.parent
    yield from sorted(Path("/usr/lib/jvm").glob("*"))


def version_of(home: Path) -> str | None:
    """As its `release` file tells; None for what is no JDK."""
    if not (home / "bin" / "javac").exists() or not (home / "include" / "jvmti.h").exists():
        return None
    try:
        for line in (home / "release").read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "JAVA_VERSION":
                return value.strip('"')
    except OSError:
        pass
    return None


def found() -> dict[Path, str]:
    """Every JDK from 17 on that has its headers, by home."""
    here: dict[Path, str] = {}
    for home in candidates():
        real = home.resolve()
        version = version_of(real)
        if version and int(version.split(".")[0]) >= OLDEST:
            here.setdefault(real, version)
    return here


def install() -> str | None:
    """Debian's; why not, if it cannot be had."""
    if not shutil.which("apt-get"):
        return "no apt-get to install one with"
    sudo = ["sudo"] if os.geteuid() != 0 and shutil.which("sudo") else []
    if os.geteuid() != 0 and not sudo:
        return f"only root can install {PACKAGE}"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["-y", "--no-install-recommends", "install", PACKAGE]):
        done = subprocess.run(
            [*sudo, "apt-get", "-q", *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return f"apt-get failed: {done.stderr.strip().splitlines()[-1:]}"
    return None


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--list", action="store_true", help="only look: VERSION HOME lines")
    options.add_argument("--include", action="store_true", help="only look: a folder with jvmti.h")
    asked = options.parse_args()
    here = found()
    if asked.include:
        print(next((home / "include" for home in here), ""))
        return 0
    if asked.list:
        for home, version in here.items():
            print(version, home)
        return 0
    if not here:
        why = install()
        here = found()
        if not here:
            print(f"  JDK   missing: {why}; Java programs cannot be recorded", file=sys.stderr)
    for home, version in here.items():
        print(f"  JDK   {version:<10}{home}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

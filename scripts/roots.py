#!/usr/bin/env python3
"""Root file systems of Debian's releases that the wheel is tried in: made, never booted.

    scripts/roots.py [SUITE...]   make what is missing, then show the table

They lie in a cache shared by all clones ($SONDE_ROOTS, else $XDG_CACHE_HOME/sonde/roots). Only root
can make and enter them. Oldstable releases have a Python older than sonde's oldest: in them the
libraries are loaded, and nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pythons

SUITES = {
    "buster": (),
    "bullseye": (),
    "bookworm": ("python3", "python3-venv"),
    "trixie": ("python3", "python3-venv"),
    "sid": ("python3", "python3-venv"),
}
"""Oldest first: what each has besides the base system."""


def root_of(suite: str) -> Path:
    return pythons.cache_folder("roots") / suite


def found() -> dict[str, Path]:
    return {suite: root_of(suite) for suite in SUITES if root_of(suite).is_dir()}


def make(suite: str) -> str | None:
    """Why not, if it cannot be had."""
    if os.geteuid() != 0:
        return "only root can make it"
    if why := _ensure_debootstrap():
        return why
    try:
        mirror = pythons.Suite.mirror()
    except pythons.Unavailable as reason:
        return str(reason)
    home = root_of(suite)
    # Made aside and renamed when whole: an interruption leaves no half file system behind.
    aside = Path(tempfile.mkdtemp(prefix=f".{suite}-", dir=home.parent))
    include = ",".join(SUITES[suite])
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", *([f"--include={include}"] if include else []),
         suite, aside, mirror],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        shutil.rmtree(aside, ignore_errors=True)
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("E:")]
        return said[-1] if said else f"debootstrap failed with exit code {done.returncode}"
    shutil.rmtree(aside / "var" / "cache" / "apt", ignore_errors=True)
    aside.chmod(0o755)
    aside.rename(home)
    return None


def _ensure_debootstrap() -> str | None:
    if shutil.which("debootstrap"):
        return None
    if not shutil.which("apt-get"):
        return "no debootstrap to make it with"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", "-q", "-y", "--no-install-recommends", "install", "debootstrap"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"apt-get failed: {done.stderr.strip().splitlines()[-1:]}" if done.returncode else None


def main() -> int:
    wanted = sys.argv[1:] or list(SUITES)
    if unknown := [suite for suite in wanted if suite not in SUITES]:
        sys.exit(f"unknown suite {unknown[0]}; valid suites: {', '.join(SUITES)}")
    cache = pythons.cache_folder("roots")
    with pythons.alone(cache):
        for suite in wanted:
            why = None if root_of(suite).is_dir() else make(suite)
            print(f"  {suite:<10}{(why and f'missing: {why}') or root_of(suite)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

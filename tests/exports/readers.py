"""Programs of others that read what we export, brought from npm once and kept in a cache.

What cannot be brought (no npm, no network) skips the test that wants it, and says so.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

VERSIONS = {
    "speedscope": "1.25.0",
    "pprof-format": "2.3.2",
    "@firefox-devtools/profiler-cli": "0.10.0",
}


def package(name: str) -> Path:
    """The unpacked package; it has no dependencies that matter to us."""
    version = VERSIONS[name]
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sonde" / "readers"
    home = base / f"{name.replace('/', '-')}-{version}"
    if home.is_dir():
        return home / "package"
    if shutil.which("npm") is None:
        pytest.skip(f"no npm to bring {name}, the independent reader")
    base.mkdir(parents=True, exist_ok=True)
    with (base / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.is_dir():
            _fetch(f"{name}@{version}", base, home)
    return home / "package"


def node(script: str, *args: str) -> str:
    """What a piece of JavaScript prints."""
    if shutil.which("node") is None:
        pytest.skip("no node to run the independent reader")
    done = subprocess.run(
        ["node", "-e", script, *args], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _fetch(wanted: str, base: Path, home: Path) -> None:
    fetched = base / f".{home.name}"
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir()
    done = subprocess.run(
        ["npm", "pack", "--silent", wanted],
        cwd=fetched,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    archives = list(fetched.glob("*.tgz"))
    if done.returncode or not archives:
        pytest.skip(f"npm cannot bring {wanted}, the independent reader: {done.stderr.strip()}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(fetched, filter="data")
    archives[0].unlink()
    fetched.rename(home)

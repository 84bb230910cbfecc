#!/usr/bin/env python3
"""Build dist/sonde-*.whl with an agent for every interpreter found.

The agents are plain shared libraries that belong to the target's interpreter, not to the one sonde
is installed in, so the wheel serves every Python 3 of the platform and is tagged that way;
meson-python would tie it to the interpreter it was built with.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def main() -> None:
    interpreters = ",".join(pythons.found().values())
    for old in DIST.glob("sonde-*"):
        old.unlink()
    module = [sys.executable, "-m"]
    # From the sdist, so that nothing but committed files can slip in. The build tools are those of
    # .venv: no second download, no isolated environment.
    build = ["build", "--no-isolation", "--outdir", str(DIST)]
    # A compiler newer than ours may warn of more; whoever builds a wheel cannot mend that.
    setup = [f"-Csetup-args=-Dpythons={interpreters}", "-Csetup-args=-Dwerror=false"]
    subprocess.run([*module, *build, *setup, str(ROOT)], check=True)
    (wheel,) = DIST.glob("sonde-*.whl")
    tags = ["wheel", "tags", "--remove", "--python-tag", "py3", "--abi-tag", "none", str(wheel)]
    subprocess.run([*module, *tags], check=True)


if __name__ == "__main__":
    main()

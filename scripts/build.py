#!/usr/bin/env python3
"""Build the native part in a folder and, for a plain build, put the agents into the source tree.

scripts/build.py FOLDER [--sanitize]
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
AGENTS = ROOT / "src" / "sonde" / "agents"


def configure(folder: Path, sanitize: bool) -> None:
    """(Re)configure only when an answer changed: a configure costs more than a rebuild."""
    interpreters = pythons.found()
    options = ["-Dpythons=" + ",".join(interpreters.values())]
    if sanitize:
        options += ["-Dtests=true", "-Db_sanitize=address,undefined", "-Db_lundef=false"]
        # Less to optimize and to describe: reports still name the line.
        options.append("-Doptimization=1")
        # Where a null pointer is checked for, the compiler takes the check for a null pointer.
        # recover: the readers of other threads' memory find freed memory by design; their tests
        # go on after such a report and judge it. Without halt_on_error=0 a report still ends all.
        options.append("-Dc_args=-g1 -Wno-nonnull -fsanitize-recover=address")
    known = folder / "options.json"
    if known.exists() and json.loads(known.read_text()) == options:
        return
    again = ["--reconfigure"] if (folder / "build.ninja").exists() else []
    subprocess.run(
        ["meson", "setup", *again, *options, str(folder), str(ROOT)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    known.write_text(json.dumps(options))


def install(folder: Path) -> None:
    """Copy what changed, each by a rename: a running target may have the old one mapped."""
    AGENTS.mkdir(exist_ok=True)
    found = [*folder.glob("native/*/*.so"), *folder.glob("native/*/*.jar")]
    built = {agent.name: agent for agent in found}
    for stale in AGENTS.iterdir():
        if stale.name not in built:
            stale.unlink()
    for name, agent in built.items():
        place = AGENTS / name
        if place.exists() and place.read_bytes() == agent.read_bytes():
            continue
        aside = AGENTS / f".{name}.{os.getpid()}"
        shutil.copy(agent, aside)
        aside.rename(place)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sanitize", action="store_true", help="ASan, UBSan and the unit tests")
    asked = parser.parse_args()
    folder = ROOT / asked.folder
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests build too
        try:
            configure(folder, asked.sanitize)
            # Under `make -j` ninja would look for a pool of jobs that is not handed down to here.
            alone = {name: text for name, text in os.environ.items() if name != "MAKEFLAGS"}
            subprocess.run(["ninja", "-C", str(folder)], check=True, env=alone)
        except subprocess.CalledProcessError as failed:
            return int(failed.returncode) or 1
        if not asked.sanitize:
            install(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

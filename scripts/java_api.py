#!/usr/bin/env python3
"""Build the jar by which Java programs state spans and marks, with a JDK that is there.

scripts/java_api.py JAR SOURCE...

Its classes run on Java 8 and newer. The same sources make the same bytes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import jdks

RELEASE = "8"
# No class file depends on the time of day: neither may the archive.
DATE = (1980, 1, 1, 0, 0, 0)
MANIFEST = "Manifest-Version: 1.0\nAutomatic-Module-Name: sonde\n\n"


def compile_into(folder: Path, sources: list[Path]) -> None:
    # Every JDK that the agent is built with compiles for 8; the oldest one does so without a word.
    home = min(jdks.found(), key=lambda home: int(jdks.found()[home].split(".")[0]))
    options = ["--release", RELEASE, "-g", "-Xlint:all,-options", "-Werror"]
    subprocess.run([home / "bin" / "javac", *options, "-d", folder, *sources], check=True)


def pack(folder: Path, jar: Path) -> None:
    files = {"META-INF/MANIFEST.MF": MANIFEST.encode()}
    for path in sorted(folder.rglob("*.class")):
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("jar", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            compile_into(Path(scratch), asked.sources)
        except subprocess.CalledProcessError as failed:
            return int(failed.returncode) or 1
        pack(Path(scratch), asked.jar)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Java libraries and servers of Debian's packages that tests record: unpacked, never installed.

    scripts/jars.py     fetch what is missing, then show the table

They lie in a cache shared by all clones ($SONDE_JARS, else $XDG_CACHE_HOME/sonde/jars).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pythons

PACKAGES = {
    "h2": ("libh2-java",),
    "lucene": ("liblucene4.10-java",),
    "tomcat": ("libtomcat10-java", "libtomcat10-embed-java"),
    "fop": (
        "libfop-java",
        "libfontbox2-java",
        "libxmlgraphics-commons-java",
        "libbatik-java",
        "libcommons-io-java",
        "libcommons-logging-java",
    ),
    "xalan": ("libxalan2-java", "libxerces2-java"),
}


def jars(program: str) -> list[Path]:
    """What is there of it; empty if it was not fetched."""
    return sorted((pythons.cache_folder("jars") / program).glob("*.jar"))


def fetch(program: str) -> str | None:
    """From the packages of the machine's own apt; why not, if they cannot be had."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return "no apt-get and dpkg-deb to fetch them with"
    home = pythons.cache_folder("jars") / program
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        # Of the names that a package has in several releases, those that are here.
        for package in PACKAGES[program]:
            subprocess.run(
                ["apt-get", "-q", "download", package],
                cwd=scratch,
                capture_output=True,
                check=False,
            )
        found = sorted(Path(scratch).glob("*.deb"))
        if not found:
            return f"apt-get has none of {', '.join(PACKAGES[program])}"
        for package_file in found:
            subprocess.run(["dpkg-deb", "-x", package_file, scratch], check=True)
        tree = Path(scratch) / "made"
        tree.mkdir()
        # Links among them, to what has the version in its name.
        for jar in (Path(scratch) / "usr" / "share" / "java").glob("*.jar"):
            if jar.is_file() and not jar.is_symlink():
                shutil.copy(jar, tree / jar.name)
        tree.rename(home)
    return None


def main() -> int:
    cache = pythons.cache_folder("jars")
    with pythons.alone(cache):
        for program in PACKAGES:
            why = fetch(program) if not jars(program) else None
            if why:
                print(f"  {program:<8}missing: {why}; its tests are skipped", file=sys.stderr)
            else:
                print(f"  {program:<8}{len(jars(program))} jars in {cache / program}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

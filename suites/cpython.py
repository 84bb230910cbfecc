"""CPython's own regression tests: those that threads, signals, processes and hooks may disturb.

Builds from source include the package `test`. Debian ships it apart from the interpreter, in
libpythonX.Y-testsuite, which is unpacked into the interpreter of the cache that scripts/pythons.py
keeps.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pythons
from suites.subjects import Prepared, Suite

# Quick and likely ones first: a run that is broken off has seen them.
MODULES = Path(__file__).with_name("cpython.txt").read_text().split()

# They run for minutes, or compile C code, and nothing in them concerns a profiler.
WITHOUT = (
    "test.test_venv.EnsurePipTest*",
    "test.test_ssl.ThreadedTests.test_*psk*",
)


def folder(python: str) -> Path:
    answer = subprocess.run(
        [python, "-I", "-c", "import test; print(test.__path__[0])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise pythons.Unavailable("the interpreter has no package 'test'")
    return Path(answer.stdout.strip())


def fetch(version: str, into: Path) -> None:
    """Debian's package of tests, into an interpreter of the cache."""
    cache = pythons.cache_folder()
    if cache not in into.parents:
        raise pythons.Unavailable(f"no tests in {into}; install the tests of python{version}")
    with pythons.alone(cache):
        if (into / "test_threading.py").exists():
            return
        try:
            for name in pythons.SUITES[version]:
                suite = pythons.Suite(name, cache / "apt" / name)
                package = f"libpython{version}-testsuite"
                if not suite.has(package):
                    continue
                with tempfile.TemporaryDirectory(dir=cache) as scratch:
                    command = ["apt-get", "-q", "download", package]
                    pythons.run([*command], env=suite.environment, cwd=scratch)
                    for package_file in Path(scratch).glob("*.deb"):
                        pythons.run(["dpkg-deb", "-x", package_file, scratch])
                    tests = Path(scratch) / "usr" / "lib" / f"python{version}" / "test"
                    shutil.copytree(tests, into, dirs_exist_ok=True, symlinks=True)
                return
        finally:
            shutil.rmtree(cache / "apt", ignore_errors=True)
    raise pythons.Unavailable(f"Debian has no tests of {version}")


def modules_of(place: Path, name: str) -> list[str]:
    """A test module, or those of a package and its subpackages."""
    if (place / f"{name}.py").exists():
        return [f"test.{name}"]
    return [
        ".".join(("test", *file.relative_to(place).with_suffix("").parts))
        for file in sorted((place / name).rglob("test_*.py"))
        # A folder without __init__ is left over, or data of other tests.
        if (file.parent / "__init__.py").exists()
    ]


def prepare(version: str, python: str) -> Prepared:
    place = folder(python)
    if not (place / "test_threading.py").exists():
        fetch(version, place)
    modules = [module for name in MODULES for module in modules_of(place, f"test_{name}")]
    return Prepared(
        python=python,
        modules=modules,
        cpython=True,
        without=WITHOUT,
        installed=place / "test_threading.py",
    )


SUITE = Suite("cpython", prepare)

"""The suites of packages that switch stacks, run event loops or are compiled.

Each gets a virtual environment per interpreter in a cache that clones share
($SONDE_SUITES, else $XDG_CACHE_HOME/sonde/suites), made once. Tests that the installed package
lacks are taken from its source distribution.
"""

from __future__ import annotations

import functools
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pythons
from suites.subjects import Prepared, Suite

PYTEST = ("pytest", "pytest-timeout")


@dataclass(frozen=True)
class Package:
    name: str
    requires: Sequence[str] = ()
    tests: str = ""
    """The folder with the tests: of the source distribution, or of the installed package."""
    installed: bool = False
    """The tests are part of the installed package."""
    files: Sequence[str] = ("test_*.py",)
    driver: str = "pytest_cases.py"
    options: Sequence[str] = ()
    without: Sequence[str] = ()


PACKAGES = [
    Package("greenlet", ("objgraph", "psutil"), "greenlet/tests", installed=True),
    Package(
        "gevent",
        ("dnspython", "psutil", "objgraph"),
        "gevent/tests",
        installed=True,
        files=("test__*.py",),
        driver="unittest_cases.py",
    ),
    Package("uvloop", ("aiohttp", "psutil", "pyOpenSSL"), "tests"),
    Package(
        "trio",
        ("trustme", "astor", "async_generator", "pyOpenSSL"),
        "trio",
        installed=True,
        files=("_tests/test_*.py", "_core/_tests/test_*.py"),
        options=("-p", "trio._tests.pytest_plugin"),
        without=("*test_exports*",),
    ),
    Package(
        "anyio",
        ("trio", "trustme", "hypothesis", "psutil", "blockbuster", "pytest-mock", "exceptiongroup"),
        "tests",
    ),
    Package(
        "cffi",
        ("setuptools", "pycparser"),
        "testing/cffi0",
        files=("test_function.py", "test_ffi_backend.py", "test_parsing.py", "test_ownlib.py"),
    ),
    Package("pyzmq", ("tornado", "pytest-asyncio", "cython"), "tests"),
    Package(
        "numpy",
        ("hypothesis",),
        "numpy",
        installed=True,
        files=(
            "_core/tests/test_multithreading.py",
            "_core/tests/test_errstate.py",
            "_core/tests/test_mem_policy.py",
            "_core/tests/test_ufunc.py",
            "random/tests/test_generator_mt19937_regressions.py",
            "random/tests/test_direct.py",
            "linalg/tests/test_linalg.py",
            "fft/tests/test_pocketfft.py",
        ),
    ),
    # Compiled by Cython, and by mypyc.
    Package("frozenlist", (), "tests"),
    Package("charset-normalizer", (), "tests"),
]


def install(package: Package, python: str, home: Path) -> None:
    pythons.run([python, "-m", "venv", home])
    pip = home / "bin" / "pip"
    options = ["-q", "--prefer-binary", "--only-binary", package.name]
    pythons.run([pip, "install", *options, package.name, *PYTEST, *package.requires])
    if package.installed:
        return
    installed = pythons.run([pip, "show", package.name])
    version = next(w.split()[1] for w in installed.splitlines() if w.startswith("Version:"))
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        # Only the package itself as source: what it needs to describe itself comes built.
        options = ["-q", "--no-deps", "--no-binary", package.name, "-d", scratch]
        pythons.run([pip, "download", *options, f"{package.name}=={version}"])
        [archive] = Path(scratch).glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(Path(scratch) / "source", filter="data")
        [tree] = (Path(scratch) / "source").iterdir()
        # Without the package's own folder, which would be imported instead of the installed one.
        (home / "source").mkdir()
        for name in (package.tests.split("/")[0], "pyproject.toml", "pytest.ini", "conftest.py"):
            if (tree / name).exists():
                shutil.move(tree / name, home / "source" / name)


def prepare(package: Package, version: str, python: str) -> Prepared:
    home = pythons.cache_folder("suites") / f"{package.name}-{version}"
    with pythons.alone(home.parent):
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            install(package, python, home)
            (home / "ready").touch()
    base = (
        home / "lib" / f"python{version}" / "site-packages"
        if package.installed
        else home / "source"
    )
    tests = base / package.tests
    files = [found for pattern in package.files for found in sorted(tests.glob(pattern))]
    if not files:
        raise pythons.Unavailable(f"no tests in {tests}")
    inner = home / "bin" / "python"
    if package.driver == "unittest_cases.py":
        names = [".".join(file.relative_to(base).with_suffix("").parts) for file in files]
        return Prepared(
            str(inner), names, package.driver, without=package.without, installed=home / "ready"
        )
    # One process for a whole folder: most of these files take less time than pytest's start.
    folders: dict[str, list[str]] = {}
    for file in files:
        place = file.relative_to(base)
        folders.setdefault(str(place.parent), []).append(str(place))
    return Prepared(
        str(inner),
        list(folders),
        package.driver,
        folder=base,
        options=package.options,
        files=folders,
        without=package.without,
        installed=home / "ready",
    )


SUITES = [Suite(package.name, functools.partial(prepare, package)) for package in PACKAGES]

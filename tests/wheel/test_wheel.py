"""The wheel as users have it: installed from a file, on releases that did not build it.

`make wheel-test` builds it, makes the root file systems (scripts/roots.py) and runs these tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import pythons
import roots
from wheel.rooted import Rooted, can_enter

ROOT = Path(__file__).parents[2]
NAME = os.environ.get("SONDE_WHEEL", "")
pytestmark = [
    pytest.mark.skipif(not NAME, reason="no wheel was built; run `make wheel-test`"),
    pytest.mark.timeout(600),
]
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "any")
# glibc of the release, and whether its Python is new enough for sonde.
OLD = ("buster", "bullseye")
NEW = ("bookworm", "trixie", "sid")

APP = """
import time

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

busy(1.0)
print("done")
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    return Path(NAME).resolve()


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def libraries(unpacked: Path) -> list[Path]:
    return sorted((unpacked / "sonde" / "agents").glob("*.so"))


def undefined(library: Path) -> Iterator[tuple[str, bool, bool]]:
    """Symbols that it needs: name, whether it does without, whether a version is asked for."""
    with open(library, "rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym")
        versions = elf.get_section_by_name(".gnu.version")
        for number, symbol in enumerate(symbols.iter_symbols()):
            if symbol.entry.st_shndx == "SHN_UNDEF" and symbol.name:
                weak = symbol.entry.st_info.bind == "STB_WEAK"
                versioned = isinstance(versions.get_symbol(number).entry.ndx, int)
                yield symbol.name, weak, versioned


def test_it_has_an_agent_for_every_target(unpacked: Path) -> None:
    declared = [
        name
        for file in (ROOT / "native").glob("*/meson.build")
        for name in re.findall(r"shared_module\('([\w-]+)'", file.read_text())
    ]
    # The name of what is built for each version ends in it.
    expected = {
        f"lib{name}{version}.so"
        for name in declared
        for version in (pythons.VERSIONS if name.endswith("-") else ("",))
    }
    assert {"libsonde-hotspot.so", "libsonde-cpython-3.15.so"} < expected
    assert {library.name for library in libraries(unpacked)} == expected
    assert (unpacked / "sonde" / "web" / "page.html").stat().st_size > 100_000


def test_it_is_for_every_python_and_old_c_libraries(wheel: Path, unpacked: Path) -> None:
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    (info,) = unpacked.glob("sonde-*.dist-info")
    tags = [line for line in (info / "WHEEL").read_text().splitlines() if line.startswith("Tag:")]
    assert "Tag: py3-none-manylinux_2_17_x86_64" in tags
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "manylinux_2_17_x86_64" in done.stdout
    for library in libraries(unpacked):
        # A symbol without a version is one that the old C library lacks: auditwheel does not look.
        lacking = [
            name
            for name, weak, versioned in undefined(library)
            if not (weak or versioned or name.startswith(("Py", "_Py")))
        ]
        assert not lacking, library.name


def test_agents_bring_no_other_library_into_a_target(unpacked: Path) -> None:
    for library in libraries(unpacked):
        if library.name.startswith(("libsonde-cpython-", "libsonde-hotspot")):
            with open(library, "rb") as file:
                dynamic = ELFFile(file).get_section_by_name(".dynamic")
                needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
            assert needed == ["libc.so.6"], library.name


def test_its_version_is_the_project_s(wheel: Path, unpacked: Path) -> None:
    import tomllib

    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert wheel.name.split("-")[1] == version
    (info,) = unpacked.glob("sonde-*.dist-info")
    assert f"\nVersion: {version}\n" in (info / "METADATA").read_text()
    assert wheel.with_name(f"sonde-{version}.tar.gz").exists()


def test_the_sdist_builds_with_this_machine_s_compiler(wheel: Path, tmp_path: Path) -> None:
    (sdist,) = wheel.parent.glob("sonde-*.tar.gz")
    newest = pythons.VERSIONS[-1]
    interpreter = pythons.find(newest)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
         f"-Csetup-args=-Dpythons={interpreter}", "-w", tmp_path, sdist],
        check=True,
        # The build tools are those beside the interpreter.
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    (built,) = tmp_path.glob("sonde-*.whl")
    with zipfile.ZipFile(built) as archive:
        names = set(archive.namelist())
    assert {f"sonde/agents/libsonde-cpython-{newest}.so", "sonde/web/page.html"} <= names
    assert "sonde/agents/libsonde-preload.so" in names
    assert {"sonde/agents/sonde-api.jar", "sonde/include/sonde.h"} <= names


LOADER = """
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
int main(int count, char **names)
{
    /* As an interpreter of an old release has them: from libraries beside the C library. */
    void *volatile used[] = {pthread_create, pthread_join, sem_wait, dlsym};
    printf("%s %d\\n", gnu_get_libc_version(), used[count % 4] != NULL);
    if (dlopen(names[count - 1], RTLD_NOW | RTLD_GLOBAL))
        return 0;
    puts(dlerror());
    return 1;
}
"""


@pytest.fixture(scope="module")
def loaders(unpacked: Path) -> Path:
    """By library a program that loads it, with what it needs of an interpreter as names of data."""
    import ziglang

    zig = Path(ziglang.__file__).parent / "zig"
    for library in libraries(unpacked):
        names = {name for name, weak, versioned in undefined(library) if not (weak or versioned)}
        source = unpacked / f"{library.stem}.c"
        source.write_text(LOADER + "".join(f"char {name}[4096];\n" for name in sorted(names)))
        subprocess.run(
            [zig, "cc", "-target", "x86_64-linux-gnu.2.17", "-O1", "-w", "-rdynamic", source,
             "-o", unpacked / library.stem, "-ldl"],
            capture_output=True, check=True,
        )  # fmt: skip
    return unpacked


def root(suite: str) -> Path:
    if not can_enter():
        pytest.skip("file systems cannot be mounted here")
    found = roots.found().get(suite)
    if found is None:
        pytest.skip(f"there is no root file system of {suite} (scripts/roots.py says why)")
    return found


@pytest.mark.parametrize("suite", [*OLD, *NEW])
def test_every_library_loads(loaders: Path, tmp_path: Path, suite: str) -> None:
    rooted = Rooted.new(root(suite), tmp_path / "root", loaders)
    for library in libraries(loaders):
        done = rooted.run(f"/given/{library.stem}", f"/given/sonde/agents/{library.name}")
        assert done.returncode == 0, f"{library.name}: {done.stdout}{done.stderr}"
        assert done.stdout.startswith("2.")


@pytest.fixture(scope="module")
def packages(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with all that it depends on, for each release's Python; no compiler makes any."""
    folder = tmp_path_factory.mktemp("packages")
    platforms = [f"--platform={name}" for name in PLATFORMS]
    for version in ("3.11", "3.13", "3.14"):
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:",
             f"--python-version={version}", "--implementation=cp", f"--abi=cp{version[0]}"
             f"{version[2:]}", "--abi=abi3", "--abi=none", *platforms, "-d", folder, wheel],
            check=True, capture_output=True,
        )  # fmt: skip
    (folder / "app.py").write_text(APP)
    # Whoever runs in there is another user.
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return folder


@pytest.mark.parametrize("user", [0, 1000], ids=["root", "unprivileged"])
@pytest.mark.parametrize("suite", NEW)
def test_installed_it_records_and_reports(
    packages: Path, tmp_path: Path, suite: str, user: int
) -> None:
    rooted = Rooted.new(root(suite), tmp_path / "root", packages, user)
    assert rooted.run("sh", "-c", "command -v cc gcc clang").returncode
    rooted.check("python3", "-m", "venv", "env")
    pip = ["env/bin/python", "-m", "pip", "install", "-q", "--no-index", "--find-links", "/given"]
    rooted.check(*pip, "sonde")
    assert rooted.check("env/bin/sonde", "run", "-o", "app.sonde", "/given/app.py") == "done\n"
    assert "busy" in rooted.check("env/bin/sonde", "report", "app.sonde")
    told = json.loads(rooted.check("env/bin/sonde", "report", "app.sonde", "quality", "--json"))
    # A second at a thousand samples per second, on a machine that others use, too.
    assert told["taken"] > 300, told
    assert told["undecodable"] < 0.02 * told["taken"], told
    rooted.check("env/bin/sonde", "view", "app.sonde", "--html", "app.html")
    assert "<script" in (rooted.home / "app.html").read_text()
    rooted.check("env/bin/sonde", "export", "app.sonde", "--to", "speedscope", "-o", "app.json")
    names = {frame["name"] for frame in _frames(rooted.home / "app.json")}
    assert any("busy" in name for name in names)


def _frames(path: Path) -> list[dict[str, str]]:
    frames: list[dict[str, str]] = json.loads(path.read_text())["shared"]["frames"]
    return frames

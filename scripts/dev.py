#!/usr/bin/env python3
"""Make the development environment in .venv: dependencies, the source tree on its path, `sonde`.

scripts/dev.py [EXTRA...]: extras of pyproject.toml to install besides `dev`.

Not an editable install: its import hook would rebuild and slow the start of every recorder, and
that start is something sonde measures and promises. A plain path file costs nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLDEST = (3, 11)

LAUNCHER = """#!{python}
import sys
from {module} import {function}
sys.exit({function}())
"""


def base_python() -> str:
    """The real interpreter behind `python3`: a pyenv shim would tie .venv to its moods."""
    if sys.version_info < OLDEST:
        sys.exit(f"sonde needs Python {OLDEST[0]}.{OLDEST[1]} or newer to be developed")
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def ensure_venv_module(python: str) -> None:
    """Debian packs ensurepip apart from Python."""
    question = [python, "-c", "import ensurepip, venv"]
    if subprocess.run(question, capture_output=True, check=False).returncode == 0:
        return
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    if not shutil.which("apt-get"):
        sys.exit(f"{python} cannot make a virtual environment: install {package}")
    sudo = ["sudo"] if os.geteuid() != 0 and shutil.which("sudo") else []
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*sudo, "apt-get", "-q", "update"], check=True, env=environment)
    subprocess.run([*sudo, "apt-get", "-qy", "install", package], check=True, env=environment)


def register(inside: Path, project: dict[str, Any]) -> None:
    """Put the source tree on the path, with as much metadata as sonde and pytest look for, and
    its commands beside the interpreter."""
    where = [str(inside), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    told = subprocess.run(where, check=True, capture_output=True, text=True).stdout
    site_packages = Path(told.strip())
    (site_packages / "sonde.pth").write_text(f"{ROOT / 'src'}\n")
    for old in site_packages.glob("sonde-*.dist-info"):
        shutil.rmtree(old)
    info = site_packages / f"sonde-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: sonde\nVersion: {project['version']}\n"
    )
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points)
    for name, entry in project["scripts"].items():
        module, function = entry.split(":")
        script = VENV / "bin" / name
        script.write_text(LAUNCHER.format(python=inside, module=module, function=function))
        script.chmod(0o755)


def main() -> None:
    extras = sys.argv[1:]
    python = base_python()
    ensure_venv_module(python)
    inside = VENV / "bin" / "python"

    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in ("dev", *extras):
        wanted += project["optional-dependencies"][extra]
    # Most modules of what comes are never imported: those that are get compiled then.
    pip = [str(inside), "-m", "pip", "install", "-qq", "--no-compile"]
    # Extras may come to an environment that others are at work in: what is there is left alone.
    new = not (inside.exists() and (VENV / "bin" / "pip").exists())
    if new:
        subprocess.run([python, "-m", "venv", str(VENV)], check=True)
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
    subprocess.run([*pip, *wanted], check=True)
    if new or not extras:
        register(inside, project)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The commands of docs/tutorial and what they print.

    scripts/tutorials.py    run them all, and write what they print into the pages

A block of a tutorial is one command after `$`, and its output. Where the output ends with `...`,
the page shows its first paragraphs only, as many as before.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    ROOT / "docs" / "tutorial" / f"{name}.md"
    for name in (
        "first-profile",
        "find-a-lock-convoy",
        "find-a-memory-leak",
        "find-what-blocks-an-event-loop",
        "compare-before-and-after",
    )
)
SONDE = ROOT / ".venv" / "bin" / "sonde"
BLOCK = re.compile(r"^```\n\$ (sonde [^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CUT = "...\n"
TIMEOUT_S = 120


@dataclass(frozen=True)
class Step:
    """A command of a tutorial, and what the page shows of its output."""

    command: str
    output: str


def steps(page: Path) -> list[Step]:
    return [Step(*match.groups()) for match in BLOCK.finditer(page.read_text())]


def prepared(folder: Path) -> Path:
    """A folder with the examples, as in a clone."""
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


def run(command: str, folder: Path) -> str:
    """What the terminal shows; a command that fails is an error."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [SONDE, *shlex.split(command)[1:]],
        cwd=folder,
        env=kept | {"COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command}: {done.stdout}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def shown(output: str, before: str) -> str:
    """As much of the output as the page showed before."""
    if not before.endswith(CUT):
        return output
    paragraphs = before.removesuffix(CUT).rstrip("\n").split("\n\n")
    return "\n\n".join(output.split("\n\n")[: len(paragraphs)]).rstrip("\n") + "\n" + CUT


def main() -> None:
    for page in PAGES:
        with tempfile.TemporaryDirectory() as name:
            folder = prepared(Path(name))

            def fresh(match: re.Match[str], folder: Path = folder) -> str:
                print(f"$ {match[1]}", file=sys.stderr)
                return f"```\n$ {match[1]}\n{shown(run(match[1], folder), match[2])}```"

            page.write_text(BLOCK.sub(fresh, page.read_text()))
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Records a small program with three things wrong, and its repaired twin, and shows what was found:
in the terminal first, and then on the page.

The program is examples/checkout.py: a hot spot, a lock that threads queue for, and a thread that
keeps the others from the GIL.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SONDE = ROOT / ".venv" / "bin" / "sonde"
PROGRAM = Path("examples") / "checkout.py"
RECORDING = Path("build") / "demo.sonde"
REPAIRED = Path("build") / "demo-repaired.sonde"
PAGE = Path("build") / "demo.html"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def sonde(*words: str | Path) -> None:
    command = [str(word) for word in words]
    print(f"$ {shlex.join(['sonde', *command])}", flush=True)
    code = subprocess.run([SONDE, *command], check=False).returncode
    if code:
        raise SystemExit(code)


def record(out: Path, *program: str | Path) -> None:
    sonde("run", "--force", "--what", "cpu,waits,locks", "-o", out, *program)


def interactive() -> bool:
    """Whether somebody is there to look at a browser, and can end the server again."""
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(display) and sys.stdin.isatty() and sys.stdout.isatty()


def main() -> None:
    os.chdir(ROOT)
    RECORDING.parent.mkdir(exist_ok=True)
    say("1. Run a program under sonde: a shop's checkout, slower than it should be")
    record(RECORDING, PROGRAM)
    say("2. The summary: what ran, the findings, and how accurate they are")
    sonde("report", RECORDING)
    say("3. The contention: which lock, and which function held it")
    sonde("report", RECORDING, "locks", "--by", "kind,lock,owner_function", "--top", "4")
    say("4. The same work after the repair")
    record(REPAIRED, PROGRAM, "--repaired")
    say("5. Both in the web UI: everything above, and what the repair changed")
    sonde("view", RECORDING, REPAIRED, "--html", PAGE, "--with-source")
    print(f"Open {PAGE.resolve().as_uri()} in a browser, or mail it: it needs nothing else.")
    say("What to try next")
    for command, answers in (
        (f"sonde view {RECORDING}", "one recording in the web UI"),
        (f"sonde report {RECORDING} tree --wall", "on-CPU and off-CPU time in one tree"),
        ("sonde run YOUR_SCRIPT.py", "your own program"),
        ("sonde doctor", "what sonde can record on this machine"),
    ):
        print(f"  {command:<42}  {answers}")
    print(f"sonde is in {SONDE.parent}.")
    if interactive():
        say("The web UI opens in your browser; press Ctrl-C to stop")
        # Ctrl-C is meant for the server, which the terminal tells as well.
        signal.signal(signal.SIGINT, lambda *_: None)
        sonde("view", RECORDING, REPAIRED)


if __name__ == "__main__":
    main()

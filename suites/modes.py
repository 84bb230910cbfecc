"""The ways a module is run: plain, under `sonde run`, or attached to again and again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLAIN = "plain"
MODES = ("cpu,locks", "cpu,waits,locks", "calls", "attached")

SONDE = str(Path(sys.executable).with_name("sonde"))

# Long enough to sample, short enough that a module of seconds sees several attaches.
ATTACHED_S = "0.5"
DETACHED_S = 0.3
ATTACH_PATIENCE_S = 60


def command(mode: str, words: list[str], recording: Path) -> list[str]:
    """The command line that runs `words` in a mode."""
    if mode == PLAIN or is_attached(mode):
        return words
    return [SONDE, "run", "-o", str(recording), "--what", mode, "--", *words]


def is_attached(mode: str) -> bool:
    """`attached` records the default; `attached:cpu,waits,locks` records what it names."""
    return mode.partition(":")[0] == "attached"


def environment(scratch: Path) -> dict[str, str]:
    """Ours without what makes the target's Python another one."""
    unwanted = ("PYTHON", "PYTEST", "COV_", "SONDE_", "LD_PRELOAD", "MAKE", "MFLAGS", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return kept | {"TMPDIR": str(scratch), "LC_ALL": "C.UTF-8"}


@contextmanager
def attaching(mode: str, pid: int, recording: Path) -> Iterator[list[int]]:
    """Attaches and detaches while the block runs. Yields the exit codes of the attaches."""
    codes: list[int] = []
    if not is_attached(mode):
        yield codes
        return
    over = threading.Event()
    what = mode.partition(":")[2]
    options = ["--what", what] if what else []

    def repeat() -> None:
        while not over.wait(DETACHED_S):
            try:
                done = subprocess.run(
                    [SONDE, "attach", str(pid), "--for", ATTACHED_S, "-o", recording, *options],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=ATTACH_PATIENCE_S,
                    check=False,
                )
                codes.append(done.returncode)
            except subprocess.TimeoutExpired:
                codes.append(-1)
            recording.unlink(missing_ok=True)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield codes
    finally:
        over.set()
        thread.join()

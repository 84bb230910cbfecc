"""The ways a module is run: plain, under `sonde run`, or attached to again and again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PLAIN = "plain"
MODES = ("cpu,locks", "cpu,waits,locks", "calls", "attached")

SONDE = str(Path(sys.executable).with_name("sonde"))

# Long enough to sample, short enough that a module of seconds sees several attaches.
ATTACHED_S = "0.5"
DETACHED_S = 0.3
ATTACH_TIMEOUT_S = 60
POLL_S = 0.02


@dataclass
class Recordings:
    """Whether sonde recorded what it was asked to: a module without sonde proves nothing."""

    made: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """What sonde printed when it did not record, and how often."""

    def note_run(self, mode: str, recording: Path) -> None:
        """After a run that ended by itself."""
        if mode == PLAIN or is_attached(mode):
            return
        if recording.exists() and recording.stat().st_size:
            self.made += 1
        else:
            self.failures["sonde run wrote no recording"] += 1

    def note_attach(self, process: subprocess.Popen[bytes], code: int, text: str) -> None:
        """After an attach; one that failed because its target had ended does not count."""
        if code == 0:
            self.made += 1
        elif process.poll() is None:
            lines = text.replace(str(process.pid), "PID").strip().splitlines()
            self.failures[lines[-1] if lines else f"sonde attach: exit code {code}"] += 1


def command(mode: str, words: list[str], recording: Path) -> list[str]:
    """The command line that runs `words` in a mode."""
    if mode == PLAIN or is_attached(mode):
        return words
    return [SONDE, "run", "--force", "-o", str(recording), "--what", mode, "--", *words]


def is_attached(mode: str) -> bool:
    """`attached` records the default; `attached:cpu,waits,locks` records what it names."""
    return mode.partition(":")[0] == "attached"


def environment(scratch: Path) -> dict[str, str]:
    """Ours without what makes the target's Python another one."""
    unwanted = ("PYTHON", "PYTEST", "COV_", "SONDE_", "LD_PRELOAD", "MAKE", "MFLAGS", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return kept | {"TMPDIR": str(scratch), "LC_ALL": "C.UTF-8"}


def has_agent(pid: int) -> bool:
    try:
        return "libsonde" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


@contextmanager
def attaching(
    mode: str, process: subprocess.Popen[bytes], folder: Path, recordings: Recordings
) -> Iterator[None]:
    """In mode `attached`, attaches and detaches while the block runs.

    Creates the file `gate` in the folder once the process has the agent, or an attach is over.
    """
    if not is_attached(mode):
        yield
        return
    over = threading.Event()
    recording = folder / "attached.sonde"
    words = [SONDE, "attach", str(process.pid), "--for", ATTACHED_S, "-o", str(recording)]
    what = mode.partition(":")[2]
    words += ["--what", what] if what else []

    def attach() -> None:
        end = time.monotonic() + ATTACH_TIMEOUT_S
        with tempfile.TemporaryFile("w+") as output:
            with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=output) as sonde:
                while sonde.poll() is None and time.monotonic() < end:
                    if has_agent(process.pid):
                        (folder / "gate").touch()
                    time.sleep(POLL_S)
                if sonde.poll() is None:
                    sonde.kill()
                    print(f"no end within {ATTACH_TIMEOUT_S} s", file=output)
            output.seek(0)
            recordings.note_attach(process, sonde.returncode, output.read())
        (folder / "gate").touch()
        recording.unlink(missing_ok=True)

    def repeat() -> None:
        attach()
        while not over.wait(DETACHED_S):
            attach()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

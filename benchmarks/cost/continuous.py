"""A session left on: memory of recorder and target over time, files rotated, what was lost.

The program is the tests' own that never stays the same: generated functions and threads come and
go, and a lock is fought for.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from cost.opening import sonde
from cost.recorder import memory_mb
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

PROGRAM = Path(__file__).resolve().parents[2] / "tests" / "targets" / "changing.py"
LOOKS = 10
MAX_MB = 50.0


def report(section: Section, env: Environment, seconds: float, scratch: Path) -> None:
    """At 5 kHz, five times the usual rate, in some 40 parts however long it lasts."""
    folder = scratch / "continuous"
    folder.mkdir()
    target = subprocess.Popen(
        [env.python, str(PROGRAM), str(seconds + 60)], stdout=subprocess.PIPE, text=True
    )
    assert target.stdout is not None
    pid = int(target.stdout.readline())
    attached = subprocess.Popen(
        [
            *(sonde(), "attach", str(pid), "-o", str(folder / "x.sonde"), "--rate", "5000"),
            *("--mode", "continuous", "--rotate", "500KB", "--rotate", f"{seconds / 40:g}s"),
        ],
        stderr=subprocess.DEVNULL,
    )
    rows: list[list[str]] = []
    recorders: list[float] = []
    try:
        began = time.monotonic()
        for look in range(LOOKS + 1):
            # The first look is after the start, when both have what they need.
            until = began + 3 + (seconds - 3) * look / LOOKS
            time.sleep(max(until - time.monotonic(), 0))
            say(f"continuous: {time.monotonic() - began:.0f} of {seconds:.0f} s")
            took = [memory_mb(of)["VmRSS"] for of in (_recorder(attached.pid), pid)]
            recorders.append(took[0])
            files = sorted(folder.glob("x.*.sonde"))
            size = sum(file.stat().st_size for file in files)
            rows.append(
                [
                    f"{time.monotonic() - began:.0f}",
                    *(f"{mb:.1f}" for mb in took),
                    f"{len(files)}",
                    f"{size / 1e6:.1f}",
                ]
            )
        attached.send_signal(signal.SIGINT)
        attached.wait(60)
    finally:
        for process in (attached, target):
            if process.poll() is None:
                process.kill()
            process.wait()
    section.table(
        f"A session of {seconds:.0f} s at 5 kHz, CPython {env.version}",
        ["after s", "recorder MB", "target MB", "parts", "MB written"],
        rows,
    )
    section.say(_joined(folder))
    most = max(recorders)
    section.goals([verdict("recorder, at its largest", most, MAX_MB, "MB", f"{most:.1f} MB")])


def _recorder(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[-1])


def _joined(folder: Path) -> str:
    """What the parts say together."""
    code = (
        "import sys; from sonde.recording.reader import read; r = read(sys.argv[1])\n"
        "q = r.quality\n"
        "print(f\"The {r.target['parts']} parts joined: {len(r.samples):,} samples in "
        "{len(set(r.functions.name)):,} functions and {len(r.threads):,} threads, "
        "{q['events_lost']:,} events lost, {q.get('gap_ns', 0) / 1e6:.0f} ms missing.\")"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    ).stdout.strip()

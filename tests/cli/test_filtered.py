"""`sonde run` where a filter refuses what it would rather use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launching import SONDE, TIMEOUT_S, clean_environment
from sonde.recording.reader import read

DENIED = Path(__file__).parents[1] / "denied.py"
BUSY = "import time\nwhile time.thread_time() < 0.1: sum(range(1000))\nraise SystemExit(7)"


def test_the_end_of_a_target_is_seen_without_pidfds(tmp_path: Path) -> None:
    path = tmp_path / "a.sonde"
    target = [sys.executable, "-c", BUSY]
    done = subprocess.run(
        [sys.executable, DENIED, "pidfd_open", "--", *SONDE, "run", "-o", path, "--", *target],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 7
    assert done.stderr.startswith("sonde: recorded ")
    recording = read(path)
    assert recording.warnings == []
    assert recording.target["exit"] == "exit code 7"
    assert len(recording.samples)

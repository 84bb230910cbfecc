"""What the recorder itself costs: its start, its memory, its processor time.

recorder.py PROGRAM RATE SECONDS     (one session in a process of its own, prints JSON)
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cost.opening import cost_of, sonde
from harness.neighbours import children
from harness.packages import SOURCE, Environment
from harness.progress import say
from publish.markdown import Section, verdict

START_GOAL_S = 0.2
MEMORY_GOAL_MB = 50.0
STARTS = 7


def schedstat_ns(pid: int) -> int:
    """Processor time of a process with one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def memory_mb(pid: int) -> dict[str, float]:
    text = Path(f"/proc/{pid}/status").read_text()
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key: int(lines[key].split()[0]) / 1024 for key in ("VmHWM", "VmRSS")}


def session(program: str, rate: int, seconds: float) -> dict[str, Any]:
    """In this process: a session around the program, and the recorder watched from outside."""
    from workloads import programs

    sys.path.insert(0, str(SOURCE))
    from sonde.record.session import Session

    work = programs.prepare(program)
    with tempfile.TemporaryDirectory() as scratch:
        recording = Session(os.path.join(scratch, "x.sonde"), rate=rate)
        began = time.perf_counter()
        recording.start()
        start = time.perf_counter() - began
        (recorder,) = children()
        _run(work, 1.0)
        cpu, then = schedstat_ns(recorder), time.perf_counter()
        _run(work, seconds)
        used = (schedstat_ns(recorder) - cpu) / 1e9 / (time.perf_counter() - then)
        memory = memory_mb(recorder)
        recording.stop()
    return {"start": start, "cpu": used, **memory}


def _run(work: Any, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        work()


def report(section: Section, env: Environment, seconds: float) -> None:
    rows = []
    starts: list[float] = []
    largest = 0.0
    for program, rate in (("richards", 1000), ("django_template", 1000), ("richards", 10_000)):
        if not env.runs(program):
            continue
        say(f"recorder: {program}, {rate} Hz")
        found = _apart(env, program, rate, seconds)
        starts.append(found["start"])
        largest = max(largest, found["VmHWM"])
        rows.append(
            [
                program,
                f"{rate}",
                f"{100 * found['cpu']:.1f} %",
                f"{found['VmRSS']:.0f}",
                f"{found['VmHWM']:.0f}",
            ]
        )
    head = ["program", "Hz", "of one processor", "MB", "peak MB"]
    section.table(f"The recorder beside a program, {seconds:.0f} s", head, rows)
    say("recorder: start-up")
    starts += [_apart(env, "deep", 1000, 0.0)["start"] for _ in range(STARTS - len(starts))]
    start = statistics.median(starts)
    bare = [cost_of([env.python, "-c", "pass"]).seconds for _ in range(STARTS)]
    with tempfile.TemporaryDirectory() as scratch:
        output = os.path.join(scratch, "x.sonde")
        command = [sonde(), "run", "--force", "-o", output, "--", env.python, "-c", "pass"]
        run = [cost_of(command).seconds for _ in range(STARTS)]
    added = statistics.median(run) - statistics.median(bare)
    section.table(
        f"Start-up, median of {STARTS}",
        ["what", "seconds"],
        [
            ["`sonde.record(...)` until the program goes on", f"{start:.3f}"],
            ["`sonde run -- python -c pass`, start to end", f"{statistics.median(run):.3f}"],
            ["`python -c pass`", f"{statistics.median(bare):.3f}"],
        ],
    )
    section.goals(
        [
            verdict("recorder, start", start, START_GOAL_S, "s", f"{start:.3f} s"),
            verdict("recorder, peak", largest, MEMORY_GOAL_MB, "MB", f"{largest:.0f} MB"),
            f"a command takes {added:.2f} s longer from start to end with `sonde run`",
        ]
    )


def _apart(env: Environment, program: str, rate: int, seconds: float) -> dict[str, Any]:
    command = [sys.executable, __file__, program, str(rate), str(seconds)]
    done = subprocess.run(
        command, env=env.variables(), check=True, stdout=subprocess.PIPE, text=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    print(json.dumps(session(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))

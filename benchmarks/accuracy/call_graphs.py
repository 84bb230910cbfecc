"""Call graphs: all calls of a program, counted one by one, and what windows and timers find.

An edge is a caller, the line of the call, and the callee by its plain name. What C code calls
counts for who called that, because an exhaustive count sees it so.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from accuracy import trees
from harness import kept
from harness.packages import Environment
from harness.progress import say
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.row_values import BUILT_IN
from sonde.views.calls.calls import calls as counted_calls
from sonde.views.selecting.selection import Selection

BENCHMARKS = Path(__file__).resolve().parents[1]
STEADY = BENCHMARKS / "workloads" / "steady.py"
COUNTER = BENCHMARKS.parent / "tests" / "truth" / "programs" / "count_calls.py"
TICKS = 100

_counting = threading.Lock()
"""A program is counted once, whoever asks for it."""


def compared(
    env: Environment, name: str, seconds: float, scratch: Path, **calls: int
) -> dict[str, Any]:
    """How much a recording of so many seconds has in common with an exhaustive count of a round.

    `overlap`, `coverage` and `correlation` of windows, `early` the overlap of its first third,
    `timer` that of the innermost calls that its ticks found, `windows` how many it had.
    """
    answer: dict[str, Any] = kept.result(
        "calls", env.version, name,
        measure=lambda: _compared(env, name, seconds, scratch, calls),
        seconds=seconds, **calls,
    )  # fmt: skip
    return answer


def compared_at_once(
    env: Environment, jobs: Sequence[tuple[str, dict[str, int]]], seconds: float, scratch: Path
) -> list[Future[dict[str, Any]]]:
    """The same of several programs and parameters: nothing is timed, so every processor works."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [pool.submit(compared, env, name, seconds, scratch, **calls) for name, calls in jobs]


def _compared(
    env: Environment, name: str, seconds: float, scratch: Path, calls: dict[str, int]
) -> dict[str, Any]:
    say(f"calls: overlap, {name}, Python {env.version} {calls or ''}")
    true = _all(env, name, scratch)
    options = [f"--{key}={value}" for key, value in calls.items()]
    recording = scratch / f"calls-{env.version}-{name}{''.join(options)}.sonde"
    sonde = [str(Path(sys.executable).parent / "sonde"), "run", "--force", "-o", str(recording)]
    command = [*sonde, "--what", "calls", "--ticks", str(TICKS), *options, "--"]
    command += [env.python, str(STEADY), name, str(seconds)]
    done = subprocess.run(command, env=env.variables(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no word"])[-1])
    recorded = read(recording)
    found, windows = _counted(recorded, Selection())
    early, _ = _counted(recorded, Selection(end_ns=int(seconds / 3 * 1e9)))
    ticked = _ticked(recording)
    recording.unlink()
    return {
        "overlap": trees.overlap(true, found),
        "early": trees.overlap(true, early),
        "coverage": trees.coverage(found, true),
        "correlation": trees.correlation(true, found),
        "timer": trees.overlap(true, ticked),
        "windows": windows,
    }


def _edge(caller: str, line: int, callee: str) -> str:
    return f"{caller}:{line};{callee.rpartition('.')[2]}"


def _all(env: Environment, name: str, scratch: Path) -> trees.Tree:
    out = scratch / f"calls-{env.version}-{name}.json"
    with _counting:
        if not out.exists():
            _count(env, name, out)
    counted: trees.Tree = {}
    for (caller, file), line, (callee, _), number in json.loads(out.read_text()):
        if not file.endswith(("/steady.py", f"/{COUNTER.name}")):
            edge = _edge(caller, line, callee)
            counted[edge] = counted.get(edge, 0) + number
    return trees.shares(counted)


def _count(env: Environment, name: str, out: Path) -> None:
    command = [env.python, str(COUNTER), str(out), str(STEADY), name, "0.0001"]
    variables = {**env.variables(), "COUNT_SINCE": "rounds"}
    variables["PYTHONPATH"] = os.pathsep.join(
        [str(BENCHMARKS), *filter(None, [variables.get("PYTHONPATH")])]
    )
    subprocess.run(command, env=variables, check=True, capture_output=True)


def _counted(recording: Recording, selection: Selection) -> tuple[trees.Tree, int]:
    counted: trees.Tree = {}
    view = counted_calls(recording, selection, by="context")
    for call in view.edges:
        *callers, callee = call.chain or [{}]
        inside = list(itertools.dropwhile(lambda frame: frame["name"] != "rounds", callers))
        while inside and inside[-1]["file"] == BUILT_IN:
            inside.pop()
        if len(inside) > 1:
            edge = _edge(inside[-1]["name"], inside[-1]["line"], callee["name"])
            counted[edge] = counted.get(edge, 0) + call.weight
    return trees.shares(counted), view.windows


def _ticked(path: Path) -> trees.Tree:
    """The innermost call of every sample, as profilers of time tell it."""
    seen: trees.Tree = {}
    for stack, weight in trees.stacks_of(path):
        inside = list(itertools.dropwhile(lambda frame: frame.name != "rounds", stack))
        *callers, callee = inside or stack
        while callers and callers[-1].file == BUILT_IN:
            callers.pop()
        if inside and len(callers) > 1:
            edge = _edge(callers[-1].name, callers[-1].line, callee.name)
            seen[edge] = seen.get(edge, 0.0) + weight
    return trees.shares(seen)

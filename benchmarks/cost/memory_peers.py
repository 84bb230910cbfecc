"""Profilers of memory that only profile programs which they start, beside sonde started alike.

Their libraries are in the process from its start, so there is no slice without them. Whole
processes with and without them take turns, and the CPU time of the same rounds of work is compared.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from harness.packages import ROOT, Environment
from harness.progress import say
from publish.markdown import Section

PROGRAMS = ("richards", "deltablue", "deepcopy", "json", "json_loads", "nbody")
PACKAGES = ("scalene", "filprofiler")
PLAIN = "plain"
SECONDS = 1.0
LIMIT_S = 300
WORKLOAD = Path(__file__).parents[1] / "workloads" / "whole_program.py"


def commands(env: Environment, folder: Path) -> dict[str, list[str]]:
    """What to start a script with, by profiler."""
    found = {PLAIN: [env.python]}
    sonde = [str(Path(sys.executable).parent / "sonde"), "run", "--what", "objects", "--force"]
    found["sonde"] = [*sonde, "-o", str(folder / "objects.sonde"), "--", env.python]
    if env.has("scalene"):
        scalene = [env.python, "-m", "scalene", "run", "-o", str(folder / "scalene.json")]
        found["scalene"] = scalene
    if env.has("filprofiler"):
        fil = [env.python, "-m", "filprofiler", "--no-browser", "-o", str(folder / "fil"), "run"]
        found["Fil"] = fil
    return found


def cpu_ns(env: Environment, profiler: str, command: list[str], work: list[str]) -> int | None:
    out = Path(work[-1])
    out.unlink(missing_ok=True)
    # scalene keeps what is behind three dashes for the program.
    script = [str(WORKLOAD), *(["---"] if profiler == "scalene" else []), *work]
    try:
        subprocess.run(
            [*command, *script], env=env.variables(), cwd=ROOT, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return int(out.read_text())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def report(section: Section, env: Environment, names: list[str], turns: int, scratch: Path) -> None:
    known = commands(env, scratch)
    rows = []
    for name in names:
        say(f"memory peers: {name}, Python {env.version}")
        out = str(scratch / "cpu")
        once = cpu_ns(env, PLAIN, known[PLAIN], [name, "3", out])
        if once is None:
            say("  left out: the program fails")
            continue
        rounds = str(max(3, round(3 * SECONDS * 1e9 / once)))
        taken: dict[str, list[int]] = {profiler: [] for profiler in known}
        for _ in range(turns):
            for profiler, command in known.items():
                if (spent := cpu_ns(env, profiler, command, [name, rounds, out])) is not None:
                    taken[profiler].append(spent)
        plain = statistics.median(taken[PLAIN])
        ratios = [[spent / plain for spent in taken[profiler]] for profiler in known]
        rows.append([name, *map(_factor, ratios)])
    head = ["program", *(f"{profiler}, CPU" for profiler in known)]
    section.table(f"Whole programs, Python {env.version}, {turns} runs of each", head, rows)


def _factor(ratios: list[float]) -> str:
    """The median and the range."""
    if not ratios:
        return "–"
    return f"{statistics.median(ratios):.2f}× [{min(ratios):.2f}, {max(ratios):.2f}]"

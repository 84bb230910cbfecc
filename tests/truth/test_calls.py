"""Counted calls against all of them: the same program, once in windows and once exhaustively."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launching import TIMEOUT_S, TARGETS, Interpreter, clean_environment, must_run
from matrix import OLDEST_AND_NEWEST, soak
from sonde.recording.tables import Recording
from sonde.views.calls.calls import calls
from truth.stacks import BUILT_IN, PROGRAMS
from truth.test_pyperformance import ARGUMENTS, benchmarks

__all__ = ["benchmarks"]

# More of each window than usual: what a few seconds show is to be sure.
WINDOWS = ("--what", "calls", "--ticks", "500", "--stride", "3", "--samples", "32")
BOUNDS = {"richards": 0.95, "raytrace": 0.95, "deltablue": 0.90}
CPU_SECONDS = {"richards": "2.0", "raytrace": "2.4", "deltablue": "6.0"}

Keep = Callable[[str], Path]
Edge = tuple[str, int, str]
Shares = dict[Edge, float]


def shares(counted: dict[Edge, float]) -> Shares:
    total = sum(counted.values())
    return {edge: n / total for edge, n in counted.items()}


def overlap(one: Shares, other: Shares) -> float:
    return sum(min(share, other.get(edge, 0.0)) for edge, share in one.items())


def all_calls(python: Interpreter, own: set[str], out: Path, *command: str | Path) -> Shares:
    """What the calls of a program's own files are, counted one by one."""
    subprocess.run(
        [python.path, PROGRAMS / "count_calls.py", out, *command],
        env=clean_environment(),
        check=True,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    counted: dict[Edge, float] = {}
    for (caller, file), line, (callee, _), n in json.loads(out.read_text()):
        if file in own and caller != "<module>":
            edge = (caller, line, callee.rpartition(".")[2])
            counted[edge] = counted.get(edge, 0) + n
    return shares(counted)


def counted_calls(recording: Recording, own: set[str]) -> Shares:
    """The same from windows. What C code calls counts for who called that."""
    counted: dict[Edge, float] = {}
    for call in calls(recording, by="context").edges:
        assert call.chain is not None
        *callers, callee = call.chain
        while callers and callers[-1]["file"] == BUILT_IN:
            callers.pop()
        if callers and callers[-1]["file"] in own and callers[-1]["name"] != "<module>":
            name = callee["name"].rpartition(".")[2]
            edge = (callers[-1]["name"], callers[-1]["line"], name)
            counted[edge] = counted.get(edge, 0) + call.weight
    return shares(counted)


def told(one: Shares, other: Shares) -> str:
    worst = sorted(one.keys() | other.keys(), key=lambda e: -abs(one.get(e, 0) - other.get(e, 0)))
    return "\n".join(f"{e}: {one.get(e, 0):.4f} {other.get(e, 0):.4f}" for e in worst[:12])


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("name", ["richards", "raytrace", soak("deltablue")])
def test_edges_of_real_programs(
    python: Interpreter, benchmarks: Path, keep: Keep, name: str
) -> None:
    program = benchmarks / f"bm_{name}" / "run_benchmark.py"
    driver = PROGRAMS / "pyperformance_.py"
    path, own = keep(f"calls-{name}"), {str(program)}
    command = [program, CPU_SECONDS[name], *ARGUMENTS[name]]
    run = must_run(path, [python.path, driver, *command], *WINDOWS)
    quality = run.recording.quality
    assert quality["windows"] > 300
    # Where the machine is taken by others a ring may fill up, which says nothing of the shares.
    assert quality["calls_lost"] <= 0.1 * quality["calls_counted"]
    sampled = counted_calls(run.recording, own)
    command[1] = "0"
    true = all_calls(python, own, path.with_suffix(".json"), driver, *command)
    assert overlap(true, sampled) >= BOUNDS[name], told(true, sampled)


def test_call_instructions_stay_specialised(python: Interpreter, keep: Keep) -> None:
    """While frames are evaluated by somebody the interpreter cannot use what it has specialised,
    and gives it up after 53 times: without care 23 calls after each window are slow for that."""
    command = [python.path, TARGETS / "specialised.py", "1.5"]
    run = must_run(keep(f"specialised-{python.version}"), command, *WINDOWS[:4])
    windows = run.recording.quality["windows"]
    assert windows > 300
    # Those that show all calls, one in 64, begin anew.
    assert "by_call" in run.told
    for site, told in run.told.items():
        assert told["plain"] < windows, site
        assert told["specialised"] > 20 * windows, site


@pytest.fixture(scope="session")
def windows(python: Interpreter, keep: Keep) -> tuple[Recording, Shares, Shares]:
    program = PROGRAMS / "windows.py"
    path = keep(f"windows-{python.version}")
    # One window in 64 shows calls of C functions: in half the time some edges were in none.
    run = must_run(path, [python.path, program, "4"], *WINDOWS)
    own = {str(program)}
    true = all_calls(python, own, path.with_suffix(".json"), program, "0")
    return run.recording, true, counted_calls(run.recording, own)


def test_calls_of_every_kind_have_their_share(windows: tuple[Recording, Shares, Shares]) -> None:
    _, true, sampled = windows
    # Dense and sparse parts alternate here, the worst there is for windows: 0.81 to 0.93 were seen.
    assert overlap(true, sampled) >= 0.75, told(true, sampled)
    # Nothing was counted that never happens, and nothing frequent missed.
    assert not sampled.keys() - true.keys(), told(true, sampled)
    missed = {edge for edge, share in true.items() if share > 0.005} - sampled.keys()
    assert not missed, missed


def test_dense_calls_outweigh_sparse_ones(
    windows: tuple[Recording, Shares, Shares],
) -> None:
    recording, true, sampled = windows

    def ratio(of: Shares) -> float:
        by_callee: dict[str, float] = {}
        for (_, _, callee), share in of.items():
            by_callee[callee] = by_callee.get(callee, 0.0) + share
        return by_callee["tiny"] / by_callee["slow_one"]

    # By number alone they would not: a window in the sparse part holds as many calls as any.
    plain: dict[Edge, float] = {}
    for edge in calls(recording).edges:
        if edge.caller is not None:
            key = (edge.caller.name, edge.site_line, edge.callee.name)
            plain[key] = plain.get(key, 0) + edge.count
    assert ratio(shares(plain)) < 0.5 * ratio(sampled)


def test_what_a_site_calls(windows: tuple[Recording, Shares, Shares]) -> None:
    recording, *_ = windows
    sites = calls(recording).advice.sites
    (area,) = [
        site
        for site in sites
        if {target.callee.name for target in site.targets} >= {"Square.area", "Disk.area"}
    ]
    square = next(target for target in area.targets if target.callee.name == "Square.area")
    others = {"Shape.double", "Shape.area"}
    assert area.caller.name == "areas"
    assert square.share == pytest.approx(0.75, abs=0.15)
    assert area.shape == "dominated"
    assert not {target.callee.name for target in area.targets} & others
    assert square.size is not None
    assert 10 < square.size < 120


def test_weights_add_up(windows: tuple[Recording, Shares, Shares]) -> None:
    recording, *_ = windows
    for by in ("edge", "context"):
        found = calls(recording, by=by)
        assert sum(edge.weight for edge in found.edges) == pytest.approx(1)
        assert sum(edge.count for edge in found.edges) == found.count == len(recording.calls)

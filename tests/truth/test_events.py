"""Events of the kernel, against programs that know how many they cause, and where."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from launching import SONDE, Interpreter, Run, clean_environment, must_run, run_command, sonde

from truth.stacks import PROGRAMS

MOUNT = "mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null"
# Of the faults that a function causes itself.
ON_THE_RIGHT_FUNCTION = 0.98


def report(run: Run, *arguments: str) -> dict[str, Any]:
    done = sonde("report", run.path, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def faults(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("faults") / f"{python.version}.sonde"
    return must_run(
        path, [python.path, PROGRAMS / "faults.py"], "--what", "cpu,event:page-faults@1"
    )


def test_faults_are_of_the_function_that_touched_the_pages(faults: Run) -> None:
    told = faults.told["faults"]
    flat = report(faults, "flat", "--event", "page-faults")
    assert flat["unit"] == "page-faults"
    own, inside = Counter[str](), Counter[str]()
    for row in flat["rows"]:
        own[row["name"]] += row["self"]
        inside[row["name"]] += row["total"]
    true = {
        "few": told["few"] + told["elsewhere"],
        "many": told["many"],
        # The file object that reads is a C function below it.
        "by_the_kernel": told["by_the_kernel"],
    }
    for name, pages in true.items():
        seen = inside[name] if name == "by_the_kernel" else own[name]
        assert seen == pytest.approx(pages, rel=1 - ON_THE_RIGHT_FUNCTION), name
    assert flat["total"] == sum(own.values())


def test_each_thread_has_its_own(faults: Run) -> None:
    flat = report(faults, "flat", "--event", "page-faults", "--thread", "other")
    (few,) = [row for row in flat["rows"] if row["name"] == "few"]
    assert few["self"] == pytest.approx(faults.told["faults"]["elsewhere"], rel=0.02)


def test_what_was_told_is_what_the_kernel_counted(faults: Run) -> None:
    (event,) = report(faults, "events")["events"]
    assert (event["name"], event["period"], event["why_not"]) == ("page-faults", 1, None)
    lost = faults.recording.quality["events_lost"]
    # The agent's own pages are in the kernel's count, and not in what is told: those of its rings.
    assert event["count"] <= event["counted"]
    assert event["count"] + lost > event["counted"] - 400


def test_types_are_right_where_they_are_named(faults: Run) -> None:
    found = report(faults, "data", "--by", "function,memory,type", "--event", "page-faults")
    in_pools = Counter[str]()
    for row in found["rows"]:
        key = row["key"]
        if key["function"] and key["function"]["name"] in ("points", "points.<locals>.<listcomp>"):
            assert key["memory"] in ("pool", "large", "file", None), row
            if key["memory"] == "pool":
                in_pools[key["type"]] += row["count"]
        if key["function"] and key["function"]["name"] == "many":
            assert key["type"] is None, row  # no object lies there
    named = Counter({name: n for name, n in in_pools.items() if name is not None})
    # Nothing else is made there in any number.
    assert named["Point"] > 0.98 * sum(named.values()), in_pools
    assert named["Point"] > 0.3 * sum(in_pools.values()), in_pools
    assert found["total"] == sum(row["count"] for row in found["rows"])


def test_a_fault_lies_in_a_point_where_it_can(faults: Run) -> None:
    found = report(faults, "data", "--by", "type,offset", "--event", "page-faults")
    offsets = [row["key"]["offset"] for row in found["rows"] if row["key"]["type"] == "Point"]
    # A Point has 16 bytes of head and five slots; before it lie the collector's 16.
    assert offsets and all(-16 <= offset < 16 + 5 * 8 for offset in offsets)


def test_a_period_thins_them_out(python: Interpreter, tmp_path: Path) -> None:
    run = must_run(
        tmp_path / "x.sonde",
        [python.path, PROGRAMS / "faults.py"],
        "--what",
        "cpu,event:page-faults@50",
    )
    flat = report(run, "flat", "--event", "page-faults")
    (many,) = [row for row in flat["rows"] if row["name"] == "many"]
    assert many["samples"] == pytest.approx(run.told["faults"]["many"] / 50, abs=2)
    assert many["self"] == pytest.approx(run.told["faults"]["many"], abs=100)


@pytest.mark.skipif(os.getuid() != 0, reason="tracepoints and uprobes are root's")
def test_tracepoints_and_uprobes(python: Interpreter, tmp_path: Path) -> None:
    """Several at once, each with the calls that caused it."""
    target = tmp_path / "calls.py"
    target.write_text(
        "import os, zlib\n"
        "def asks():\n"
        "    for _ in range(200): os.getppid()\n"
        "def packs():\n"
        "    for _ in range(100): zlib.crc32(b'x' * 5000)\n"
        "asks(); packs()\n"
        "print(zlib.__file__ if hasattr(zlib, '__file__') else '')\n"
    )
    zlib = next(Path("/lib/x86_64-linux-gnu").glob("libz.so.1"), None)
    events = ["cpu", "event:syscalls:sys_enter_getppid"]
    if zlib is not None:
        events.append(f"event:uprobe:{zlib}:crc32")
    path = tmp_path / "x.sonde"
    command = [*SONDE, "run", "-o", path, "--what", ",".join(events), "--", python.path, target]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{MOUNT}; exec {shlex.join(map(str, command))}"],
        capture_output=True, text=True, env=clean_environment(), timeout=60, check=False,
    )  # fmt: skip
    if done.returncode and "tracefs" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    run = Run(done.returncode, done.stdout, done.stderr, path)
    found = {row["name"]: row["counts"] for row in report(run, "events")["rows"]}
    asked = sum(
        counts["syscalls:sys_enter_getppid"]
        for name, counts in found.items()
        if name in ("asks", "posix.getppid")
    )
    # One that comes with a tick of the clock is not heard.
    assert 195 <= asked <= 200
    tree = report(run, "tree", "--event", "syscalls:sys_enter_getppid", "--merge-lines")
    assert "asks" in {node["name"] for node in tree["nodes"]}
    if zlib is not None and python.minor < 14:  # Debian's later ones have a libz of their own
        packed = sum(counts[f"uprobe:{zlib}:crc32"] for counts in found.values())
        assert 95 <= packed <= 100


@pytest.mark.skipif(os.getuid() != 0, reason="uprobes are root's")
def test_an_event_that_the_agent_itself_causes(python: Interpreter, tmp_path: Path) -> None:
    """It asks for the thread's faults at each of them: the program gets on all the same."""
    libc = Path("/lib/x86_64-linux-gnu/libc.so.6")
    if not libc.exists() or python.minor > 13:
        pytest.skip("not the libc of this interpreter")
    run = must_run(
        tmp_path / "x.sonde",
        [python.path, "-c", "print('done')"],
        "--what",
        f"event:page-faults,event:uprobe:{libc}:getrusage",
    )
    assert run.out == "done\n"
    told = {event["name"]: event for event in report(run, "events")["events"]}
    asked = told[f"uprobe:{libc}:getrusage"]
    assert asked["counted"] > 0
    assert asked["count"] == 0


def test_ratios(faults: Run) -> None:
    found = report(faults, "events", "--ratio", "page-faults/cpu")
    assert list(found["ratios"]) == ["page-faults/cpu"]
    total = sum(event["count"] for event in found["events"])
    assert found["ratios"]["page-faults/cpu"] == pytest.approx(total / (found["cpu_ns"] / 1e9))


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    cycles = run_command(tmp_path / "x.sonde", ["true"], "--what", "event:cycles")
    if cycles.code == 0:
        pytest.skip("this machine has hardware counters")
    assert cycles.code == 1
    assert "no hardware counters" in cycles.err
    assert cycles.err.count("\n") == 1


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("event:nonsense", "invalid event 'nonsense'"),
        ("event:page-faults@0", "a whole number of at least 1"),
        ("event:page-faults@x", "a whole number of at least 1"),
        ("event:", "invalid event ''"),
        ("event:raw_syscalls:sys_enter", "triggers it again"),
        ("event:uprobe:/no/such/file:main", "no file /no/such/file"),
        ("event:uprobe:/bin/true:no_such_symbol", "exports no symbol"),
    ],
)
def test_what_cannot_be_recorded_is_said(tmp_path: Path, what: str, says: str) -> None:
    run = run_command(tmp_path / "x.sonde", [shutil.which("true") or "true"], "--what", what)
    assert run.code == 2, run.err
    assert says in run.err
    assert "Traceback" not in run.err


def test_a_recording_without_events_says_how_to_get_some(tmp_path: Path) -> None:
    run = must_run(tmp_path / "x.sonde", ["python3", "-c", "sum(range(10**6))"])
    for arguments in (["flat", "--event", "page-faults"], ["data"]):
        done = sonde("report", run.path, *arguments)
        assert done.returncode == 2
        assert "--what +event:page-faults" in done.stderr


LOOP = """
import mmap, time
def touch(count):
    area = mmap.mmap(-1, count * mmap.PAGESIZE)
    for page in range(count):
        area[page * mmap.PAGESIZE] = 1
def deep(levels):
    return deep(levels - 1) if levels else touch(50)
touched, end = 0, time.monotonic() + 2.2
while time.monotonic() < end:
    deep(20)
    touched += 50
    time.sleep(0.02)
print(touched)
"""


@pytest.mark.parametrize("stacks", ["whole", "chained"])
def test_parts_of_a_session_know_them_too(python: Interpreter, tmp_path: Path, stacks: str) -> None:
    """A part that begins later has the kinds of events, and who calls whom, as the first has."""
    if python.minor != 12:
        pytest.skip("this is the recorder's work, whichever the interpreter")
    run = must_run(
        tmp_path / "x.sonde", [python.path, "-c", LOOP], "--what", "cpu,event:page-faults",
        "--mode", "continuous", "--rotate", "1s", "--stacks", stacks,
    )  # fmt: skip
    parts = sorted(tmp_path.glob("x.*.sonde"))
    assert len(parts) >= 2
    for path in (parts[-1], tmp_path):
        tree = report(Run(0, "", "", path), "tree", "--event", "page-faults", "--merge-lines")[
            "nodes"
        ]
        (touch,) = [node for node in tree if node["name"] == "touch"]
        above, depth = touch["parent"], 0
        while above is not None:
            depth += tree[above]["name"] == "deep"
            above = tree[above]["parent"]
        assert depth == 21, path
    lost = sum(Run(0, "", "", path).recording.quality["events_lost"] for path in parts)
    assert touch["self"] + lost >= 0.95 * int(run.out)
    assert touch["self"] <= int(run.out)

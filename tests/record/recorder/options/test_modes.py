"""Where a session keeps what it records: up to a limit, in parts, or the last seconds in memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attaching import Target, attach, has_agent, recorder_of, until
from environments import Environment, environment_of
from launching import (
    TARGETS,
    Interpreter,
    Run,
    clean_environment,
    must_run,
    run_command,
    sampled,
    sonde,
)
from matrix import OLDEST_AND_NEWEST
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.locks.locks import locks
from sonde.views.quality import quality
from sonde.views.spans import spans
from truth import test_spans as known_spans
from truth.locks.books import Books
from truth.locks.conftest import doze
from truth.locks.test_waits import OWNERS
from truth.stacks import PROGRAMS

__all__ = ["doze"]

PYTHONS = OLDEST_AND_NEWEST
LOCKS = TARGETS.parent / "truth" / "locks" / "programs"
SCENARIOS = {"owners": OWNERS, "gil": ("burner", "two")}
CHANGING = TARGETS / "changing.py"
SOURCE = Path(__file__).resolve().parents[4] / "src"


def waits_by(recording: Recording, *by: str) -> dict[tuple[str, ...], int]:
    """Nanoseconds of waiting by two aspects, or by one."""
    found: dict[tuple[str, ...], int] = {}
    for row in locks(recording, by=by).to_json()["rows"]:
        first = row["key"][by[0]]
        for child in row["children"] if len(by) > 1 else [row]:
            key = (first, child["key"][by[1]]) if len(by) > 1 else (first,)
            found[key] = found.get(key, 0) + child["wait_ns"]
    return found


def lock_wait_ns(recording: Recording) -> int:
    return waits_by(recording, "kind", "waiter_thread").get(("lock", "waiter"), 0)


def parts_of(folder: Path, stem: str = "x") -> list[Path]:
    return sorted(folder.glob(f"{stem}.*.sonde"))


# ---- normal


def test_a_limit_stops_the_recording_and_not_the_target(
    any_python: Interpreter, tmp_path: Path
) -> None:
    path = tmp_path / "x.sonde"
    run = run_command(path, [any_python.path, CHANGING, "1.2"], "--limit", "10KB")
    assert run.code == 0
    assert run.told["made"] > 0
    assert "until the file reached its limit of 10 KB" in run.err
    recording = run.recording
    assert recording.warnings == []
    assert recording.target["note"] == "size limit reached"
    assert 10_000 <= path.stat().st_size < 30_000
    assert recording.target["duration_ns"] < 1_200_000_000


# ---- continuous


def test_parts_open_alone_and_join_exactly(python: Interpreter, tmp_path: Path) -> None:
    """Code, threads and waits go across many seams: nothing is lost, nothing counted twice."""
    run = must_run(
        tmp_path / "x.sonde",
        [python.path, CHANGING, "1.5"],
        *("--mode", "continuous", "--rotate", "150ms", "--rate", "5000"),
    )
    files = parts_of(tmp_path)
    assert len(files) >= 6, run.err
    parts, joined = [read(file) for file in files], read(tmp_path)
    assert [warning for part in parts for warning in part.warnings] == []
    assert joined.warnings == []
    assert joined.quality["lost"] == joined.quality["events_lost"] == 0
    assert joined.quality["undecodable"] <= 0.005 * joined.quality["taken"]
    assert joined.quality["taken"] == sampled(joined)
    assert len(joined.samples) == sum(len(part.samples) for part in parts)
    assert int(joined.samples.weight.sum()) == sum(int(p.samples.weight.sum()) for p in parts)
    assert not joined.quality.get("gap_ns")
    assert "[code that was never described]" not in joined.functions.name
    # A thread is one row, however many parts it lives in; each dies once.
    assert joined.threads.name.count("MainThread") == joined.threads.name.count("waiter") == 1
    main = joined.threads.name.index("MainThread")
    total = int(joined.samples.weight[joined.samples.thread == main].sum())
    assert joined.threads.cpu_ns[main] == pytest.approx(total, rel=0.05)
    # The program's own books, which count its wait for the GIL after the lock with the latter.
    waits = waits_by(joined, "kind", "waiter_thread")
    lock, gil = waits["lock", "waiter"], waits.get(("gil", "waiter"), 0)
    assert lock * 0.99 <= run.told["waited_ns"] <= (lock + gil) * 1.05 + 5_000_000
    # A later part has forgotten the code that came and went before it.
    made = [{n for n in part.functions.name if n.startswith("made_")} for part in parts]
    first = next(names for names in made if names)
    assert not first & made[-2]
    assert run.err.startswith("sonde: recorded")
    assert "x.*.sonde" in run.err


@pytest.mark.parametrize("program", ["owners", "gil"])
def test_waits_and_owners_are_right_across_seams(
    python: Interpreter, tmp_path: Path, doze: Path, program: str
) -> None:
    run = must_run(
        tmp_path / "x.sonde",
        [python.path, LOCKS / f"{program}.py", *([doze] if program == "gil" else [])],
        *("--what", "cpu,locks", "--mode", "continuous", "--rotate", "150ms"),
    )
    assert len(parts_of(tmp_path)) > 3
    books = Books(read(tmp_path), run.told)
    wrong = {name: found for name in SCENARIOS[program] if (found := books.compare(name))}
    assert not wrong


def test_spans_are_whole_across_seams(any_python: Interpreter, tmp_path: Path) -> None:
    """The truth of spans, told in many parts."""
    run = must_run(
        tmp_path / "x.sonde",
        [environment_of(any_python).path, PROGRAMS / "spans.py"],
        *("--rate", "2000", "--what", "cpu,waits,locks", "--mode", "continuous"),
        *("--rotate", "130ms"),
        env=clean_environment(PYTHONPATH=str(SOURCE)),
    )
    files = parts_of(tmp_path)
    assert len(files) > 5
    recorded = Run(run.code, run.out, run.err, tmp_path)
    # Where a recorder got no processor until rings were full, beginnings of spans are lost.
    assert recorded.recording.quality["events_lost"] == 0
    rows = {row.name: row for row in spans(recorded.recording).rows}
    known_spans.test_cpu_time_is_that_of_the_span(recorded, rows)
    known_spans.test_other_tasks_are_in_no_span_of_this_one(recorded)
    known_spans.test_nesting_counts_and_wall_time(recorded, rows)
    known_spans.test_waits_and_locks_are_asked_for_by_span(recorded, rows)
    known_spans.test_marks_and_pauses_of_the_program(recorded)
    # A span that is open at a seam stands in both parts, and is one.
    alone = [read(file).spans for file in files]
    assert sum(map(len, alone)) > len(recorded.recording.spans)
    assert all((table.start_ns >= 0).all() for table in alone)


def rss_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status[status.index("VmRSS:") :].split()[1])


def test_memory_stays_where_it_is(any_python: Interpreter, tmp_path: Path) -> None:
    """Weeks made short: thousands of functions and hundreds of threads, over dozens of parts."""
    with Target(any_python, CHANGING, "60") as target:
        options = ("--mode", "continuous", "--rotate", "150ms", "--rate", "10000")
        process = attach(target.pid, tmp_path / "x.sonde", *options)
        until(lambda: len(parts_of(tmp_path)) >= 12, "parts", process)
        recorder = recorder_of(process)
        before = rss_kib(recorder), rss_kib(target.pid)
        until(lambda: len(parts_of(tmp_path)) >= 40, "more parts", process)
        after = rss_kib(recorder), rss_kib(target.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    recording = read(tmp_path)
    assert recording.target["parts"] >= 40
    assert recording.quality["events_lost"] == 0
    assert not recording.quality.get("gap_ns")
    # All of it at once would be far more: what is there now is what the program has now.
    assert len(set(recording.functions.name)) > 300
    assert after[0] - before[0] < 1500, (before, after)
    assert after[1] - before[1] < 3000, (before, after)


def test_the_oldest_parts_go(any_python: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "x.0007.sonde").write_bytes(b"of an earlier session")
    (tmp_path / "x.12.sonde").write_bytes(b"somebody else's")
    must_run(
        tmp_path / "x.sonde",
        [any_python.path, CHANGING, "1.5"],
        *("--mode", "continuous", "--rotate", "20KiB,150ms", "--keep", "3"),
    )
    names = [path.name for path in parts_of(tmp_path)]
    assert len(names) == 4
    assert "x.12.sonde" in names
    numbers = sorted(int(name.split(".")[1]) for name in names if name != "x.12.sonde")
    assert numbers == list(range(numbers[0], numbers[0] + 3))
    assert numbers[0] > 8
    kept = [tmp_path / f"x.{number:04d}.sonde" for number in numbers]
    done = sonde("report", *kept, "quality", "--json")
    assert done.returncode == 0, done.stderr


def test_hangup_rotates_and_a_file_moved_away_is_whole(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, CHANGING, "60") as target:
        path = tmp_path / "x.sonde"
        process = attach(target.pid, path, "--mode", "continuous")
        first = tmp_path / "x.0001.sonde"
        until(lambda: first.exists() and first.stat().st_size > 4096, "samples", process)
        (tmp_path / "elsewhere").mkdir()
        first.rename(tmp_path / "elsewhere" / first.name)
        time.sleep(0.2)
        process.send_signal(signal.SIGHUP)
        second = tmp_path / "x.0002.sonde"
        until(lambda: second.exists() and second.stat().st_size > 4096, "the next part", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert not first.exists()
    moved = read(tmp_path / "elsewhere" / first.name)
    assert moved.warnings == []
    assert len(moved.samples)
    done = sonde("report", tmp_path / "elsewhere" / first.name, second, "quality", "--json")
    assert done.returncode == 0, done.stderr


# ---- wrap


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_the_last_seconds_before_a_crash(python: Interpreter, tmp_path: Path, number: int) -> None:
    path = tmp_path / "x.sonde"
    command = [python.path, CHANGING, "1.2", str(int(number))]
    run = run_command(path, command, "--mode", "wrap", "--seconds", "0.4")
    assert run.code == -number
    recording = run.recording
    assert recording.warnings == []
    assert recording.target["exit"] == f"killed by {signal.Signals(number).name}"
    assert recording.target["dumped"] == "target exited"
    assert 400_000_000 <= recording.target["duration_ns"] < 1_000_000_000
    last = int(recording.samples.time.max())
    assert last > recording.target["duration_ns"] - 400_000_000
    assert "made_0" not in recording.functions.name
    assert any(name.startswith("made_") for name in recording.functions.name)


def test_a_long_wait_makes_a_dump_and_an_idle_worker_none(
    python: Interpreter, tmp_path: Path
) -> None:
    run = must_run(
        tmp_path / "x.sonde",
        [python.path, CHANGING, "1.6"],
        *("--mode", "wrap", "--seconds", "5", "--dump-every", "0.4", "--keep", "2"),
        *("--dump-when", "lock wait > 20ms"),
    )
    dumps = parts_of(tmp_path)
    assert len(dumps) == 2, run.err
    for dump in dumps:
        recording = read(dump)
        assert recording.warnings == []
        assert recording.target["dumped"].startswith("lock wait of ")
        assert lock_wait_ns(recording) > 20_000_000
    other = must_run(
        tmp_path / "y.sonde",
        [python.path, "-c", "import queue\ntry: queue.Queue().get(timeout=1)\nexcept: pass"],
        *("--mode", "wrap", "--dump-when", "lock wait > 20ms"),
    )
    assert parts_of(tmp_path, "y") == [], other.err


def test_a_deadlock_is_seen_although_it_began_long_before(
    any_python: Interpreter, tmp_path: Path
) -> None:
    """Its beginning has left the memory; whoever waits is said again in every part."""
    run = run_command(
        tmp_path / "x.sonde",
        [any_python.path, LOCKS / "deadlock.py", "2.5"],
        *("--mode", "wrap", "--seconds", "0.4", "--what", "cpu,locks"),
    )
    recording = run.recording
    assert recording.target["duration_ns"] < 1_200_000_000
    assert waits_by(recording, "kind").get(("lock",), 0) > recording.target["duration_ns"]


ITSELF = """
import sys, time, sonde
from sonde.errors import SondeError
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))
with sonde.record(sys.argv[1] + "/x.sonde", mode="wrap", seconds=10) as session:
    busy(0.2)
    print(session.dump(sys.argv[1] + "/asked.sonde"))
    busy(0.2)
with sonde.record(sys.argv[1] + "/c.sonde", mode="continuous") as session:
    busy(0.2)
    session.rotate()
    busy(0.2)
    try:
        session.dump()
    except SondeError as error:
        print(error)
try:
    sonde.record(mode="normal", rotate="1s")
except SondeError as error:
    print(error)
"""


def test_a_program_keeps_its_own_last_seconds(environment: Environment, tmp_path: Path) -> None:
    done = subprocess.run(
        [environment.path, "-c", ITSELF, tmp_path],
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    asked, nothing, wrong = done.stdout.splitlines()
    assert asked == str(tmp_path / "asked.sonde")
    assert nothing.startswith("this recording is written to ")
    assert wrong == "--rotate needs --mode continuous, not normal"
    first, last = read(asked), read(tmp_path / "x.sonde")
    assert first.warnings == last.warnings == []
    assert len(first.samples) < len(last.samples)
    assert len(parts_of(tmp_path, "c")) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--mode", "ring"], "invalid mode 'ring'; valid modes: normal, continuous, wrap"),
        (["--limit", "many"], "invalid --limit 'many'; give a size such as 100MB"),
        (["--rotate", "1s"], "--rotate needs --mode continuous, not normal"),
        (["--mode", "wrap", "--limit", "1MB"], "--limit needs --mode normal, not wrap"),
        (
            ["--mode", "continuous", "--rotate", "1x"],
            "invalid --rotate '1x'; give a time such as 10m",
        ),
        (["--mode", "continuous", "--rotate", "1s,2s"], "at most one size and one time"),
        (["--mode", "continuous", "--keep", "0"], "invalid --keep '0'; give a number of files"),
        (["--mode", "wrap", "--dump-when", "lock"], "a condition such as 'lock wait > 200ms'"),
        (["--mode", "wrap", "--dump-when", "tea > 2s"], "invalid --dump-when condition 'tea'"),
        (["--mode", "wrap", "--dump-when", "gil wait > x"], "give a time such as"),
        (
            ["--mode", "wrap", "--seconds", "soon"],
            "invalid --seconds 'soon'; give a time in seconds",
        ),
        (
            ["--mode", "wrap", "--memory", "1KB"],
            "invalid --memory '1KB'; give a size of at least 1MiB",
        ),
    ],
)
def test_wrong_calls(tmp_path: Path, options: list[str], reason: str) -> None:
    done = sonde("run", "-o", tmp_path / "x.sonde", *options, "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert reason in done.stderr
    assert not list(tmp_path.iterdir())


# ---- what a session survives


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "sonde-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk small enough to fill")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("mode", [[], ["--mode", "continuous", "--rotate", "300ms"]])
def test_a_full_disk_is_waited_for(
    any_python: Interpreter, small_disk: Path, mode: list[str]
) -> None:
    """It goes on, counts what it could not write, and writes again when there is room."""
    filler = small_disk / "filler"
    with Target(any_python, CHANGING, "60") as target:
        process = attach(target.pid, small_disk / "x.sonde", *mode)
        until(lambda: list(small_disk.glob("x*.sonde")), "a file", process)
        time.sleep(0.4)
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(512))
            except OSError:
                pass
        time.sleep(1.5)
        size = sum(path.stat().st_size for path in small_disk.glob("x*.sonde"))
        filler.unlink()
        until(
            lambda: sum(p.stat().st_size for p in small_disk.glob("x*.sonde")) > size + 8192,
            "written again",
            process,
        )
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert target.alive
    assert process.returncode == 0, err
    assert "No space left on device" in err
    assert re.search(rf"writing to {small_disk}/x\S*\.sonde again", err)
    assert "could not be written" in err
    recording = read(small_disk)
    told = quality(recording)
    assert told.counters["disk_refused_ns"] > 500_000_000
    assert told.counters["unwritten_samples"] > 0
    assert told.counters["lost"] >= told.counters["unwritten_samples"]
    assert told.counters["taken"] == pytest.approx(len(recording.samples), abs=5)
    assert any("could not be written" in problem.title for problem in told.problems)
    assert (recording.samples.context >= 0).mean() > 0.99


def test_a_recorder_that_is_killed_is_replaced(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    path = keep("killed")
    with Target(python, CHANGING, "60") as target:
        process = attach(target.pid, path)
        until(lambda: path.exists() and path.stat().st_size > 8192, "samples", process)
        before = recorder_of(process)
        os.kill(before, signal.SIGKILL)

        def another() -> int:
            try:
                found = recorder_of(process)
            except AssertionError:
                return 0
            return found if found != before else 0

        until(another, "another recorder", process)
        size = path.stat().st_size
        until(lambda: path.stat().st_size > size + 8192, "more samples", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        until(lambda: not has_agent(target.pid), "the agent left")
        assert target.alive
    assert "another recorder continues" in err
    recording = read(path)
    assert recording.target["parts"] == 2
    assert recording.threads.name.count("MainThread") == 1
    told: dict[str, Any] = recording.quality
    assert told["gap_ns"] > 0
    times = recording.samples.time
    assert int(times.max()) > recording.target["duration_ns"] - 1_000_000_000


def taken(pid: int) -> int:
    """Samples that the recorder of a process has by now."""
    told = sonde("ctl", "--json", str(pid), "status")
    return int(json.loads(told.stdout)["quality"].get("taken", 0)) if told.stdout else 0


def test_the_last_seconds_outlive_their_recorder(
    any_python: Interpreter, keep: Callable[[str], Path]
) -> None:
    """They lie in memory that whoever started it has, too; the next one goes on with them."""
    path = keep("outlived")
    with Target(any_python, CHANGING, "60") as target:
        process = attach(target.pid, path, "--mode", "wrap", "--seconds", "20")
        recorder = until(lambda: has_agent(target.pid) and recorder_of(process), "begun", process)
        time.sleep(1)
        assert not path.exists()
        os.kill(recorder, signal.SIGKILL)
        until(path.exists, "the memory of the one that was killed", process)
        first = read(path)
        until(lambda: taken(target.pid) > 100, "samples of another recorder", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert f"{path} has the data recorded until then; another recorder continues" in err
    assert len(first.samples)
    last = read(path)
    assert last.target["session"] == first.target["session"]
    assert last.quality["gap_ns"] > 0
    assert set(first.samples.time.tolist()) <= set(last.samples.time.tolist())
    assert int(last.samples.time.max()) > first.target["duration_ns"] + last.quality["gap_ns"]

"""Recording of locks as users see it, and what it must survive: sessions and forks in a fight."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from environments import Environment
from launching import TARGETS, TESTS, Interpreter, Run, clean_environment, must_run, sonde
from matrix import NEWEST
from sonde.recording.reader import read

Keep = Callable[[str], Path]

PROGRAMS = TESTS / "truth" / "locks" / "programs"
SOURCE = TESTS.parent / "src"
CYCLES, FORKS = 150, 80
# The watchdog inside is sooner.
FIGHT_S = 130
ASPECTS = (
    "kind", "lock", "waiter_thread", "waiter_function", "waiter_chain", "owner_thread",
    "owner_function", "owner_chain",
)  # fmt: skip


# ---- sixteen threads fight


def fight(environment: Environment, kind: str, count: int, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [environment.path, "-W", "ignore", TARGETS / "lock_fights.py", kind, str(count), folder],
        env=clean_environment(PYTHONPATH=str(SOURCE), PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=FIGHT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Run(0, done.stdout, done.stderr, folder).told


def check_counts(told: dict[str, Any]) -> None:
    """Nobody was in where another was, nothing got lost on its way, nobody was left behind."""
    counted = told["counted"]
    assert told["locked"] == counted["locked"] > 0
    assert 0 < told["most_inside"] <= 2
    assert counted["got few"] == counted["put few"] > 0
    assert counted["got simple"] == counted["put simple"] > 0
    assert abs(counted["met 0"] - counted["met 1"]) <= 1
    assert abs(counted["turns 0"] - counted["turns 1"]) <= 1
    assert counted["nested"] > 0
    assert told["lock_events"] > 1000


@pytest.mark.versions(NEWEST)
def test_sessions_come_and_go_in_a_fight(environment: Environment, tmp_path: Path) -> None:
    told = fight(environment, "cycles", CYCLES, tmp_path)
    check_counts(told)
    # All slots were ours while a session ran; that they are as before is checked inside.
    assert all(hooked == slots > 4 for slots, hooked in told["hooked"]), told["hooked"]
    assert len(told["hooked"]) == 3


def test_a_fighting_process_forks(environment: Environment, tmp_path: Path) -> None:
    told = fight(environment, "forks", FORKS, tmp_path)
    check_counts(told)
    assert told["ends"] == {"0": FORKS}
    recording = read(tmp_path / "forks.sonde")
    assert len(recording.processes) == FORKS + 1
    waited_in = {int(recording.threads.process[row]) for row in recording.lock_events.thread}
    assert len(waited_in) > FORKS / 2  # most of the children had to wait for each other


# ---- as a user sees it


@pytest.fixture(scope="session")
def recorded(any_python: Interpreter, keep: Keep) -> Run:
    return must_run(keep("owners"), [any_python.path, PROGRAMS / "owners.py"])


def rows_of(rows: list[dict[str, Any]], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    for row in rows:
        yield depth, row
        yield from rows_of(row["children"], depth + 1)


def report(run: Run, *options: str) -> dict[str, Any]:
    done = sonde("report", run.path, "locks", "--json", *options)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_locks_are_recorded_unless_told_otherwise(recorded: Run) -> None:
    assert len(recorded.recording.lock_events) > 100
    assert report(recorded)["total_ns"] > 0


@pytest.mark.parametrize(
    "by",
    [None, *ASPECTS, "owner_function,waiter_function", "lock,kind", ",".join(ASPECTS[::-1])],
)
def test_rows_add_up_in_any_order(recorded: Run, by: str | None) -> None:
    told = report(recorded, *(() if by is None else ("--by", by)))
    wanted = (by or "kind,lock,owner_chain,waiter_chain").split(",")
    assert sum(row["wait_ns"] for row in told["rows"]) == told["total_ns"] > 0
    for depth, row in rows_of(told["rows"]):
        assert list(row["key"]) == [wanted[depth]]
        assert bool(row["children"]) == (depth + 1 < len(wanted))
        if row["children"]:
            assert sum(child["wait_ns"] for child in row["children"]) == row["wait_ns"]
        assert sum(count for _, count in row["histogram"]) == row["count"] > 0
        assert row["max_ns"] <= row["wait_ns"]
        uppers = [upper for upper, _ in row["histogram"]]
        assert uppers == sorted(set(uppers))
        assert row["max_ns"] <= uppers[-1]


def test_every_order_has_the_same_total(recorded: Run) -> None:
    totals = {
        report(recorded, "--by", ",".join(by))["total_ns"]
        for by in itertools.islice(itertools.permutations(ASPECTS, 2), 0, 56, 11)
    }
    assert len(totals) == 1


def test_without_locks_nothing_is_hooked(python: Interpreter, keep: Keep) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(TARGETS)!r}); import got_slots, json;"
        "names = {'sem_wait', 'sem_post', 'pthread_cond_timedwait'};"
        "slots = got_slots.slots(names);"
        "maps = [line.split() for line in open('/proc/self/maps')];"
        "ours = [f[0].split('-') for f in maps if len(f) > 5 and 'libsonde-cpython' in f[5]];"
        "inside = lambda v: any(int(a, 16) <= v < int(b, 16) for a, b in ours);"
        "print(json.dumps([len(slots), len(ours), sum(map(inside, slots.values()))]))"
    )
    for what, hooked in (("cpu", 0), ("locks", 3), ("cpu,locks", 3)):
        run = must_run(keep("hooked"), [python.path, "-c", script], "--what", what)
        assert json.loads(run.out) == [3, pytest.approx(5, abs=2), hooked]


def test_a_thread_alone_has_no_lock_events(python: Interpreter, keep: Keep) -> None:
    script = (
        "import threading; lock = threading.Lock()\nfor _ in range(100_000):\n    with lock: pass\n"
    )
    run = must_run(keep("alone"), [python.path, "-c", script], "--what", "cpu,locks")
    assert len(run.recording.lock_events) == 0

"""`sonde threads` and `sonde cpus`: what the machine does while it does it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from launching import SONDE, clean_environment, sonde
from sonde.record.system import cpu_times

# The kernel's idle time has been seen to go back by a tick, which a table takes for none.
IDLE_BACK_NS = 50_000_000
A_TIME = "give a time in seconds, or with a unit such as 200ms or 10m"
BUSY = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint(flush=True)\nwhile True: pass"  # noqa: E501


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_threads_of_a_running_process(busy: subprocess.Popen[str]) -> None:
    done = sonde("threads", str(busy.pid), "--every", "0.5", "--for", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    tables = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(tables) == 2
    first, second = tables[-1]["rows"]
    assert first["tid"] == busy.pid
    wall = sum(table["seconds"] for table in tables) * 1e9
    busy_rows = [table["rows"][0] for table in tables]
    # It wants the processor all the time: it has it, or stands in the queue, which the kernel
    # counts when the thread comes out of it.
    wanted = sum(row["cpu_ns"] + row["run_delay_ns"] for row in busy_rows)
    assert wanted == pytest.approx(wall, rel=0.3)
    assert second["cpu_ns"] == 0


def test_threads_as_text(busy: subprocess.Popen[str]) -> None:
    done = sonde("threads", "-p", str(busy.pid), "-d", "0.2")
    assert "queue" in done.stdout
    assert str(busy.pid) in done.stdout
    assert "1 idle" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_a_process_that_exits_ends_the_tables(busy: subprocess.Popen[str]) -> None:
    command = [*SONDE, "threads", str(busy.pid), "--every", "0.1", "--for", "60"]
    watching = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    )
    assert watching.stdout is not None
    watching.stdout.readline()
    busy.kill()  # nobody has heard of its end yet
    _, told = watching.communicate(timeout=50)
    assert (watching.returncode, told) == (0, f"sonde: process {busy.pid} has exited\n")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["threads", "4194300"], 1, "no process 4194300"),
        (["threads", "me"], 2, "invalid PID 'me'"),
        (["cpus", "--every", "0"], 2, "invalid --every '0'; give at least 0.01 seconds"),
        (["cpus", "--for", "x"], 2, "invalid --for 'x'; " + A_TIME),
        (["cpus", "-d", "0"], 2, "invalid --for '0'; give a time above 0, such as 10, 90s or 10m"),
        (["threads", "1", "-p", "1"], 2, "PID and --pid cannot be combined; give one of them"),
        (["threads"], 2, "no process given; give a PID"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, sentence: str) -> None:
    done = sonde(*arguments)
    assert (done.returncode, done.stderr) == (code, f"sonde: {sentence}\n")


def test_cpus() -> None:
    before = cpu_times.read()
    done = sonde("cpus", "--every", "0.3", "--for", "1.5", "--json")
    after = cpu_times.read()
    tables = [json.loads(line) for line in done.stdout.splitlines()]
    names = [row["cpu"] for row in tables[0]["rows"]]
    assert names == list(before)
    assert names[0] == "all"
    seconds = sum(table["seconds"] for table in tables)
    for place, name in enumerate(names[1:], 1):
        rows = [table["rows"][place] for table in tables]
        total = sum(row[key] for row in rows for key in row if key.endswith("_ns"))
        # The kernel tells late what was stolen, and then all at once: a small part of the sum of
        # some tables, and none of it is more than was counted around them.
        assert total >= 0.7 * seconds * 1e9
        assert total <= after[name].since(before[name]).total_ns + IDLE_BACK_NS


def test_cpus_as_text() -> None:
    done = sonde("cpus", "--duration", "200ms")
    assert "steal" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_without_the_metrics_nobody_is_accused(tmp_path: object) -> None:
    path = f"{tmp_path}/x.sonde"
    sonde("run", "-o", path, "--", sys.executable, "-c", "sum(range(10**6))")
    done = sonde("report", path, "flat", "--taken", "all")
    assert done.returncode == 2
    assert done.stderr == (
        f"sonde: {path} has no run-queue latency, throttling and steal time; "
        "record it with: sonde run --what +threads …\n"
    )
    done = sonde("report", path, "flat", "--taken", "gremlins")
    assert "invalid --taken 'gremlins'; valid values: queue, quota, steal, all" in done.stderr

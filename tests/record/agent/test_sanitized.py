"""The agents under AddressSanitizer and UBSan in real interpreters, and started over and over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from environments import Environment
from launching import TARGETS, clean_environment
from matrix import OLDEST_AND_NEWEST
from sanitizing import ROOT, built, reports, runtime, where
from sonde.recording.reader import read

# Sanitizers and twenty threads are slow on a machine that has other things to do.
TIMEOUT_S = 60

# The guard's faults are its own.
SANITIZER = "detect_leaks=0:handle_segv=0:handle_sigbus=0:halt_on_error=0"
# A report for each bad read, not for each place of one: those places are kept in a table of 25, and
# where it is full the process ends without a word.
EACH_READ = "suppress_equal_pcs=0"

# What reads memory that may be gone, by design and under the guard: looks at other threads, which
# are believed only if the thread stood still meanwhile, and what lies at the address that an event
# reports (find_body), which may be a block that was freed...
LOOKS = {"look_body", "list_body", "search_body", "find_body"}
# ...up to 3.13 the callable of a call that is just being taken apart (only 3.14 tells how much of
# the value stack still counts), and up to 3.12 the caller of a frame that was just pushed.
CALLEE, CALLER = "sonde_callee", "sonde_caller_is_set"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents")
    for name, library in built().items():
        (folder / name).symlink_to(library)
    return folder


def _run(
    environment: Environment, arguments: list[str], **more: str
) -> subprocess.CompletedProcess[str]:
    """The end of a program. One that hangs is ended with all its children, and started once more:
    a fork in a moment in which a thread is in the sanitizer's allocator leaves its lock taken."""
    for last in (False, True):
        process = subprocess.Popen(
            [environment.path, "-X", "faulthandler", *arguments],
            env=clean_environment(PYTHONPATH=str(ROOT / "src"), **more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if last or "fork" not in arguments:
                raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _is_by_design(report: str, minor: int) -> bool:
    reads = "READ of size" in report or "runtime error: load of" in report
    allowed = LOOKS | ({CALLEE} if minor < 14 else set()) | ({CALLER} if minor < 13 else set())
    return reads and bool(where(report) & allowed)


def _quality(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("sampler", ["perf", "reader", "cross-core"])
def test_agent_under_sanitizers(
    environment: Environment, agents: Path, tmp_path: Path, sampler: str
) -> None:
    path = tmp_path / "all.sonde"
    # One file per process: reports of two that were forked would run into each other.
    log = f"log_path={tmp_path / 'said'}"
    # Forks only where no report is expected: a fork beside a thread that reports hangs in the
    # sanitizer's own locks.
    forks = ["fork"] if sampler == "perf" else []
    # Samplers that look at other threads read such memory at many places, and while they are busy
    # with reports they take few samples.
    seconds, options = ("1.0", log) if sampler == "perf" else ("2.0", f"{EACH_READ}:{log}")
    done = _run(
        environment,
        [str(TARGETS / "everything.py"), str(agents), str(path), sampler, seconds, *forks],
        LD_PRELOAD=runtime(),
        # Freed memory is only told apart where each object is allocated for itself.
        ASAN_OPTIONS=f"{SANITIZER}:{options}",
        UBSAN_OPTIONS=f"print_stacktrace=1:{log}",
        PYTHONMALLOC="malloc",
    )
    minor = environment.python.minor
    said = [done.stderr, *(file.read_text() for file in tmp_path.glob("said.*"))]
    found = [report for text in said for report in reports(text)]
    bad = [report for report in found if not _is_by_design(report, minor)]
    assert not bad, "\n".join(bad)[:6000]
    assert done.returncode == 0, done.stderr[-3000:]
    quality = _quality(done)
    assert quality["taken"] > 100
    assert quality["undecodable"] * 20 < quality["taken"]
    assert quality["garbled_rings"] == 0
    names = set(read(path).functions.name)
    assert {"fib", "deep", "everything"} <= names


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_sampled_objects_under_sanitizers(
    environment: Environment, agents: Path, tmp_path: Path
) -> None:
    """With the interpreter's own allocator, without which no small object is sampled."""
    path = tmp_path / "all.sonde"
    log = f"log_path={tmp_path / 'said'}"
    done = _run(
        environment,
        [str(TARGETS / "everything.py"), str(agents), str(path), "perf", "1.0", "fork"],
        LD_PRELOAD=runtime(),
        ASAN_OPTIONS=f"{SANITIZER}:{log}",
        UBSAN_OPTIONS=f"print_stacktrace=1:{log}",
    )
    said = [done.stderr, *(file.read_text() for file in tmp_path.glob("said.*"))]
    found = [report for text in said for report in reports(text)]
    bad = [report for report in found if not _is_by_design(report, environment.python.minor)]
    assert not bad, "\n".join(bad)[:6000]
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(read(path).objects) > 100


def test_reports_are_found() -> None:
    """A read of freed memory and a wrong shift would not go unnoticed above."""
    freed = """==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x61
READ of size 8 at 0x619000227e90 thread T1
    #0 0x7fd1c45999d2 in walk ../native/cpython/walk/walk.c:57
    #1 0x7fd1c459f3b7 in {0} ../native/core/sampling/reader_thread.c:107

0x619000227e90 is located 16 bytes inside of 1104-byte region
freed by thread T3 here:
    #0 0x7fd1c45999d2 in {1} ../native/cpython/walk/walk.c:57
../native/x.c:1:1: runtime error: shift exponent 70 is too large
    #0 0x7fd1c45999d2 in look_body ../native/cpython/walk/walk.c:57
"""
    first, second = reports(freed.format("look_body", "free"))
    assert _is_by_design(first, 11)
    assert not _is_by_design(second, 11)
    first, _ = reports(freed.format("walk_body", "look_body"))
    assert not _is_by_design(first, 11)
    first, _ = reports(freed.format("sonde_callee", "free"))
    assert _is_by_design(first, 13)
    assert not _is_by_design(first, 14)
    first, _ = reports(freed.format("look_body", "free").replace("READ", "WRITE"))
    assert not _is_by_design(first, 11)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_starts_and_stops_under_load(environment: Environment) -> None:
    done = _run(environment, [str(TARGETS / "restarts.py"), "100"])
    assert done.returncode == 0, done.stderr[-3000:]
    assert _quality(done)["taken"] > 300

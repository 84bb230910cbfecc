"""Options of the interpreter that watch a program, too: `-X perf` and tracemalloc."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import pythons
from attaching import Target, attached
from launching import TARGETS, Interpreter
from programs.support import (
    APPS,
    MODES,
    WAITS,
    Keep,
    alone,
    check_quality,
    check_same,
    facts,
    seconds_in,
    share_in,
)
from sonde.recording.reader import read

PYTHONS = (pythons.VERSIONS[0], pythons.VERSIONS[1], pythons.VERSIONS[-1])
"""The oldest one, the oldest one with -X perf, and the newest one."""
OLDEST_WITH_PERF = 12


def without_fork_warning(found: dict[str, Any]) -> dict[str, Any]:
    """With `waits` the agent has a thread, of which CPython warns where a program forks."""
    lines = found["err"].splitlines()
    kept = [line for line in lines if not re.search("multi-threaded|os.fork", line)]
    return {**found, "err": "\n".join(kept)}


# ---- -X perf: each function has a trampoline of its own in machine code


class Map:
    """The names of trampolines, which the interpreter writes for perf."""

    def __init__(self, pid: int) -> None:
        self._path = Path(f"/tmp/perf-{pid}.map")

    def names(self) -> set[str]:
        """Those of the program, without addresses; the file is removed."""
        lines = self._path.read_text().splitlines()
        self._path.unlink()
        return {name for line in lines if "called.py" in (name := line.split(maxsplit=2)[2])}


@pytest.fixture
def python_with_perf(python: Interpreter) -> Interpreter:
    if python.minor < OLDEST_WITH_PERF:
        pytest.skip(f"CPython {python.version} has no -X perf")
    return python


CALLED = """
import os, sys, threading
def compute(n):
    total = 0
    for i in range(n):
        total += add(i)
    return total
def add(i):
    return i * i % 7
open("pid", "w").write(str(os.getpid()))
threads = [threading.Thread(target=compute, args=(800000,)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(compute(900000), sys.is_stack_trampoline_active())
"""


def test_a_program_with_trampolines(
    python_with_perf: Interpreter, keep: Keep, tmp_path: Path
) -> None:
    script = tmp_path / "called.py"
    script.write_text(CALLED)
    command = [python_with_perf.path, "-X", "perf", str(script)]
    plain = alone(command, tmp_path / "plain")
    names = Map(int((plain.folder / "pid").read_text())).names()
    assert len([name for name in names if "add" in name]) == 1
    assert plain.out.endswith("True\n"), plain.err
    for options in (MODES["default"], WAITS):
        program = alone(command, tmp_path / "under", options=options, path=keep("perf"))
        check_same(facts(program), facts(plain))
        assert Map(int((program.folder / "pid").read_text())).names() == names
        recording = program.recording
        check_quality(recording)
        assert share_in(recording, "compute") > 0.5
        assert seconds_in(recording, "add") > 0


def test_a_program_with_trampolines_that_is_attached_to(
    python_with_perf: Interpreter, keep: Keep
) -> None:
    path = keep("perf-attached")
    with Target(python_with_perf, TARGETS / "attached.py", "0", options=("-X", "perf")) as target:
        try:
            attached(target.pid, path, "--for", "0.5")
            code, _, err = target.end()
        finally:
            Path(f"/tmp/perf-{target.pid}.map").unlink(missing_ok=True)
    assert (code, err) == (7, "")
    recording = read(path)
    check_quality(recording)
    assert share_in(recording, "long_part", "short_part") > 0.5


# ---- tracemalloc: what sonde allocates is not the program's


@pytest.mark.parametrize("options", [(), ("-X", "tracemalloc=5")])
def test_tracemalloc_counts_the_same(
    python: Interpreter, keep: Keep, tmp_path: Path, options: tuple[str, ...]
) -> None:
    command = [python.path, *options, str(APPS / "traced.py")]
    plain = alone(command, tmp_path / "plain")
    assert plain.process.returncode == 0, plain.err
    # On 3.11 the interpreter keeps a table of lines for each function that was profiled.
    mode = "default" if not options else "waits" if python.minor == 11 else "calls"
    path = keep(f"tracemalloc-{mode}")
    program = alone(command, tmp_path / mode, options=MODES[mode], path=path)
    check_same(without_fork_warning(facts(program)), without_fork_warning(facts(plain)))
    check_quality(program.recording)
    assert share_in(program.recording, "compute") > 0.02

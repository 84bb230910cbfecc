"""A program that sets its own handler of SIGTRAP, the signal that brings the ticks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attach, until
from environments import environment_of
from launching import TARGETS, TIMEOUT_S, Interpreter, clean_environment, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.errors import SondeError
from sonde.recording.reader import read

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

SOURCE = Path(__file__).resolve().parents[3] / "src"

PROGRAM = TARGETS / "trap_actions.py"
TOLD = {"set": [1, True, 1, True, 2, True], "child": 7, "killed": -5}
OPTIONS = ("-W", "ignore::DeprecationWarning")


def test_handlers_of_a_program_that_runs(python: Interpreter, keep: Keep) -> None:
    run = must_run(keep("trap"), [python.path, *OPTIONS, PROGRAM], text="\n")
    assert run.told == TOLD
    assert run.recording.quality["taken"] > 300


@pytest.mark.parametrize("what", ["cpu,locks", "cpu,waits"])
def test_handlers_of_a_program_that_is_attached_to(
    python: Interpreter, keep: Keep, what: str
) -> None:
    path = keep("trap-attached")
    with Target(python, PROGRAM, options=OPTIONS) as target:
        process = attach(target.pid, path, "--what", what)
        until(lambda: is_recorded(path), "it is recorded", process)
        code, out, err = target.end("\n")
        _, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    assert (code, err) == (0, "")
    assert json.loads(out) == TOLD
    recording = read(path)
    assert recording.quality["taken"] > 300


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("spawns") / "libspawns.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, TARGETS / "spawns.c"], check=True)
    return path


@pytest.mark.parametrize("loaded", ["early", "late"])
def test_children_in_which_a_library_sets_all_signals_to_their_defaults(
    python: Interpreter, keep: Keep, library: str, loaded: str
) -> None:
    """As libuv does between fork and exec: the next tick must not kill them."""
    path = keep(f"spawns-{loaded}")
    with Target(python, TARGETS / "spawns.py", library, loaded, options=OPTIONS) as target:
        process = attach(target.pid, path, "--for", "1.5")
        until(lambda: is_recorded(path), "it is recorded", process)
        if loaded == "late":
            target.write("\n")
        _, said = process.communicate(timeout=TIMEOUT_S)
        code, out, err = target.end("\n")
    assert process.returncode == 0, said
    assert (code, err) == (0, "")
    ended = json.loads(out)
    assert list(ended) == ["8"]
    assert ended["8"] > 2


@pytest.mark.parametrize("late", [False, True])
def test_the_same_where_the_program_records_itself(
    python: Interpreter, keep: Keep, library: str, late: bool
) -> None:
    path = keep("spawns-itself")
    code = f"""if 1:
        import ctypes, json, os, sonde
        library = None if {late} else ctypes.CDLL({library!r})
        with sonde.record({str(path)!r}):
            library = library or ctypes.CDLL({library!r})
            print(json.dumps([os.waitstatus_to_exitcode(library.spawn()) for _ in range(10)]))
    """
    done = subprocess.run(
        [environment_of(python).path, *OPTIONS, "-c", code],
        env=clean_environment(PYTHONPATH=str(SOURCE)),
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [8] * 10


def is_recorded(path: Path) -> bool:
    """Whether the recorder has written of the process, which only waits so far."""
    try:
        return bool(read(path).processes)
    except (SondeError, OSError):
        return False  # nothing was written yet

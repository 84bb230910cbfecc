"""How an interpreter starts and ends under sonde: as it would alone, whatever its allocators."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attached
from launching import TARGETS, TIMEOUT_S, Interpreter, Run, clean_environment, run_command
from matrix import OLDEST_AND_NEWEST, on_both_ends
from sonde.record.system import native_libraries

Keep = Callable[[str], Path]
Result = tuple[int, str, list[str]]

# -X dev shows what the threads of `waits` do to a fork from 3.12 on; that is not the subject here.
PROGRAM = ("-W", "ignore::DeprecationWarning", str(TARGETS / "starts.py"))
ALLOCATORS = (
    ("PYTHONMALLOC=debug", "cpu,locks"),
    on_both_ends("PYTHONMALLOC=pymalloc_debug", "cpu,waits,locks"),
    on_both_ends("PYTHONMALLOC=malloc", "cpu"),
    ("PYTHONDEVMODE=1", "calls"),
)


def plain(*command: str, **variables: str) -> Result:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=clean_environment(**variables),
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def recorded(path: Path, *command: str, what: str = "cpu") -> tuple[Result, Run]:
    run = run_command(path, command, "--what", what)
    words = [line for line in run.err.splitlines() if not line.startswith("sonde: ")]
    return (run.code, run.out, words), run


def pids(run: Run) -> set[int]:
    """On a busy machine a process may be read from outside before its agent is there."""
    return {process.pid for process in run.recording.processes}


@pytest.mark.parametrize(("allocators", "what"), ALLOCATORS)
def test_every_allocator(python: Interpreter, keep: Keep, allocators: str, what: str) -> None:
    command = ("env", allocators, python.path, *PROGRAM)
    under, run = recorded(keep("allocators"), *command, what=what)
    assert under == plain(*command)
    assert under[0] == 3
    assert len(pids(run)) == 3
    assert run.recording.quality["taken"] > 0


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize(
    "arguments",
    [
        "--version",
        "-X tracemalloc=bad -c pass",
        "-I -S -c print(1)",
        "/there/is/none.py",
        "PYTHONHOME=/nowhere -c pass",
        "PYTHONMALLOC=bad -c pass",
    ],
)
def test_starts_that_end_early(python: Interpreter, keep: Keep, arguments: str) -> None:
    words = arguments.split()
    variables = [word for word in words if word.startswith("PYTHON")]
    words = [word for word in words if word not in variables]
    command = ["env", "PYTHONMALLOC=debug", *variables, python.path, *words]
    under, alone = recorded(keep("early"), *command)[0], plain(*command)
    threads = [[line for line in r[2] if "thread 0x" not in line] for r in (under, alone)]
    assert under[:2] == alone[:2]
    assert threads[0] == threads[1]


@pytest.mark.parametrize("missing", ["recorder", "agent"])
def test_without_a_recorder_or_an_agent(python: Interpreter, tmp_path: Path, missing: str) -> None:
    preload = native_libraries.preload()
    if missing == "agent":
        preload = Path(shutil.copy(preload, tmp_path))
    command = (python.path, *PROGRAM)
    variables = {"LD_PRELOAD": str(preload), "SONDE_SOCKET": str(tmp_path / "none")}
    under = plain(*command, PYTHONMALLOC="debug", **variables)
    assert under == plain(*command, PYTHONMALLOC="debug")
    assert under[0] == 3


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("allocators", ["debug", "malloc"])
def test_attach(python: Interpreter, keep: Keep, allocators: str) -> None:
    with Target(python, TARGETS / "attached.py", "0", env={"PYTHONMALLOC": allocators}) as target:
        run = attached(target.pid, keep("attached"), "--for", "0.5", "--what", "cpu,locks,waits")
        assert target.end() == (7, "over\n", "")
    assert run.recording.quality["taken"] > 10


# ---- programs that load an interpreter

# A joined thread still frees memory, without the GIL; where the interpreter is finalised meanwhile,
# the debug allocator's block goes to free(): CPython 3.12 aborts then, with and without sonde.
UNTIL_GONE = """
thread.join()
while os.path.exists(f"/proc/self/task/{thread.native_id}"): time.sleep(0.001)
"""
CODE = f"""
import os, threading, time
def work():
    for _ in range(1_000_000): pass
thread = threading.Thread(target=work, name="worker")
thread.start()
{UNTIL_GONE}
"""


@pytest.fixture(scope="session")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("embedding") / "embeds")
    subprocess.run(["cc", "-o", path, TARGETS / "embeds.c", "-ldl"], check=True)
    return path


def shared_library(python: Interpreter) -> str:
    ask = "import sysconfig as s; print(s.get_config_var('LIBDIR'), s.get_config_var('INSTSONAME'))"
    library = os.path.join(*plain(python.path, "-c", ask)[1].split())
    if not library.endswith((".so", ".so.1.0")) or not os.path.exists(library):
        pytest.skip(f"CPython {python.version} has no shared library on this machine")
    return library


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("kind", ["global", "local", "plugin", "bootloader"])
def test_a_library_that_is_loaded_late(
    python: Interpreter, keep: Keep, embedding: str, tmp_path: Path, kind: str
) -> None:
    library = shared_library(python)
    home = plain(python.path, "-c", "import sys; print(sys.base_prefix)")[1].strip()
    if kind == "plugin":
        source, plugin = tmp_path / "plugin.c", str(tmp_path / "plugin.so")
        source.write_text("int plugin;\n")
        link = ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{os.path.dirname(library)}"]
        subprocess.run(["cc", "-shared", "-fPIC", "-o", plugin, source, *link], check=True)
        library, kind = plugin, "local"
    variables = (f"PYTHONHOME={home}", "PYTHONMALLOC=debug")
    command = ("env", *variables, embedding, library, kind, "3", CODE)
    under, run = recorded(keep("embedded"), *command)
    assert under == plain(*command)
    assert under[0] == 5
    assert len(pids(run)) == 1
    # Every time the interpreter is initialised.
    assert list(run.recording.threads.name).count("worker") >= 3


WAITING = f"""
import os, sys, threading, time
def work():
    while not over: sum(range(1000))
over = []
thread = threading.Thread(target=work, name="worker")
thread.start()
print(os.getpid(), flush=True)
sys.stdin.read()
over.append(True)
{UNTIL_GONE}
"""


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("kind", ["global", "local"])
def test_attach_to_a_library_that_is_loaded_late(
    python: Interpreter, keep: Keep, embedding: str, kind: str
) -> None:
    library = shared_library(python)
    home = plain(python.path, "-c", "import sys; print(sys.base_prefix)")[1].strip()
    host = Interpreter(python.version, embedding)
    with Target(host, library, kind, "1", WAITING, env={"PYTHONHOME": home}) as target:
        for _ in range(2):
            run = attached(target.pid, keep("embedded"), "--for", "0.5")
            # Its symbols are found: the agent samples, not we from outside.
            assert run.recording.quality["sampler"] == "perf"
            assert "worker" in run.recording.threads.name
        assert target.end() == (5, "finalised 1\n", "")

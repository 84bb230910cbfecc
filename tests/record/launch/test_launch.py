"""`sonde run` stands in for the command it runs: streams, signals and the way it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from attaching import until
from launching import SONDE, TARGETS, TIMEOUT_S, Interpreter, clean_environment, run_command
from matrix import OLDEST_AND_NEWEST

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

ENDS = [
    "code0", "code3", "code255", "raise", "text", "_exit", "SIGTERM", "SIGKILL", "SIGABRT",
    "SIGTRAP", "SIGSEGV", "SIGINT", "segfault", "breakpoint", "abort", "faulthandler", "later",
]  # fmt: skip


def alone(command: list[str | Path], **others: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=TIMEOUT_S,
        check=False,
        **others,
    )


def without_addresses(text: str) -> list[str]:
    """What a crash says, but for numbers of threads, the C stack (3.14+), and our own words."""
    lines = [line for line in text.splitlines() if not line.startswith("sonde: ")]
    return [line.partition("0x")[0] for line in lines if not line.startswith("  Binary file")]


def test_it_ends_the_way_the_target_ends(python: Interpreter, keep: Keep) -> None:
    def end(how: str) -> list[str]:
        command = [python.path, TARGETS / "ends.py", how]
        expected = alone(command)
        run = run_command(keep(how), command, "--rate", "10000")
        same = {
            "code": (run.code, expected.returncode),
            "output": (run.out, expected.stdout),
            "errors": (without_addresses(run.err), without_addresses(expected.stderr)),
            "warnings": (run.recording.warnings, []),
            "samples": (run.recording.quality["taken"] > 200, True),
        }
        return [f"{how}: {what} {a!r} != {b!r}" for what, (a, b) in same.items() if a != b]

    # Several at a time: each is a start of three processes and hardly any work.
    with ThreadPoolExecutor(4) as pool:
        wrong = [line for lines in pool.map(end, ENDS) for line in lines]
    assert not wrong, "\n".join(wrong)


def test_the_recording_knows_the_end(any_python: Interpreter, keep: Keep) -> None:
    for how, words in (("code3", "exit code 3"), ("SIGKILL", "killed by SIGKILL")):
        run = run_command(keep(how), [any_python.path, TARGETS / "ends.py", how])
        assert run.recording.target["exit"] == words


def test_standard_input_is_the_targets(python: Interpreter, keep: Keep) -> None:
    text = "a line\nand another without an end"
    program = "import sys; sys.stdout.write(sys.stdin.read().upper()); sum(range(10**6))"
    run = run_command(keep("stdin"), [python.path, "-c", program], text=text)
    assert run.code == 0
    assert run.out == text.upper()


@contextlib.contextmanager
def signalled(path: Path, python: Interpreter, last: str, **popen: Any) -> Iterator[Popen[str]]:
    """A program run by sonde that says which signals come, until the `last` one."""
    with Popen(
        [*SONDE, "run", "-o", path, "--", python.path, TARGETS / "signalled.py", last],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
        **popen,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        target = children_of(process)[0]
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, signal.SIGKILL)


def children_of(process: Popen[str]) -> list[int]:
    """In the order in which they were started: the target is the first."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in children.read_text().split()]


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
)
def test_signals_reach_the_target(
    any_python: Interpreter, keep: Keep, number: signal.Signals
) -> None:
    with signalled(keep(number.name), any_python, number.name) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert out == f"{number.name}\n"
    assert process.returncode == 3
    assert "Traceback" not in err


def test_a_signal_to_the_whole_group_comes_once(any_python: Interpreter, keep: Keep) -> None:
    """As Jupyter, timeout and service managers send it: to the target, and to sonde."""
    with signalled(keep("group"), any_python, "SIGUSR1", start_new_session=True) as process:
        assert process.stdout is not None
        witness = Path(f"/proc/{children_of(process)[1]}/status")
        for number in 3 * (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.killpg(process.pid, number)
            # The next one only now: of two that come together either may be handled first.
            assert process.stdout.readline() == f"{number.name}\n"
            until(lambda: f"ShdPnd:\t{0:016x}" in witness.read_text(), "sonde has looked at it")
        # Of those to sonde alone each comes, too.
        process.send_signal(signal.SIGUSR2)
        assert process.stdout.readline() == "SIGUSR2\n"
        process.send_signal(signal.SIGUSR1)
        out, _ = process.communicate(timeout=TIMEOUT_S)
    assert out == "SIGUSR1\n"
    assert process.returncode == 3


def test_a_terminal_that_closes_ends_the_target(any_python: Interpreter, keep: Keep) -> None:
    """The kernel tells the leader of the session, which is sonde."""
    ours, its = pty.openpty()
    with signalled(
        keep("terminal"),
        any_python,
        "SIGHUP",
        stdin=its,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as process:
        os.close(its)
        assert process.stdout is not None
        os.write(ours, b"\x03")
        assert process.stdout.readline() == "SIGINT\n"
        os.close(ours)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert out == "SIGHUP\n", err
    assert process.returncode == 3


def test_nothing_is_left_of_a_launcher_that_is_killed(any_python: Interpreter, keep: Keep) -> None:
    with signalled(keep("killed"), any_python, "SIGTERM") as process:
        children = children_of(process)
        process.kill()
        process.wait()
        os.kill(children[0], signal.SIGTERM)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), "their end")


def test_faulthandler_sees_no_fault_of_ours(python: Interpreter, keep: Keep) -> None:
    """Walks that meet freed memory are ended by a guard, which nobody may take for a crash."""
    calls = TARGETS.parent / "truth" / "programs" / "calls.py"
    program = (
        "import faulthandler, sys; faulthandler.enable(); "
        f"sys.path.insert(0, {str(calls.parent)!r}); sys.argv = ['calls', '0.6']; "
        f"exec(compile(open({str(calls)!r}).read(), 'calls', 'exec'))"
    )
    run = run_command(keep("faulthandler"), [python.path, "-c", program], "--rate", "20000")
    assert run.code == 0
    assert not without_addresses(run.err)


def test_a_preloaded_library_of_the_users_stays(
    python: Interpreter, keep: Keep, tmp_path: Path
) -> None:
    library = tmp_path / "users.so"
    source = tmp_path / "users.c"
    source.write_text("int users_number(void) { return 42; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    program = (
        "import ctypes, os, subprocess, sys\n"
        "print(os.environ['LD_PRELOAD'], ctypes.CDLL(None).users_number())\n"
        "sum(range(10**6))\n"
        "if len(sys.argv) < 2: subprocess.check_call([sys.executable, __file__, 'child'])\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    run = run_command(
        keep("preload"), [python.path, script], env=clean_environment(LD_PRELOAD=str(library))
    )
    assert run.code == 0, run.err
    assert run.out == f"{library} 42\n" * 2
    assert len(run.recording.processes) == 2


def test_a_script_runs_under_sondes_own_python(keep: Keep, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.executable, sys.argv[1:]); sum(range(10**6))\n")
    run = run_command(keep("script"), [script, "--rate", "x", "-o"])
    assert run.code == 0, run.err
    assert run.out.split(" ", 1)[0] == sys.executable
    assert run.out.split(" ", 1)[1] == "['--rate', 'x', '-o']\n"
    assert run.recording.quality["taken"] > 5


def test_a_module_runs_too(keep: Keep) -> None:
    run = run_command(keep("module"), ["-m", "timeit", "-n", "2000", "-r", "1", "sum(range(1000))"])
    assert run.code == 0, run.err
    assert "loops" in run.out
    assert run.recording.target["program"] == "timeit"


def test_the_recording_is_named_after_program_and_pid(
    any_python: Interpreter, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*SONDE, "run", "--", any_python.path, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
    name = f"sonde-inline-{done.stdout.strip()}.sonde"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert name in done.stderr

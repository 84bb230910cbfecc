"""Java programs, run and attached to: what is recorded, and what they must not notice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from attaching import attach, attached, begun, has_agent, until
from java import Jdk
from launching import SONDE, TIMEOUT_S, Interpreter, Run, clean_environment, must_run, run_command
from serving import size
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.row_values import RUNNING
from sonde.views.threads import threads

Keep = Callable[[str], Path]

UNWALKED = 0.03
CYCLES, SETTLED = 10, 4
EVERYTHING = ("--rate", "10000", "--what", "cpu,locks,objects")
# A JVM that is entered and left grows by no page; the program may, by what it compiles.
GROWS_KB = 256
# Ways in, by the options that make `sonde attach` choose them.
PROTOCOL, PTRACE = "-XX:+EnableDynamicAgentLoading", "-XX:+DisableAttachMechanism"


class Attached:
    """tests/targets/java/Attached.java, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.pid = int(process.stdout.readline())

    def turns(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err


@contextmanager
def running(
    jdk: Jdk,
    classes: Path,
    *options: str,
    threads: int = 2,
    path: Path | None = None,
    **environment: str,
) -> Iterator[Attached]:
    """By itself, or by `sonde run` into `path`."""
    before = [] if path is None else [*SONDE, "run", "-o", str(path), "--"]
    process = subprocess.Popen(
        [*before, jdk.java, *options, "-cp", classes, "Attached", str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(**environment),
    )
    try:
        yield Attached(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def names(recording: Recording) -> set[str]:
    return set(recording.functions.name)


def without(run: Run) -> str:
    """What the target itself said on stderr."""
    return "".join(line for line in run.err.splitlines(True) if not line.startswith("sonde: "))


# ---- run


@pytest.mark.parametrize("users", [{}, {"JAVA_TOOL_OPTIONS": "-Dmine=1"}], ids=["", "options"])
def test_a_program_sees_nothing_of_it(
    jdk: Jdk, java_targets: Path, keep: Keep, users: dict[str, str]
) -> None:
    command = [jdk.java, "-Xmx128m", "-cp", java_targets, "Behaviour"]
    environment = clean_environment(**users)
    alone = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    run = run_command(keep("behaviour"), command, "--rate", "5000", env=environment)
    assert (run.code, run.out, without(run)) == (7, alone.stdout, alone.stderr)
    recording = run.recording
    (process,) = recording.processes
    assert (process.runtime, process.version) == ("hotspot", jdk.version)
    assert recording.target["runtime"] == "hotspot"
    assert {"Behaviour.main", "Behaviour.down"} <= names(recording)
    row = recording.functions.name.index("Behaviour.main")
    assert recording.functions.file[row] == "Behaviour.java"
    assert recording.functions.runtime[row] == "hotspot"


def test_java_starts_python_and_python_java(
    jdk: Jdk, any_python: Interpreter, java_targets: Path, keep: Keep
) -> None:
    java = [jdk.java, "-cp", str(java_targets), "Family"]
    code = f"""
import subprocess, sys, time
def burn():
    end = time.monotonic() + 0.1
    while time.monotonic() < end: sum(range(1000))
burn()
sys.exit(subprocess.run({java!r}).returncode)
"""
    python = [any_python.path, "-c", code]
    run = must_run(keep("family"), [*java, *python])
    assert run.out.split() == ["java", "true"]
    recording = run.recording
    runtimes = [process.runtime for process in recording.processes]
    assert runtimes == ["hotspot", "cpython", "hotspot"]
    _, second, third = recording.processes
    assert third.ppid == second.pid
    assert {"Family.burn", "burn"} <= names(recording)
    by_process = {int(recording.threads.process[t]) for t in recording.samples.thread.tolist()}
    assert by_process == {0, 1, 2}


MANY = """
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public class Many{number}<T extends Comparable<T>> {{
    private final Map<String, List<T>> kept = new TreeMap<>();
{methods}
}}
"""
METHOD = """
    public Map<Integer, List<String>> method{number}(Collection<? extends T> some) {{
        for (T one : some)
            kept.computeIfAbsent(one + "{number}", key -> new ArrayList<>()).add(one);
        return kept.entrySet().stream()
            .filter(entry -> entry.getValue().size() > {number})
            .map(entry -> switch (entry.getKey().length()) {{
                case 0, 1 -> "short";
                default -> entry.getKey() + entry.getValue();
            }})
            .collect(Collectors.groupingBy(String::length));
    }}
"""


@pytest.mark.newest_jdk
def test_javac_compiles_the_same(jdk: Jdk, keep: Keep, tmp_path: Path) -> None:
    """Three thousand lines of lambdas and inferred types."""
    methods = "".join(METHOD.format(number=number) for number in range(10))
    sources = [tmp_path / f"Many{number}.java" for number in range(20)]
    for number, source in enumerate(sources):
        source.write_text(MANY.format(number=number, methods=methods))
    made = []
    for folder in ("alone", "recorded"):
        command = [jdk.home / "bin" / "javac", "-d", tmp_path / folder, *sources]
        if folder == "alone":
            subprocess.run(command, env=clean_environment(), check=True, timeout=TIMEOUT_S)
        else:
            recording = must_run(keep("javac"), command).recording
        classes = sorted((tmp_path / folder).glob("*.class"))
        made.append([(path.name, path.read_bytes()) for path in classes])
    assert made[0] == made[1]
    assert any(name.startswith("com.sun.tools.javac.") for name in names(recording))
    assert recording.quality["undecodable"] < UNWALKED * recording.quality["taken"]


def _kill_once(jdk: Jdk, classes: Path, path: Path, entered: bool, after: float) -> str:
    """Kills a JVM that was run or entered so long ago; what is wrong then."""
    with running(jdk, classes, path=None if entered else path) as target:
        recorder = attach(target.pid, path) if entered else target.process
        until(lambda: begun(path), "samples are written", recorder)
        time.sleep(after)
        os.kill(target.pid, signal.SIGKILL)
        _, err = recorder.communicate(timeout=TIMEOUT_S)
    recording = read(path)
    if "Traceback" in err or recording.warnings:
        return f"{err}{recording.warnings}"
    if not {"spinner 0", "spinner 1"} <= set(recording.threads.name):
        return f"threads {recording.threads.name}"
    return "" if "Attached.spin" in names(recording) else "no stacks"


def test_a_jvm_killed_leaves_a_readable_recording(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    die = random.Random(str(jdk))
    rounds = [(bool(i % 2), die.uniform(0.0, 0.3)) for i in range(8)]
    with ThreadPoolExecutor(3) as pool:
        wrong = list(pool.map(lambda r: _kill_once(jdk, java_targets, keep("killed"), *r), rounds))
    assert not any(wrong), wrong


# ---- attach


@pytest.mark.parametrize("option", [PROTOCOL, PTRACE])
def test_a_running_jvm_is_entered_and_left(
    jdk: Jdk, java_targets: Path, keep: Keep, option: str
) -> None:
    with running(jdk, java_targets, option) as target:
        attached(target.pid, keep("first"), "--for", "0.3")  # what stays, stays from here on
        before = len(os.listdir(f"/proc/{target.pid}/fd"))
        recording = attached(target.pid, keep("second"), "--for", "0.7").recording
        way = "ptrace" if option == PTRACE else "attach protocol"
        assert recording.target["entered"]["by"] == way
        assert {"spinner 0", "spinner 1"} <= set(recording.threads.name)
        assert {"Attached.work", "Attached.spin"} <= names(recording)
        assert not has_agent(target.pid)
        assert len(os.listdir(f"/proc/{target.pid}/fd")) == before
        turns = target.turns()
        until(lambda: target.turns() > turns, "it goes on")
        assert target.end() == (0, "over\n", "")
    assert not [name for name in os.listdir("/tmp") if name.endswith(f"_pid{target.pid}")]


def test_entered_without_a_word_in_its_output(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    """From 21 on the JVM would warn of agents that come by its attach protocol."""
    with running(jdk, java_targets) as target:
        attached(target.pid, keep("silent"), "--for", "0.3")
        assert target.end() == (0, "over\n", "")


@pytest.mark.soak
def test_again_and_again_under_load(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    """What the Java heap takes is taken before; what is made once is made in the first cycles."""
    fixed = ("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1")
    # Else libc would give each of the first new threads memory of its own.
    with running(jdk, java_targets, *fixed, threads=3, MALLOC_ARENA_MAX="1") as target:
        sizes = []
        for _ in range(CYCLES):
            attached(target.pid, keep("cycle"), "--for", "0.05", *EVERYTHING)
            sizes.append(size(target.pid))
        assert not has_agent(target.pid)
        assert target.end() == (0, "over\n", "")
    before, after = sizes[SETTLED - 1], sizes[-1]
    assert after["descriptors"] <= before["descriptors"]
    assert after["threads"] <= before["threads"]
    assert after["maps"] <= before["maps"] + 4
    assert after["resident_kb"] <= before["resident_kb"] + GROWS_KB


def test_threads_have_their_metrics(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    with running(jdk, java_targets, threads=3) as target:
        run = attached(target.pid, keep("threads"), "--for", "1", "--what", "cpu,threads")
    rows = {row.name: row for row in threads(run.recording).rows}
    spinners = [rows[f"spinner {number}"] for number in range(3)]
    assert sum(row.cpu_ns for row in spinners) > 0
    for row in spinners:
        # Three that want two processors: each stands in the queue, and is preempted.
        assert row.run_delay_ns is not None
        assert row.taken_ns is not None
        assert row.involuntary_switches
        assert row.page_faults is not None
        assert row.run_delay_ns > 0
        assert row.cpu_ns + row.run_delay_ns < 1.2 * row.wall_ns
    samples = run.recording.samples
    processors = samples.processor[samples.state == RUNNING]
    assert set(processors.tolist()) <= os.sched_getaffinity(0)
    # Those of the VM's own are counted, too.
    assert any(row.run_delay_ns is not None for name, row in rows.items() if "spinner" not in name)


def test_waits_weigh_what_they_took(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    with running(jdk, java_targets, threads=1) as target:
        recording = attached(target.pid, keep("waits"), "--for", "0.7", "--what", "waits").recording
    assert recording.quality["waits"] > 0

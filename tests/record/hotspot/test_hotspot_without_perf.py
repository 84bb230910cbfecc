"""Java programs where perf events are refused: run, attached to, left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import attach, attached, begun, has_agent, recorder_of, until
from java import Jdk
from launching import (
    SONDE,
    TIMEOUT_S,
    Interpreter,
    clean_environment,
    denied,
    run_command,
    run_denied,
    sonde,
)
from record.hotspot.test_hotspot import names, running, without
from sonde.recording.reader import read

Keep = Callable[[str], Path]

EVERYTHING = ("--sampler", "cpu-timer", "--what", "cpu,locks,waits,objects")


def timers_of(pid: int) -> int:
    """POSIX timers of a process."""
    return Path(f"/proc/{pid}/timers").read_text().count("signal:")


def test_a_program_sees_nothing_of_it(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    command = [jdk.java, "-Xmx128m", "-cp", java_targets, "Behaviour"]
    alone = subprocess.run(
        command,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    run = run_command(keep("behaviour"), command, *EVERYTHING)
    assert (run.code, run.out, without(run)) == (7, alone.stdout, alone.stderr)
    assert run.recording.quality["sampler"] == "cpu-timer"


def test_a_running_jvm_is_entered_and_left(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    path = keep("attached")
    with running(jdk, java_targets) as target:
        attached(target.pid, keep("before"), "--for", "0.3")  # what stays, stays from here on
        before = len(os.listdir(f"/proc/{target.pid}/fd"))
        command = [*denied("perf_event_open"), *SONDE, "attach", str(target.pid), "-o", str(path)]
        recorder = subprocess.Popen(
            [*command, "--for", "2", "--what", "cpu,locks,waits,objects"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        until(lambda: timers_of(target.pid) > 2, "its threads have timers", recorder)
        _, err = recorder.communicate(timeout=TIMEOUT_S)
        assert recorder.returncode == 0, err
        assert timers_of(target.pid) == 0
        assert not has_agent(target.pid)
        assert len(os.listdir(f"/proc/{target.pid}/fd")) == before
        turns = target.turns()
        until(lambda: target.turns() > turns, "it goes on")
        assert target.end() == (0, "over\n", "")
    recording = read(path)
    quality = recording.quality
    assert quality["sampler"] == "cpu-timer"
    assert "seccomp filter" in quality["why_not_better"]
    assert {"spinner 0", "spinner 1"} <= set(recording.threads.name)
    assert {"Attached.work", "Attached.spin", "Attached.main"} <= names(recording)
    assert len(recording.objects) > 0


def test_a_dead_recorder_is_noticed(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    """Perf events vanish with it; timers are deleted when its connection ends."""
    path = keep("killed")
    with running(jdk, java_targets) as target:
        recorder = attach(target.pid, path, "--sampler", "cpu-timer")
        until(lambda: begun(path) and timers_of(target.pid) > 2, "it records", recorder)
        recording = recorder_of(recorder)
        recorder.kill()  # first: it would start another one
        os.kill(recording, signal.SIGKILL)
        recorder.communicate(timeout=TIMEOUT_S)
        until(lambda: timers_of(target.pid) == 0, "no timer is left")
        assert target.end() == (0, "over\n", "")


def test_a_pause_disarms_them(jdk: Jdk, java_targets: Path, keep: Keep) -> None:
    path = keep("paused")
    with running(jdk, java_targets) as target:
        recorder = attach(target.pid, path, "--sampler", "cpu-timer")
        until(lambda: begun(path), "it records", recorder)
        assert sonde("ctl", str(target.pid), "pause").returncode == 0
        time.sleep(0.3)
        assert sonde("ctl", str(target.pid), "resume").returncode == 0
        size = path.stat().st_size
        until(lambda: path.stat().st_size > size + 4096, "it records again", recorder)
        assert sonde("ctl", str(target.pid), "stop").returncode == 0
        _, err = recorder.communicate(timeout=TIMEOUT_S)
        assert recorder.returncode == 0, err
        assert target.end() == (0, "over\n", "")
    recording = read(path)
    ((begins, ends),) = zip(recording.pauses.start_ns, recording.pauses.end_ns, strict=True)
    times = recording.samples.time
    # Timers are disarmed within a look of some 20 ms, and before that nothing is written.
    assert not ((times > begins) & (times < ends)).any()
    assert (times > ends).any()


@pytest.mark.parametrize("sampler", ["reader", "safepoint"])
def test_samplers_of_python_are_refused(
    jdk: Jdk, java_targets: Path, keep: Keep, sampler: str
) -> None:
    command = [jdk.java, "-cp", java_targets, "Family"]
    run = run_command(keep("refused"), command, "--sampler", sampler)
    assert (run.code, run.out) == (0, "java true\n")
    assert f"--sampler {sampler} does not support Java threads; use auto, perf" in run.err
    assert len(run.err.splitlines()) == 1


def test_javas_sampler_is_refused_for_python(any_python: Interpreter, keep: Keep) -> None:
    run = run_command(keep("refused"), [any_python.path, "-c", "1"], "--sampler", "cpu-timer")
    assert run.code == 0
    assert "--sampler cpu-timer does not support Python threads; use auto, perf" in run.err


def test_each_runtime_has_its_sampler(
    jdk: Jdk, any_python: Interpreter, java_targets: Path, keep: Keep
) -> None:
    java = [jdk.java, "-cp", str(java_targets), "Attached", "1"]
    code = (
        "import subprocess, time\n"
        f"subprocess.run({java!r}, stdin=subprocess.DEVNULL, check=True)\n"
        "while time.process_time() < 0.3: pass"
    )
    run = run_denied("perf_event_open", keep("both"), [any_python.path, "-c", code])
    quality = run.recording.quality
    assert quality["samplers"] == ["cpu-timer", "reader"]
    assert quality["sampler"] == "reader"
    assert "Sampler cpu-timer and reader" in " ".join(
        sonde("report", run.path, "quality").stdout.split()
    )

"""The agent under AddressSanitizer and UBSan inside of a JVM: run with it, and attached to."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from java import Jdk, class_path, compiled
from launching import TARGETS, TESTS, clean_environment
from sanitizing import ROOT, built, reports, runtime
from shared import run_folder
from sonde.record.system.native_libraries import java_api
from sonde.recording.reader import read
from sonde.recording.tables import Recording

Keep = Callable[[str], Path]

TIMEOUT_S = 120
CYCLES = 4
# In the JVM; the others work in processes of our own.
INSIDE = ("libsonde-hotspot.so", "libsonde-preload.so")
# HotSpot itself works by faults, which are no errors, and needs their signals and stacks; its own
# memory is not ours to count. The recorder's preload library stands before the sanitizer's.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
    "use_sigaltstack=0:verify_asan_link_order=0:halt_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sonde with sanitizers in what enters a JVM, as a folder for PYTHONPATH."""
    folder = tmp_path_factory.mktemp("sanitized")
    source = ROOT / "src" / "sonde"
    shutil.copytree(source, folder / "sonde", ignore=shutil.ignore_patterns("*.pyc"))
    for name in INSIDE:
        (folder / "sonde" / "agents" / name).unlink()
        (folder / "sonde" / "agents" / name).symlink_to(built()[name])
    return folder


def _sonde(folder: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonde", *arguments],
        env=clean_environment(PYTHONPATH=str(folder), **SANITIZERS, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def _clean(err: str) -> None:
    bad = list(reports(err))
    assert not bad, "\n".join(bad)[:6000]


def _names(recording: Recording) -> set[str]:
    return set(recording.functions.name)


@pytest.mark.parametrize("program", ["Contention", "Generated", "Virtual"])
def test_truth_programs(
    jdk: Jdk, sanitized: Path, keep: Keep, tmp_path_factory: pytest.TempPathFactory, program: str
) -> None:
    """Locks of all kinds; classes that come and go; virtual threads."""
    if program == "Virtual" and jdk.major < 21:
        pytest.skip(f"Java {jdk.major} has no virtual threads")
    sources = TESTS / "truth" / "hotspot"
    classes = compiled(sources, run_folder(tmp_path_factory) / "java-truth")
    path = keep("sanitized")
    command = [jdk.java, "-Xmx256m", "-cp", str(classes), program, "0.5"]
    what = ["--what", "cpu,locks,objects,waits,threads", "--rate", "10000"]
    done = _sonde(sanitized, "run", "-o", path, *what, "--", *command, LD_PRELOAD=runtime())
    _clean(done.stderr)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1])
    recording = read(path)
    assert recording.quality["taken"] > 100
    assert recording.quality["garbled_rings"] == 0
    assert any(name.startswith(f"{program}.") for name in _names(recording))


def test_entered_and_left_under_load(
    jdk: Jdk, sanitized: Path, java_targets: Path, keep: Keep
) -> None:
    with subprocess.Popen(
        [jdk.java, "-cp", java_targets, "Attached", "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(LD_PRELOAD=runtime(), **SANITIZERS),
    ) as target:
        try:
            assert target.stdout is not None
            pid = target.stdout.readline().strip()
            for _ in range(CYCLES):
                path = keep("cycle")
                how = ["--for", "0.2", "--rate", "10000", "--what", "cpu,locks,objects"]
                done = _sonde(sanitized, "attach", pid, *how, "-o", path)
                assert done.returncode == 0, done.stderr
                assert {"Attached.work", "Attached.spin"} <= _names(read(path))
            out, err = target.communicate(timeout=TIMEOUT_S)
        finally:
            if target.poll() is None:
                target.kill()
    _clean(err)
    assert (target.returncode, out, err) == (0, "over\n", "")


@pytest.mark.parametrize("program", ["Crowded", "Spans"])
def test_spans_of_the_program(
    jdk: Jdk, sanitized: Path, keep: Keep, tmp_path_factory: pytest.TempPathFactory, program: str
) -> None:
    """Many threads that state spans, and virtual ones; texts of all kinds."""
    jar = sanitized / "sonde" / "agents" / "sonde-api.jar"
    into = run_folder(tmp_path_factory) / f"java-api-{program}"
    classes = compiled(TARGETS / "java_api" / f"{program}.java", into, [java_api()])
    options = ["virtual"] if jdk.major >= 21 else []
    command = [jdk.java, "-cp", class_path(classes, jar), program, *options]
    path = keep("sanitized")
    what = ["--what", "cpu,locks,waits", "--rate", "5000"]
    done = _sonde(sanitized, "run", "-o", path, *what, "--", *command, LD_PRELOAD=runtime())
    _clean(done.stderr)
    assert done.returncode == 0, done.stderr[-3000:]
    recording = read(path)
    assert recording.quality["garbled_rings"] == 0
    assert len(recording.spans) >= 10

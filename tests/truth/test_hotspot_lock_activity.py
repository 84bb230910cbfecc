"""A Java program that knows how often it acquires each lock."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from attaching import attach, begun, until
from java import Jdk, compiled
from launching import TIMEOUT_S, Run, clean_environment, must_run
from shared import run_folder

from sonde.views.locks.lock_activity import Activity, LockActivity, lock_activity

SOURCES = Path(__file__).resolve().parent / "hotspot"
ROUNDS = 100_000
# So that all samples of a run fit into the memory shared with the recorder.
EVERY, EVERY_OF_GATE = 300, 2
WHAT = ("--what", "+lock-activity", "--lock-activity-every")
OPTIONS = (*WHAT, str(EVERY), "--lock-activity-in")

TOTAL = 2 * ROUNDS + ROUNDS + ROUNDS + 2 * ROUNDS + 2 * ROUNDS
CONTENDS, WAITS = 2 * 500, 20


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES, run_folder(tmp_path_factory) / "java-truth")


@pytest.fixture(scope="module")
def launched(jdk: Jdk, classes: Path, keep: Callable[[str], Path]) -> Run:
    command = [jdk.java, "-cp", classes, "Acquires"]
    return must_run(keep(f"acquires-{jdk.major}"), command, *OPTIONS, "Acquires")


@pytest.fixture(scope="module")
def contended(jdk: Jdk, classes: Path, keep: Callable[[str], Path]) -> Run:
    command = [jdk.java, "-cp", classes, "Acquires", "gate"]
    options = (*WHAT, str(EVERY_OF_GATE), "--lock-activity-in", "Acquires")
    return must_run(keep(f"gate-{jdk.major}"), command, *options)


def activity(run: Run) -> Activity:
    found = lock_activity(run.recording)
    assert found is not None
    return found


def by_place(run: Run) -> Counter[tuple[str, str]]:
    """Estimated acquisitions by function and class of the lock."""
    recording = run.recording
    samples, contexts = recording.lock_samples, recording.contexts
    found: Counter[tuple[str, str]] = Counter()
    for context, lock in zip(samples.context.tolist(), samples.lock.tolist(), strict=True):
        name = recording.functions.name[contexts.function[context]]
        found[name, recording.locks.type[lock]] += EVERY
    return found


def test_counts_by_place_and_class(launched: Run) -> None:
    assert activity(launched).acquisitions == TOTAL
    found = by_place(launched)
    sync = "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync"
    lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
    expected = {
        ("Acquires.blocks", "java.lang.Object"): 2 * ROUNDS,
        ("Acquires.method", "Acquires"): ROUNDS,
        ("Acquires.ofClass", "java.lang.Class"): ROUNDS,
        ("Acquires.locks", lock): 2 * ROUNDS,
        ("Acquires.locks", sync): 2 * ROUNDS,
    }
    for place, number in expected.items():
        assert found[place] == pytest.approx(number, rel=5 * (EVERY / number) ** 0.5), place


def only(run: Run, kind: str, lock_class: str) -> LockActivity:
    return max(
        (row for row in activity(run).locks if row.kind == kind and row.lock_class == lock_class),
        key=lambda row: row.samples,
    )


def test_recursion(launched: Run) -> None:
    for kind, lock_class in (
        ("monitor", "java.lang.Object"),
        ("rlock", "java.util.concurrent.locks.ReentrantLock$NonfairSync"),
    ):
        row = only(launched, kind, lock_class)
        half = row.acquisitions.number / 2
        assert row.recursive.number == pytest.approx(half, rel=5 * (EVERY / half) ** 0.5)
        assert not row.contended.number


def test_contention_holds_and_spinning(contended: Run) -> None:
    assert activity(contended).acquisitions == CONTENDS + WAITS
    (gate,) = (row for row in activity(contended).locks if row.threads == 2)
    assert gate.kind == "monitor"
    assert gate.contended.number > 0.2 * gate.acquisitions.number
    assert gate.hold is not None
    assert gate.hold.mean >= 1_000_000
    assert gate.wait_ns > 0
    assert gate.spin is not None
    assert 0 < gate.spin.share <= 1
    assert gate.spin.samples <= gate.samples


def test_a_hold_that_a_wait_interrupts_is_unknown(contended: Run) -> None:
    recording = contended.recording
    names = [recording.functions.name[recording.contexts.function[c]]
             for c in recording.lock_samples.context.tolist()]  # fmt: skip
    holds = recording.lock_samples.hold_ns[[name == "Acquires.waits" for name in names]]
    assert (holds == -1).all()


def test_virtual_threads(jdk: Jdk, classes: Path, keep: Callable[[str], Path]) -> None:
    if jdk.major < 21:
        pytest.skip("no virtual threads before 21")
    command = [jdk.java, "-cp", classes, "Acquires", "8"]
    run = must_run(keep("virtual"), command, *OPTIONS, "Acquires")
    assert activity(run).acquisitions == 8 * TOTAL


def test_one_method(jdk: Jdk, classes: Path, keep: Callable[[str], Path]) -> None:
    command = [jdk.java, "-cp", classes, "Acquires"]
    run = must_run(keep("one"), command, *OPTIONS, "Acquires.method")
    assert activity(run).acquisitions == ROUNDS
    missing = must_run(keep("all"), command, "--what", "+lock-activity")
    assert "Java programs need --lock-activity-in" in missing.err
    both = must_run(
        keep("both"), command, "--what", "flow,lock-activity", "--flow-in", "Acquires",
        "--lock-activity-in", "Acquires",
    )  # fmt: skip
    assert "either a call flow or acquisitions" in both.err


def test_an_attached_program_is_as_before(
    jdk: Jdk, classes: Path, keep: Callable[[str], Path]
) -> None:
    command = [jdk.java, "-cp", str(classes), "Acquires", "wait"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as program:
        assert program.stdin and program.stdout

        def rounds() -> None:
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"

        assert program.stdout.readline() == "ready\n"
        rounds()
        for within, wanted in (("Acquires", TOTAL), ("Acquires.blocks", 2 * ROUNDS)):
            path = keep("attached")
            recorder = attach(program.pid, path, *OPTIONS, within)
            until(lambda path=path: begun(path), "the recording", recorder)
            rounds()
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=TIMEOUT_S)
            assert recorder.returncode == 0, err
            assert activity(Run(0, "", err, path)).acquisitions == wanted
            rounds()
        program.stdin.close()
        assert program.wait(TIMEOUT_S) == 0
        assert program.stdout.read() == ""

"""The writer beside production: light, private, and robust against full disks and death."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys

import pytest

from recording.made import MS, program, written
from sonde.errors import SondeError
from sonde.recording.reader import read, read_bytes
from sonde.recording.write.writer import Writer


def test_importing_it_stays_light():
    code = "import sys, json, sonde.recording.write.writer; print(json.dumps(list(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    loaded = set(json.loads(shown.stdout))
    assert "zstandard" in loaded
    assert not loaded & {"numpy", "dataclasses", "inspect", "asyncio", "rich", "typer", "ctypes"}


def test_nobody_else_may_read_it(tmp_path):
    path = tmp_path / "old.sonde"
    path.write_bytes(b"something older and longer than the new recording" * 100)
    path.chmod(0o644)
    Writer(path, {}).close({})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(path).warnings == []


def test_two_recorders_do_not_share_a_file(tmp_path):
    path = tmp_path / "shared.sonde"
    first = Writer(path, {})
    with pytest.raises(SondeError) as raised:
        Writer(path, {})
    assert str(raised.value) == f"cannot write {path}: another recorder is writing it"
    first.append("marks", 1, -1, "still here")
    first.close({})
    assert read(path).marks.text == ["still here"]
    Writer(path, {}).close({})


@pytest.mark.parametrize(
    ("path", "reason"),
    [("missing/x.sonde", "No such file or directory"), (".", "Is a directory")],
)
def test_a_place_where_nothing_can_be_written(tmp_path, monkeypatch, path, reason):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SondeError) as raised:
        Writer(path, {})
    assert str(raised.value) == f"cannot write {path}: {reason}"


def test_a_name_that_cannot_be():
    with pytest.raises(SondeError, match="a file name cannot contain a null character"):
        Writer("a\0b", {})


def test_full_device():
    with pytest.raises(SondeError) as raised:
        Writer("/dev/full", {})
    assert str(raised.value).startswith("cannot write /dev/full: No space left on device")


def test_disk_full_in_the_middle_of_a_flush(tmp_path):
    path = tmp_path / "full.sonde"
    writer = Writer(path, {"program": "x"})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    flushed, message = 0, ""
    # CPython ignores SIGXFSZ, so that a write beyond the limit fails like one on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        try:
            while flushed < 10_000:
                for number in range(flushed, flushed + 10):
                    writer.append("marks", number * MS, -1, f"{random.random()}")
                writer.flush()
                flushed += 10
        except SondeError as error:
            message = str(error)
        with pytest.raises(SondeError):
            writer.flush()
        writer.close({})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert flushed > 0
    assert message.startswith(f"cannot write {path}: File too large; the ")
    assert message.endswith("bytes written before remain readable")
    recording = read(path)
    assert recording.marks.time.tolist() == [number * MS for number in range(flushed)]
    assert recording.warnings == [
        f"{path} is cut off after {(flushed - 1) / 1000:.1f} s: "
        "the recorder crashed or is still writing"
    ]


def test_closing_twice_is_closing_once(tmp_path):
    writer = Writer(tmp_path / "x.sonde", {})
    writer.close({"duration_ns": 5})
    writer.close({"duration_ns": 6})
    assert read(tmp_path / "x.sonde").target == {"duration_ns": 5}


def test_nothing_new_writes_nothing(tmp_path):
    writer = Writer(tmp_path / "x.sonde", {"pid": 1})
    writer.quality({"taken": 1})
    writer.flush()
    size = writer.size
    writer.quality({"taken": 1})
    writer.target({"pid": 1})
    writer.flush()
    assert writer.size == size == os.path.getsize(writer.path)
    writer.close({})


def test_a_wild_value_costs_only_its_row():
    def write(writer: Writer) -> None:
        writer.append("processes", 1, 0, "cpython", "3.12", "", [], 0)
        writer.append("threads", 0, 1)
        good = writer.append("functions", "good", "f.py")
        bad = writer.append("functions", "bad", "f.py", 2**40)
        later = writer.append("functions", "later", "f.py")
        contexts = [writer.append("contexts", -1, function) for function in (good, bad, later)]
        for number, context in enumerate(contexts):
            writer.append("samples", 0, number, context, 1)
        writer.append("samples", 0, 2**63, 0, 1)
        writer.append("samples", -1, 0, 0, 1)
        writer.append("samples", 0, 3, 0, None)
        writer.extend("samples", [(0, 4), (0, 5, -1, 1, 0, -1, -1, 0)])
        writer.flush()
        assert writer.append("functions", "last", "f.py") == 3
        writer.append("samples", 0, 6, writer.append("contexts", -1, 3), 1)
        writer.close({})

    recording = read_bytes(written(write))
    assert recording.warnings == []
    assert recording.functions.name == ["good", "later", "last"]
    named = [
        recording.functions.name[recording.contexts.function[context]] if context >= 0 else None
        for context in recording.samples.context
    ]
    assert recording.samples.time.tolist() == [0, 1, 2, 5, 6]
    assert named == ["good", None, "later", None, "last"]
    assert recording.quality["refused"] == {"functions": 1, "samples": 4}
    assert recording.quality["undecodable"] == 2
    assert recording.quality["missing_samples"] == 0


def test_rows_of_the_wrong_shape_are_the_callers_mistake(tmp_path):
    writer = Writer(tmp_path / "x.sonde", {})
    with pytest.raises(TypeError, match="table contexts takes"):
        writer.append("contexts", 1)
    with pytest.raises(TypeError, match="table marks takes"):
        writer.append("marks", 1, 2, "three", 4, 5)
    with pytest.raises(KeyError):
        writer.append("nonsense", 1)
    with pytest.raises(ValueError, match="has no row 0"):
        writer.update("threads", 0, name="x")
    with pytest.raises(TypeError, match="to update"):
        writer.update("threads", 0, colour="x")
    writer.close({})


def test_later_facts_win_and_none_means_the_default():
    def write(writer: Writer) -> None:
        writer.append("processes", 1, 0, "cpython", "3.12", "", [], 0, None, None)
        writer.append("threads", 0, 1, None)
        writer.update("threads", 0, name="first", cpu_ns=5)
        writer.update("threads", 0, name="second")
        writer.flush()
        writer.update("threads", 0, cpu_ns=6, end_ns=7)
        writer.update("processes", 0, end_ns=9, exit="signal 9", argv=["late"])
        writer.flush()
        writer.update("threads", 0, end_ns=None)
        writer.close({})

    recording = read_bytes(written(write))
    assert recording.threads.name == ["second"]
    assert recording.threads.cpu_ns.tolist() == [6]
    assert recording.threads.end_ns.tolist() == [-1]
    process = recording.processes[0]
    assert (process.end_ns, process.exit, process.argv) == (9, "signal 9", ["late"])


WRITES_FOR_EVER = """
import os, sys
from sonde.recording.write.writer import Writer
writer = Writer(sys.argv[1], {"program": "x"})
writer.append("processes", 1, 0, "cpython", "3.12", "", [], 0)
writer.append("threads", 0, 1)
samples = 0
while True:
    function = writer.append("functions", f"f{samples}", "f.py")
    context = writer.append("contexts", -1, function)
    for _ in range(50):
        writer.append("samples", 0, samples * 1000, context, 1000, 0)
        samples += 1
    writer.flush()
    os.write(1, b"%d\\n" % samples)
"""


@pytest.mark.parametrize("flushes", [1, 2, 7, 60, 400])
def test_killed_while_writing(tmp_path, flushes):
    path = tmp_path / "killed.sonde"
    command = [sys.executable, "-c", WRITES_FOR_EVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        promised = 0
        for _ in range(flushes):
            promised = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split(b"\n")[:-1]
        promised = int(rest[-1]) if rest else promised
    recording = read(path)
    assert len(recording.samples) >= promised >= 50 * flushes
    assert recording.samples.time.tolist() == [n * 1000 for n in range(len(recording.samples))]
    assert (recording.samples.context >= 0).all()
    assert len(recording.warnings) == 1
    assert "is cut off after" in recording.warnings[0]


def test_bytes_a_sample_of_a_steady_program():
    """At 1 kHz in flushes of 100 ms, with the scatter in time that a loaded machine shows."""
    samples = 20_000
    rng = random.Random(1)

    def write(writer: Writer) -> None:
        writer.append("processes", 1, 0, "cpython", "3.12", "", [], 0)
        writer.append("threads", 0, 1)
        contexts = [
            writer.append("contexts", number - 1, writer.append("functions", f"f{number}", "f.py"))
            for number in range(100)
        ]
        before = 0
        for number in range(samples):
            time = (number + 1) * MS + int(rng.gauss(0, 20_000))
            context = contexts[min(99, int(rng.expovariate(0.1)))]
            writer.append("samples", 0, time, context, max(0, time - before), 0)
            before = time
            if number % 100 == 99:
                writer.quality({"taken": number + 1, "agent_cpu_ns": rng.randrange(10**9)})
                writer.flush()
        writer.close({})

    data = written(write)
    assert len(read_bytes(data).samples) == samples
    assert len(data) / samples <= 8


def test_the_same_rows_make_the_same_bytes():
    assert written(program) == written(program)

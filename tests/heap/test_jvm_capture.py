"""Heaps of running JVMs: what is planted is found, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attaching import attach, until
from java import Jdk
from launching import TIMEOUT_S, clean_environment
from sonde.cli.main import main
from sonde.heap import snapshot_file
from sonde.heap.graph import HeapGraph
from sonde.record.targets import jvm_counters, session_registry
from sonde.recording import reader
from sonde.views.heap.heap_diff import heap_diff
from sonde.views.heap.paths import heap_paths
from sonde.views.heap.types import heap_types

COUNT = 500


class Target:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid
        self.wait()

    def wait(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def leak_more(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.wait()


@contextmanager
def running(jdk: Jdk, classes: Path, kind: str, *options: str) -> Iterator[Target]:
    with subprocess.Popen(
        [jdk.java, "-Xmx64m", *options, "-cp", classes, "PlantedLeaks", kind, str(COUNT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as process:
        try:
            yield Target(process)
            out, errors = process.communicate(timeout=TIMEOUT_S)
            assert (process.returncode, out, errors) == (0, "", "")
        finally:
            process.kill()


def graph_of(path: Path) -> HeapGraph:
    return HeapGraph(snapshot_file.read(str(path)))


LEAKS = {
    "cache": ("Product", "PlantedLeaks$Catalogue.CACHE"),
    "listener": ("Window$1", "PlantedLeaks$Bus.listeners"),
    "thread-local": ("Request", "java.lang.Thread.threadLocals"),
}
ON_PATHS = {
    "cache": ["PlantedLeaks$Catalogue", "CACHE"],
    "listener": ["PlantedLeaks", "BUS", "listeners", "this$0"],
    "thread-local": ["threadLocals", "value"],
}
AT_ENDS = {"cache": "Product", "listener": "Window", "thread-local": "Request"}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_planted_leak_is_named_with_its_holder(
    kind: str, jdk: Jdk, java_targets: Path, tmp_path: Path
) -> None:
    before, after = tmp_path / "before.sonde", tmp_path / "after.sonde"
    temporary = set(os.listdir("/tmp"))
    with running(jdk, java_targets, kind) as target:
        assert main(["heap", str(target.pid), "-o", str(before)]) == 0
        opened = os.listdir(f"/proc/{target.pid}/fd")
        target.leak_more()
        assert main(["heap", str(target.pid), "-o", str(after)]) == 0
        assert os.listdir(f"/proc/{target.pid}/fd") == opened
    base, new = graph_of(before), graph_of(after)
    type_, holder = LEAKS[kind]
    own = {(row.type, row.holder): row.count_delta for row in heap_diff(base, new).rows}
    assert own[f"PlantedLeaks${type_}", holder] == COUNT
    for graph, count in ((base, COUNT), (new, 2 * COUNT)):
        rows = {row.type: row.count for row in heap_types(graph).rows}
        assert rows[f"PlantedLeaks${type_}"] == rows[f"PlantedLeaks${AT_ENDS[kind]}"] == count
    paths = heap_paths(new, f"PlantedLeaks${AT_ENDS[kind]}")
    assert paths.objects == paths.paths[0].count == 2 * COUNT
    steps = paths.paths[0].steps
    words = {step.name for step in steps} | {step.text for step in steps}
    assert set(ON_PATHS[kind]) <= words
    if kind == "thread-local":
        assert paths.paths[0].root.name.startswith("handler")
    assert {path.name for path in tmp_path.iterdir()} == {"before.sonde", "after.sonde"}
    left = set(os.listdir("/tmp")) - temporary
    assert not [name for name in left if name.startswith((".sonde-heap", ".attach_pid"))]


def test_what_the_file_says_of_the_process(
    jdk: Jdk, java_targets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "heap.sonde"
    with running(jdk, java_targets, "cache") as target:
        before = jvm_counters.counters(target.pid)["sun.rt.safepointTime"]
        assert main(["heap", str(target.pid), "-o", str(path), "--json"]) == 0
        stopped = jvm_counters.counters(target.pid)["sun.rt.safepointTime"] - before
    answer = json.loads(capsys.readouterr().out)
    found = snapshot_file.read(str(path))
    assert answer["objects"] == len(found)
    assert answer["size"] == path.stat().st_size
    assert found.origin.pid == target.pid
    assert found.origin.version == jdk.version
    assert found.origin.argv[-2:] == ["cache", str(COUNT)]
    assert found.origin.pause_ns == answer["pause_ns"]
    assert found.origin.pause_ns is not None
    assert found.origin.walk_ns is not None
    assert 0 < found.origin.pause_ns <= found.origin.walk_ns
    assert found.origin.pause_ns >= stopped * 0.9
    assert (found.runtime, found.estimated_sizes) == ("hotspot", True)
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_performance_data_the_pause_is_unknown(
    jdk: Jdk, java_targets: Path, tmp_path: Path
) -> None:
    path = tmp_path / "heap.sonde"
    with running(jdk, java_targets, "cache", "-XX:-UsePerfData") as target:
        assert main(["heap", "-p", str(target.pid), "-o", str(path)]) == 0
    assert snapshot_file.read(str(path)).origin.pause_ns is None


def test_a_jvm_that_refuses(
    jdk: Jdk, java_targets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "heap.sonde"
    with running(jdk, java_targets, "cache", "-XX:+DisableAttachMechanism") as target:
        assert main(["heap", str(target.pid), "-o", str(path)]) == 1
        assert capsys.readouterr().err == (
            f"sonde: cannot take the heap of process {target.pid}: "
            "it was started with -XX:+DisableAttachMechanism\n"
        )
        path.write_bytes(b"something")
        assert main(["heap", str(target.pid), "-o", str(path)]) == 2
        assert "exists" in capsys.readouterr().err
    assert path.read_bytes() == b"something"
    assert os.listdir(tmp_path) == ["heap.sonde"]


def test_of_a_jvm_that_is_recorded(
    jdk: Jdk, java_targets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, recording = tmp_path / "heap.sonde", tmp_path / "cpu.sonde"
    with running(jdk, java_targets, "cache", "-XX:+EnableDynamicAgentLoading") as target:
        recorder = attach(target.pid, recording)
        until(lambda: session_registry.find(target.pid), "a recording", recorder)
        assert main(["ctl", str(target.pid), "heap", str(path)]) == 0
        assert "took a snapshot of" in capsys.readouterr().out
        assert main(["heap", str(target.pid), "-o", str(path), "--force"]) == 0
        assert main(["ctl", str(target.pid), "stop"]) == 0
        assert recorder.wait(TIMEOUT_S) == 0
    assert heap_paths(graph_of(path), "Product").objects == COUNT
    assert reader.read(recording).processes[0].pid == target.pid


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_jvm_of_another_user(jdk: Jdk, java_targets: Path, tmp_path: Path) -> None:
    nobody = 65534
    path = tmp_path / "heap.sonde"
    # Others may not read pytest's own folders.
    classes = Path(tempfile.mkdtemp())
    try:
        shutil.copytree(java_targets, classes, dirs_exist_ok=True)
        classes.chmod(0o755)
        _take_of(nobody, jdk, classes, path)
    finally:
        shutil.rmtree(classes)
    assert heap_paths(graph_of(path), "Product").objects == COUNT
    assert os.listdir(tmp_path) == ["heap.sonde"]


def _take_of(user: int, jdk: Jdk, classes: Path, path: Path) -> None:
    with subprocess.Popen(
        [jdk.java, "-Xmx64m", "-cp", classes, "PlantedLeaks", "cache", str(COUNT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        user=user,
        group=user,
        cwd="/",
        env=clean_environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert main(["heap", str(process.pid), "-o", str(path)]) == 0
        process.communicate(timeout=TIMEOUT_S)


MOUNT = "mount -t tmpfs -o size={} tmpfs {}"


@contextmanager
def contained(jdk: Jdk, classes: Path, *mounts: str) -> Iterator[int]:
    """A JVM with file systems of its own, as in a container."""
    java = f"exec {jdk.java} -Xmx64m -cp /mnt PlantedLeaks cache {COUNT}"
    # The classes may be below a folder that is mounted over.
    words = [MOUNT.format("16m", "/mnt"), f"cp -r {classes}/. /mnt", *mounts, java]
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", " && ".join(words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                pytest.skip("this machine allows no mounts")
            yield process.pid
            process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_jvm_in_a_container(jdk: Jdk, java_targets: Path, tmp_path: Path) -> None:
    path = tmp_path / "heap.sonde"
    with contained(jdk, java_targets, MOUNT.format("1g", "/tmp")) as pid:
        assert main(["heap", str(pid), "-o", str(path)]) == 0
        left = os.listdir(f"/proc/{pid}/root/tmp")
    assert heap_paths(graph_of(path), "Product").objects == COUNT
    assert not [name for name in left if name.startswith(".sonde")]
    assert os.listdir(tmp_path) == ["heap.sonde"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_jvm_without_room_for_its_heap(
    jdk: Jdk, java_targets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "heap.sonde"
    mounts = (MOUNT.format("1m", "/tmp"), MOUNT.format("1m,ro", "/var/tmp"))
    with contained(jdk, java_targets, *mounts) as pid:
        assert main(["heap", str(pid), "-o", str(path)]) == 1
    error = capsys.readouterr().err
    assert "has no folder for a dump of its heap: /tmp has" in error
    assert error.count("\n") == 1
    assert not path.exists()


def test_counters_of_a_damaged_file() -> None:
    assert jvm_counters.parse(b"") == {}
    assert jvm_counters.parse(b"\xca\xfe\xc0\xc0" + bytes(60)) == {}
    head = b"\xca\xfe\xc0\xc0\x01\x02\x00\x01" + bytes(16) + (32).to_bytes(4, "little") * 2
    assert jvm_counters.parse(head + bytes(100)) == {}
    assert jvm_counters.parse(head + b"\xff" * 100) == {}

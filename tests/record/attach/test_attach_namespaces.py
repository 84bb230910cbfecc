"""Attaching where the target sees another file system, other process ids, or is another user's."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attaching import attached, until
from launching import Interpreter, clean_environment
from matrix import OLDEST_AND_NEWEST
from sonde.record.system.native_libraries import FOLDER
from sonde.record.targets import process

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

Keep = Callable[[str], Path]

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)

NOBODY = 65534
PROGRAM = """
import threading, time
def spin():
    while True: sum(range(1000))
threading.Thread(target=spin, daemon=True, name="spinner").start()
time.sleep(60)
"""


def descendants(pid: int) -> Iterator[int]:
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from descendants(int(child))


@contextmanager
def running(command: list[str], python: Interpreter) -> Iterator[int]:
    """A command that ends up in `python`, with two threads: the pid of that, as we see it."""
    started = subprocess.Popen(command, env=clean_environment(), cwd="/")

    def up() -> int:
        for pid in descendants(started.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            two = len(os.listdir(f"/proc/{pid}/task")) == 2
            if words[0] == os.fsencode(python.path) and two:
                return pid
        return 0

    try:
        yield until(up, "the program starts")
    finally:
        for pid in reversed(list(descendants(started.pid))):
            os.kill(pid, 9)
        started.wait()


def agent_copies(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if "libsonde-cpython" in line}


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_into_a_container(python: Interpreter, keep: Keep) -> None:
    """Its own mounts, in which there is no sonde and another /tmp, and its own process ids."""
    hide = f'mount -t tmpfs none {FOLDER} && mount -t tmpfs none /tmp && exec "$@"'
    command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", hide, "sh"]
    with running([*command, python.path, "-c", PROGRAM], python) as pid:
        assert process.status_of(pid)["NSpid"].split()[-1] == "1"
        assert not os.path.exists(f"/proc/{pid}/root{FOLDER}/libsonde-inject.so")
        for _ in range(2):
            recording = attached(pid, keep("container"), "--for", "0.5").recording
            assert recording.quality["sampler"] == "perf"
            (row,) = [i for i, name in enumerate(recording.threads.name) if name == "spinner"]
            assert str(recording.threads.tid[row]) in os.listdir(f"/proc/{pid}/task")
            assert len(recording.samples) > 0
        assert len(agent_copies(pid)) == 1  # the copy of the first time served the second
        assert os.listdir(f"/proc/{pid}/root/tmp") == []


def test_root_records_another_user(any_python: Interpreter, keep: Keep) -> None:
    interpreter = Path(any_python.path)
    become = f"import os; os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    with running([str(interpreter), "-c", become + PROGRAM], any_python) as pid:
        assert process.status_of(pid)["Uid"].split()[0] == str(NOBODY)
        run = attached(pid, keep("somebody"), "--for", "0.5")
    assert "spinner" in run.recording.threads.name
    assert run.recording.quality["sampler"] == "perf"

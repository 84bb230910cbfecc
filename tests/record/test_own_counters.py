"""Counters that a thread reads of itself."""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sonde
from launching import must_run
from sonde.errors import SondeError, UsageError
from sonde.record.system import perf_events

PAGE = 4096
PAGES = 300


def touch(pages: int = PAGES) -> None:
    """Each page of new memory is a fault of the thread that touches it first."""
    with mmap.mmap(-1, pages * PAGE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(pages):
            memory[page * PAGE] = 1


def burn(seconds: float) -> int:
    began = time.thread_time_ns()
    while time.thread_time_ns() - began < seconds * 1e9:
        pass
    return time.thread_time_ns() - began


def descriptors() -> set[str]:
    return {link for fd in os.listdir("/proc/self/fd") if (link := link_of(fd))}


def link_of(fd: str) -> str:
    try:
        link = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""
    return fd if "perf_event" in link else ""


def test_a_block_counts_what_its_thread_does() -> None:
    with sonde.thread_counters("minor-faults", "task-clock") as counters:
        touch()
        used = burn(0.02)
    assert PAGES <= counters.delta["minor-faults"] <= PAGES + 100
    assert used <= counters.delta["task-clock"] < 2 * used
    assert counters.share == 1.0


def test_all_counters_are_up_to_date() -> None:
    """In a group the kernel would keep all but the first as of the last context switch."""
    counters = sonde.thread_counters("context-switches", "minor-faults", "task-clock")
    before = counters.read()
    touch()
    used = burn(0.01)
    _, faults, cpu = (now - then for now, then in zip(counters.read(), before, strict=True))
    assert faults >= PAGES
    assert cpu >= used


def test_each_thread_has_its_own() -> None:
    counters = sonde.thread_counters("minor-faults")
    found: dict[str, int] = {}

    def work(name: str, pages: int) -> None:
        with counters:
            touch(pages)
        found[name] = counters.delta["minor-faults"]

    before = descriptors()
    threads = [
        threading.Thread(target=work, args=(name, pages))
        for name, pages in (("few", 50), ("many", 2000))
    ]
    with counters:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 50 <= found["few"] < 500
    assert 2000 <= found["many"] < 2500
    assert counters.delta["minor-faults"] < 500
    assert descriptors() == before  # a thread's are closed when it ends


def test_a_forked_child_counts_for_itself() -> None:
    counters = sonde.thread_counters("minor-faults")
    with counters:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            with counters:
                touch()
            os.write(write, str(counters.delta["minor-faults"]).encode())
            os._exit(0)
        os.waitpid(child, 0)
        counted = int(os.read(read, 100))
        os.close(read)
        os.close(write)
    assert PAGES <= counted <= PAGES + 200


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("nonsense",), "invalid event"),
        (("page-faults",) * 2, "twice"),
        (("page-faults@5",), "without a period"),
        (tuple(f"r{n}" for n in range(9)), "at most 8"),
    ],
)
def test_bad_names(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sonde.thread_counters(*names)


def has_cycles() -> bool:
    try:
        os.close(perf_events.open_cycles(0))
    except OSError:
        return False
    return True


def test_counters_of_the_processor() -> None:
    if not has_cycles():
        with pytest.raises(SondeError, match="no hardware counters"):
            sonde.thread_counters("cycles", "instructions")
        return
    with sonde.thread_counters("cycles", "instructions") as counters:
        burn(0.01)
    assert min(counters.delta.values()) > 0


def test_a_delta_needs_a_block() -> None:
    with pytest.raises(SondeError, match="has not left"):
        _ = sonde.thread_counters().delta


PROGRAM = """
import mmap, sonde
counters = sonde.thread_counters("minor-faults")
def work():
    with mmap.mmap(-1, 200 * 4096) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(200):
            memory[page * 4096] = 1
with counters.span("load"):
    work()
"""


def test_spans_carry_the_counts(keep: Callable[[str], Path], tmp_path: Path) -> None:
    script = tmp_path / "counted.py"
    script.write_text(PROGRAM)
    run = must_run(keep("counted"), [sys.executable, script])
    spans = run.recording.spans
    assert spans.name == ["load"]
    assert 200 <= int(spans.attributes[0]["minor-faults"]) <= 400

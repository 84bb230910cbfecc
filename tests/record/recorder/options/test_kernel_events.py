"""Names of events, as the kernel numbers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.errors import SondeError, UsageError
from sonde.record.recorder.options import kernel_events
from sonde.record.recorder.options.kernel_events import parse
from sonde.record.shm import layout as shm
from sonde.record.system import elf


@pytest.mark.parametrize(
    ("name", "type_", "config", "period"),
    [
        # linux/perf_event.h
        ("page-faults", 1, 2, 1),
        ("faults@100", 1, 2, 100),
        ("cs", 1, 3, 1),
        ("task-clock", 1, 1, 1_000_000),
        ("cycles", 0, 0, 1_000_000),
        ("branch-instructions@7", 0, 4, 7),
        ("L1-dcache-load-misses", 3, 0x10000, 10_000),
        ("LLC-loads", 3, 2, 100_000),
        ("dTLB-store-misses@5", 3, 3 | 1 << 8 | 1 << 16, 5),
        ("L1-icache-prefetches", 3, 1 | 2 << 8, 100_000),
        ("r01c2", 4, 0x1C2, 1_000_000),
    ],
)
def test_names(name: str, type_: int, config: int, period: int) -> None:
    event = parse(f"event:{name}")
    assert (event.type, event.config, event.period) == (type_, config, period)


def test_what_the_thread_counts_itself() -> None:
    assert parse("event:page-faults").measure == shm.MEASURE_FAULTS
    assert parse("event:major-faults").measure == shm.MEASURE_MAJOR_FAULTS
    assert parse("event:context-switches@3").measure == shm.MEASURE_SWITCHES
    assert parse("event:cycles").measure == shm.MEASURE_PERIOD


@pytest.mark.parametrize(
    "name",
    ["", "nonsense", "cycles@", "cycles@0", "cycles@-1", "cycles@1e3", "cycles@١", "LLC", "r",
     "rxyz", "L1-dcache-load-hits", "raw_syscalls:sys_enter", "signal:signal_deliver"],
)  # fmt: skip
def test_no_such_event(name: str) -> None:
    with pytest.raises(UsageError):
        parse(f"event:{name}")


def test_a_tracepoint_is_found_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "events" / "sched" / "sched_switch"
    folder.mkdir(parents=True)
    (folder / "id").write_text("314\n")
    monkeypatch.setattr(kernel_events, "_TRACEFS", (str(tmp_path),))
    event = parse("event:sched:sched_switch")
    assert (event.type, event.config, event.period) == (2, 314, 1)
    with pytest.raises(UsageError, match="no tracepoint 'sched:nothing'"):
        parse("event:sched:nothing")
    monkeypatch.setattr(kernel_events, "_TRACEFS", (str(tmp_path / "missing"),))
    with pytest.raises(SondeError, match="mount tracefs"):
        parse("event:sched:sched_switch")


def test_where_a_function_begins_in_its_file() -> None:
    libc = Path("/lib/x86_64-linux-gnu/libc.so.6")
    if not libc.exists():
        pytest.skip("no libc where this test looks for it")
    at = elf.file_offset(str(libc), "getppid")
    assert at is not None
    # getppid is `mov $110, %eax; syscall` on x86-64, maybe after an endbr64.
    code = libc.read_bytes()[at : at + 16]
    assert b"\xb8\x6e\x00\x00\x00\x0f\x05" in code
    assert elf.file_offset(str(libc), "no_such_function") is None
    assert elf.file_offset("/etc/passwd", "main") is None


def test_several_are_checked_together() -> None:
    from sonde.record.recorder.options.options import parse_what

    many = ",".join(f"event:page-faults@{n}" for n in range(1, 18))
    with pytest.raises(UsageError, match="more than 16"):
        parse_what(many)
    assert parse_what("+event:page-faults") == ["cpu", "locks", "event:page-faults"]
    assert parse_what("+waits,-locks") == ["cpu", "waits"]
    assert parse_what("cpu,event:page-faults") == ["cpu", "event:page-faults"]

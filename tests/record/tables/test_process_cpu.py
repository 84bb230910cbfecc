"""CPU time that no sample stands for."""

from __future__ import annotations

import pytest

from sonde.record.tables import process_cpu
from sonde.record.tables.process_cpu import ProcessCpu

MS = 1_000_000


class Clock:
    def __init__(self) -> None:
        self.used = 1000 * MS

    def __call__(self, pid: int) -> int:
        return self.used


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(process_cpu, "process_cpu", clock)
    return clock


def compared(cpu: ProcessCpu, known: int = 0, reader_ns: int = 0) -> int:
    cpu.compare(cpu.used(reader_ns), 2 * MS, lambda: known)
    return cpu.unsampled


def test_what_is_too_much_is_told(clock: Clock) -> None:
    cpu = ProcessCpu(1)
    clock.used += 100 * MS
    cpu.begin()  # all until now was spent on being entered
    clock.used += 52 * MS
    cpu.sampled += 30 * MS
    assert compared(cpu) == 20 * MS
    assert compared(cpu, reader_ns=5 * MS) == 15 * MS
    # Known threads may have used it and not told yet.
    assert compared(cpu, known=20 * MS) == 0


def test_what_is_little_is_not(clock: Clock) -> None:
    cpu = ProcessCpu(1)
    cpu.sampled += 1000 * MS
    clock.used += 1012 * MS
    assert compared(cpu) == 0
    clock.used += MS
    assert compared(cpu) == 11 * MS


def test_what_was_not_captured_does_not_count(clock: Clock) -> None:
    cpu = ProcessCpu(1)
    clock.used += 12 * MS
    cpu.account_until(counted=True)
    clock.used += 500 * MS
    cpu.account_until(counted=False)
    assert compared(cpu) == 10 * MS


def test_a_new_part_begins_anew(clock: Clock) -> None:
    cpu = ProcessCpu(1)
    clock.used += 12 * MS
    assert compared(cpu, reader_ns=4 * MS) == 6 * MS
    cpu.start_segment(4 * MS)
    assert cpu.unsampled == 0
    clock.used += 9 * MS
    assert compared(cpu, reader_ns=5 * MS) == 6 * MS
    assert cpu.counts()["unsampled_cpu_ns"] == 12 * MS

"""What the kernel counts of threads, against programs that know what they did."""

from __future__ import annotations

import mmap
import os
import threading
import time

import pytest

from sonde.record.system import cpu_times, perf_events
from sonde.record.system import steal as taken
from sonde.record.system.thread_counters import Countable, Counters, CounterTotals

PAGES = 500
SLEEPS = 40


class Uncounted(Countable):
    """A machine that permits no perf events."""

    def open(self, tid: int) -> list[int]:
        return []


@pytest.fixture(params=[Countable, Uncounted], ids=["perf", "proc"])
def countable(request: pytest.FixtureRequest) -> Countable:
    kind: type[Countable] = request.param
    return kind()


class Worker:
    """A thread that does what it is told, one thing after another."""

    def __init__(self) -> None:
        self._go, self._done = threading.Event(), threading.Event()
        self._job = lambda: None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self.tid: int = self._thread.native_id or 0

    def _serve(self) -> None:
        while True:
            self._go.wait()
            self._go.clear()
            if self._job is None:
                return
            self._job()
            self._done.set()

    def does(self, job: object) -> None:
        self._job = job  # type: ignore[assignment]
        self._done.clear()
        self._go.set()
        if job is None:
            self._thread.join()
        else:
            self._done.wait()


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def fault(pages: int) -> None:
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1


def sleep_often() -> None:
    for _ in range(SLEEPS):
        time.sleep(0.0005)


def test_each_figure_is_what_the_thread_did(countable: Countable) -> None:
    worker = Worker()
    counters = Counters(os.getpid(), worker.tid, countable)
    began = time.monotonic_ns()
    worker.does(lambda: burn(0.05))
    used = counters.step()
    assert used is not None
    # By another clock than the thread's. At most all the time: where the hypervisor takes the
    # processor away, it goes on.
    assert 0.99 * 0.05e9 <= used.cpu_ns <= time.monotonic_ns() - began

    worker.does(lambda: fault(PAGES))
    faulted = counters.step()
    assert faulted is not None
    assert PAGES <= faulted.minor_faults < PAGES + 50

    worker.does(sleep_often)
    slept = counters.step()
    assert slept is not None
    assert SLEEPS <= slept.voluntary < SLEEPS + 20
    counters.close()


def test_who_did_nothing_has_no_step(countable: Countable) -> None:
    worker = Worker()
    counters = Counters(os.getpid(), worker.tid, countable)
    counters.step()
    assert counters.step() is None
    counters.close()


def test_what_an_ended_thread_used_last_is_not_lost() -> None:
    worker = Worker()
    countable = Countable()
    counters = Counters(os.getpid(), worker.tid, countable)
    if not countable.names:
        pytest.skip("perf events are not permitted here")
    worker.does(lambda: burn(0.05))
    worker.does(None)
    used = counters.step()
    assert used is not None
    assert used.cpu_ns >= 0.05e9
    counters.close()


def test_nothing_stays_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    counters = Counters(os.getpid(), threading.get_native_id(), Countable())
    counters.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_first_counter_is_the_clock() -> None:
    assert next(iter(perf_events.COUNTED)) == "cpu_ns"


def test_figures_never_go_back() -> None:
    step = CounterTotals(cpu_ns=5, run_delay_ns=9, voluntary=3).since(
        CounterTotals(cpu_ns=7, run_delay_ns=4)
    )
    assert (step.cpu_ns, step.run_delay_ns, step.voluntary) == (0, 5, -1)


STAT = """cpu  100 20 30 1000 50 4 6 40 0 0
cpu0 60 10 20 500 30 2 3 10 0 0
cpu1 40 10 10 500 20 2 3 30 0 0
intr 12345
"""
LATER = STAT.replace("cpu1 40 10 10 500 20 2 3 30", "cpu1 45 10 12 499 20 2 4 33")


def test_processors_from_a_record_with_known_answers() -> None:
    found = cpu_times.parse(STAT)
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert list(found) == ["all", "0", "1"]
    assert (found["all"].steal_ns, found["0"].interrupt_ns) == (40 * tick, 5 * tick)
    (step,) = [row for row in cpu_times.steps(found, cpu_times.parse(LATER)) if row.name == "1"]
    assert [ns // tick for ns in (step.user_ns, step.system_ns, step.interrupt_ns)] == [5, 2, 1]
    assert (step.steal_ns // tick, step.idle_ns) == (3, 0)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("usage_usec 5\nnr_throttled 2\nthrottled_usec 1500\n", 1_500_000),
        ("nr_periods 3\nthrottled_time 77\n", 77),
        ("usage_usec 5\n", 0),
    ],
)
def test_throttling_in_both_kinds_of_groups(text: str, ns: int) -> None:
    assert taken.throttled_ns(text) == ns


def test_steps_agree_with_the_machine() -> None:
    before = cpu_times.together()
    process = taken.StolenTime(os.getpid())
    burn(0.3)
    (busy, idle, steal, _), _ = process.step()
    now = cpu_times.together().since(before)
    ticks = 6 * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert abs(busy - (now.total_ns - now.idle_ns)) <= ticks
    assert abs(idle - now.idle_ns) <= ticks
    assert abs(steal - now.steal_ns) <= ticks
    assert busy >= 0.25e9


def times_of(*rows: tuple[int, int, int]) -> dict[str, cpu_times.CpuTime]:
    """Of processors 0, 1, …: user, stolen and idle time."""
    return {
        str(number): cpu_times.CpuTime(str(number), user, 0, 0, steal, idle)
        for number, (user, steal, idle) in enumerate(rows)
    }


def test_a_processor_is_told_when_time_was_stolen_and_else_now_and_then() -> None:
    processors = taken.ProcessorSteal(times_of((0, 0, 0), (0, 0, 0)))
    assert processors.step(times_of((5, 0, 0), (0, 0, 5)), reported=True) == []
    # Since it was told last, not since the last step.
    assert processors.step(times_of((8, 2, 0), (0, 0, 10)), reported=True) == [(0, 10, 2)]
    for step in range(7):
        assert processors.step(times_of((9 + step, 2, 0), (0, 0, 10)), reported=True) == []
    assert processors.step(times_of((20, 2, 0), (1, 0, 10)), reported=True) == [(1, 1, 0)]
    # In a pause nothing is told, nor later what was in it.
    assert processors.step(times_of((30, 9, 0), (9, 9, 10)), reported=False) == []
    assert processors.step(times_of((31, 10, 0), (9, 9, 10)), reported=True) == [(0, 2, 1)]

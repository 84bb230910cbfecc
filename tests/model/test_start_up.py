"""The end of a start-up on columns done by hand."""

from __future__ import annotations

import numpy as np

from sonde.model.start_up import IDLE_NS, Interval, start_up, united

MS = 1_000_000


def phase(text: str, times: list[int] | None = None) -> Interval | None:
    """A millisecond for each letter: i imports, s serves, anything else works."""
    letters = np.array(list(text))
    time = np.array(times or range(1, len(text) + 1), dtype=np.int64) * MS
    weight = np.full(len(text), MS, dtype=np.int64)
    return start_up(time, weight, letters == "i", letters == "s")


def test_ends_with_the_last_import_of_the_beginning() -> None:
    assert phase("iiiiiii" + "w" * 20) == (0, 7 * MS)


def test_a_little_work_between_imports_belongs_to_it() -> None:
    assert phase("iiiiiwwwiii" + "w" * 40) == (0, 11 * MS)


def test_an_import_in_the_middle_of_the_work_does_not() -> None:
    assert phase("iiiiii" + "w" * 40 + "iii" + "w" * 9) == (0, 6 * MS)


def test_a_program_that_does_not_begin_with_imports_has_none() -> None:
    assert phase("w" * 20 + "iiiiii") is None
    assert phase("w" * 20) is None
    assert phase("") is None


def test_few_samples_show_no_phase() -> None:
    assert phase("iiii" + "w" * 20) is None


def test_ends_when_the_main_thread_waits_for_connections() -> None:
    assert phase("iiiiiiwsiiiiii") == (0, 6 * MS)


def test_ends_when_the_main_thread_is_idle() -> None:
    idle = IDLE_NS // MS
    times = [1, 2, 3, 4, 5, 6, *range(7 + idle, 17 + idle)]
    assert phase("i" * 16, times) == (0, 6 * MS)
    times = [1, 2, 3, 4, 5, 6, *range(6 + idle, 16 + idle)]
    assert phase("i" * 16, times) == (0, (15 + idle) * MS)


def test_processes_that_start_together_are_one_start_up() -> None:
    second = 1_000_000_000
    parts = [
        Interval(0, second),
        Interval(second // 2, 3 * second),
        Interval(4 * second, 5 * second),
        Interval(60 * second, 61 * second),
    ]
    assert united(parts) == (0, 5 * second)
    assert united([]) is None

"""What the processes of a test run found, and how pytest's terminal shows it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .spans import is_test

if TYPE_CHECKING:
    import pytest

    from .slow_tests import SlowTest

FEW_SAMPLES = 20
"""Below so many a share is not worth a line."""


@dataclass
class RunResults:
    """Of one process, or of all workers together."""

    tests: int = 0
    files: list[str] = field(default_factory=list)
    rows: list[SlowTest] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Why processes have no recording."""

    def add(self, other: RunResults, top: int) -> None:
        """`tests` stays: each worker collects all of them."""
        self.tests = max(self.tests, other.tests)
        self.files += other.files
        self.rows = sorted([*self.rows, *other.rows], key=lambda row: -row.wall_ns)[:top]
        self.undecided += other.undecided
        self.failures += other.failures

    def to_json(self) -> dict[str, Any]:
        """What may travel from a worker."""
        return {
            "tests": self.tests,
            "files": self.files,
            "rows": [row.to_json() for row in self.rows],
            "undecided": self.undecided,
            "failures": self.failures,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> RunResults:
        from .slow_tests import SlowTest

        return cls(**found | {"rows": [SlowTest(**row) for row in found["rows"]]})


def write(results: RunResults, out: pytest.TerminalReporter) -> None:
    from sonde.views.selecting.formatting import count, duration, percent

    out.section(f"sonde: slowest of {count(results.tests, 'test')}")
    if results.rows:
        out.write_line(f"{'wall':>8} {'CPU':>8} {'lock wait':>9}  test")
    for row in results.rows:
        waited = duration(row.lock_wait_ns) if row.lock_wait_ns else "-"
        out.write_line(
            f"{duration(row.wall_ns):>8} {duration(row.cpu_ns):>8} {waited:>9}  {row.name}"
        )
        if row.samples < FEW_SAMPLES:
            continue
        for share, name, file, line in row.functions:
            where = f"  {os.path.basename(file)}:{line}" if line else ""
            out.write_line(f"{'':>28} {percent(share):>5}  {name}{where}")
    if results.undecided:
        out.write_line(
            f"{count(len(results.undecided), 'limit')} could not be decided:", yellow=True
        )
        for sentence in results.undecided:
            out.write_line(f"  {sentence}", yellow=True)
    for failure in dict.fromkeys(results.failures):
        out.write_line(failure, red=True)
    if not results.files and not results.failures:
        out.write_line("no test was slow enough for a recording")
    for path in results.files:
        out.write_line(f"recording: {short_path(path)}")
    test = next((row for row in results.rows if is_test(row.name)), None)
    if test is not None:
        words = ["sonde", "report", short_path(test.path), "tree", "--span", test.name]
        out.write_line(f"one test:  {shlex.join(words)}")


def short_path(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative

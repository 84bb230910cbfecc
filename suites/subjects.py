"""What a suite is: a name, its modules, and how an interpreter runs one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent / "drivers"


@dataclass(frozen=True)
class Prepared:
    """A suite that is ready to run on one interpreter."""

    python: str
    """The interpreter, or that of a virtual environment with the suite's packages."""
    modules: Sequence[str]
    driver: str = "unittest_cases.py"
    cpython: bool = False
    folder: Path | None = None
    """Where pytest runs; else a new empty folder."""
    path: Sequence[str] = ()
    """Folders to put before sys.path."""
    options: Sequence[str] = ()
    """For pytest."""
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For pytest: the files of each module."""
    without: Sequence[str] = ()
    """Patterns of cases that never run, because they harm the machine or need what it lacks."""
    installed: Path | None = None
    """A file that is written anew when the tests are installed anew."""


@dataclass(frozen=True)
class Suite:
    name: str
    prepare: Callable[[str, str], Prepared] = field(repr=False)
    """From the version and the path of an interpreter. Raises pythons.Unavailable."""

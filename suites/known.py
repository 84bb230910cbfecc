"""Differences by design: each with its reason, and checked to still occur."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from suites.comparison import Difference

FILE = Path(__file__).with_name("known.toml")


@dataclass
class Known:
    suite: str
    cases: str
    """A pattern of case names."""
    reason: str
    modes: tuple[str, ...] = ()
    """All if empty."""
    versions: tuple[str, ...] = ()
    sometimes: bool = False
    """A case of it may also agree, so it is never stale."""
    met: bool = field(default=False, compare=False)
    """A case of it was compared in this run."""
    occurred: bool = field(default=False, compare=False)
    """A case of it differed."""

    def applies(self, suite: str, version: str, mode: str, case: str) -> bool:
        return (
            suite == self.suite
            and (not self.versions or version in self.versions)
            and (not self.modes or mode in self.modes)
            and fnmatch.fnmatchcase(case, self.cases)
        )

    @property
    def stale(self) -> bool:
        return self.met and not self.occurred and not self.sometimes


class KnownDifferences:
    """The entries of a file, and which of them this run has seen."""

    def __init__(self, path: Path = FILE) -> None:
        self.entries = [
            Known(
                suite=entry["suite"],
                cases=entry["cases"],
                reason=entry["reason"],
                modes=tuple(entry.get("modes", ())),
                versions=tuple(entry.get("versions", ())),
                sometimes=entry.get("sometimes", False),
            )
            for entry in tomllib.loads(path.read_text()).get("difference", [])
        ]

    def note(
        self,
        suite: str,
        version: str,
        mode: str,
        compared: Collection[str],
        differences: Collection[Difference],
    ) -> None:
        """Takes the compared cases of a module, and marks those differences that are known.

        A flaky case says nothing about an entry: neither that it holds nor that it is stale.
        """
        by_case = {difference.case: difference for difference in differences}
        for case in compared:
            entry = next((e for e in self.entries if e.applies(suite, version, mode, case)), None)
            difference = by_case.get(case)
            if not entry or (difference and difference.verdict == "flaky"):
                continue
            entry.met = True
            if difference and difference.verdict in ("difference", "once"):
                entry.occurred = True
                difference.known = entry.reason

    def stale(self) -> list[Known]:
        return [entry for entry in self.entries if entry.stale]

"""Differences by design: each with its reason, and checked to still occur."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

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
    met: bool = field(default=False, compare=False)
    """A case of it ran in this run."""
    occurred: bool = field(default=False, compare=False)

    def applies(self, suite: str, version: str, mode: str, case: str) -> bool:
        return (
            suite == self.suite
            and (not self.versions or version in self.versions)
            and (not self.modes or mode in self.modes)
            and fnmatch.fnmatchcase(case, self.cases)
        )

    @property
    def stale(self) -> bool:
        return self.met and not self.occurred


def load(path: Path = FILE) -> list[Known]:
    entries = tomllib.loads(path.read_text()).get("difference", [])
    return [
        Known(
            suite=entry["suite"],
            cases=entry["cases"],
            reason=entry["reason"],
            modes=tuple(entry.get("modes", ())),
            versions=tuple(entry.get("versions", ())),
        )
        for entry in entries
    ]


def find(entries: list[Known], suite: str, version: str, mode: str, case: str) -> Known | None:
    return next((e for e in entries if e.applies(suite, version, mode, case)), None)

"""The outcome of each case of one run, as the drivers log it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

# The pseudo case that stands for the process itself: how it ended after all cases had run.
PROCESS = "(process)"


@dataclass(frozen=True)
class Outcome:
    kind: str
    """One of those that docs/explanation/suites.md lists."""
    why: str = ""


@dataclass
class Progress:
    """What a log says so far."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    started: str | None = None
    """The case under way."""
    finished: bool = False


def read_log(path: Path) -> Progress:
    progress = Progress()
    if not path.exists():
        return progress
    for line in path.read_bytes().split(b"\n")[:-1]:
        record = json.loads(line)
        if "start" in record:
            progress.started = record["start"]
        elif "end" in record:
            progress.outcomes[record["end"]] = Outcome(record["outcome"], record["why"])
            progress.started = None
        else:
            progress.finished = True
    return progress

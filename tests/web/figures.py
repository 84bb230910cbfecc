"""What the reports say of a recording, for many choices at once.

    figures.py FILE < CHOICES

CHOICES is a JSON list of `[view, choice, options]`; the answer is the list of what
`sonde report FILE VIEW --json` prints for each, without starting a process for every one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sonde.recording.reader import read
from sonde.views.selecting.selection import select
from sonde.views.stacks.flat import flat
from sonde.views.stacks.tree import tree

VIEWS: dict[str, Any] = {"tree": tree, "flat": flat}


def figures(file: str, asked: list[tuple[str, dict[str, Any], dict[str, Any]]]) -> list[Any]:
    recording = read(file)
    return [
        VIEWS[view](recording, select(**choice), **options).to_json()
        for view, choice, options in asked
    ]


if __name__ == "__main__":
    json.dump(figures(sys.argv[1], json.load(sys.stdin)), sys.stdout)

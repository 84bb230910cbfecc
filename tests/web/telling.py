"""Answers of `sonde fleet report ... --json`, one after the other, by one process.

Each line of standard input is the words after `report` as a JSON list, each line of the output the
answer. To start a process for every question takes longer than the answers.
"""

from __future__ import annotations

import json
import sys

from fleet.recorded import answered

for line in sys.stdin:
    print(json.dumps(answered("fleet", "report", *json.loads(line))), flush=True)

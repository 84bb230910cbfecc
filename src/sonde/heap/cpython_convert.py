"""Makes a snapshot file of what an agent wrote, for a program that took a snapshot of itself.

It runs in a process of its own: the program need not load NumPy, nor hold its heap a second time.
"""

from __future__ import annotations

import json
import os
import sys

from sonde.errors import SondeError
from sonde.heap import snapshot_file
from sonde.heap.cpython import read
from sonde.heap.snapshot import Origin


def main() -> None:
    order = json.loads(sys.argv[1])
    origin = Origin(**order["origin"])
    try:
        with os.fdopen(order["file"], "rb") as file:
            snapshot_file.write(read(file, f"process {origin.pid}", origin), order["path"])
    except (SondeError, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None

"""Runs one program over and over with something extra: `slowed.py PROGRAM SECONDS SHARE`.

Seconds of CPU time, of which the function `extra` has the given share, round by round.
"""

import sys
import time
from pathlib import Path

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from workloads import programs

PIECE_S = 0.002


def extra(until: float) -> None:
    while time.process_time() < until:
        for _ in range(300):
            pass


def main() -> None:
    work = programs.prepare(sys.argv[1])
    seconds, share = float(sys.argv[2]), float(sys.argv[3])
    work()
    now = time.process_time()
    end = now + seconds
    owed = 0.0
    while now < end:
        work()
        done = time.process_time()
        owed += (done - now) * share / (1 - share)
        if owed >= PIECE_S:
            extra(done + owed)
            owed = 0.0
        now = time.process_time()


main()

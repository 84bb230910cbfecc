"""A program on its own, for profilers that start it: `whole_program.py PROGRAM ROUNDS OUT`.

Writes the CPU time of that many rounds into OUT, in nanoseconds.
"""

import sys
import time
from pathlib import Path

# Started as a script, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workloads import programs

if __name__ == "__main__":
    name, rounds, out = sys.argv[1:]
    work = programs.prepare(name)
    work()
    began = time.process_time_ns()
    for _ in range(int(rounds)):
        work()
    Path(out).write_text(str(time.process_time_ns() - began))

"""Runs one of pyperformance's programs, unchanged, for a given CPU time.

pyperformance_.py RUN_BENCHMARK.py CPU_SECONDS [ARGS...]
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in"))
program = sys.argv[1]
sys.argv = sys.argv[1:]
with open(program, "rb") as f:
    text = f.read()
exec(compile(text, program, "exec"), {"__name__": "__main__", "__file__": program})

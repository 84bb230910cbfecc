"""Runs one program over and over: `steady.py PROGRAM SECONDS [TRACE]`, seconds of CPU time.

With TRACE, every call is traced and what was seen is written there. Nothing else
differs, so that both runs make the same calls. Says "ready" when the first round is done.
"""

import sys
from pathlib import Path

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if len(sys.argv) > 3:
    import atexit

    from accuracy.edges import EdgeTracer

    tracer = EdgeTracer()

    # The first to be registered is the last to be called: what others do at the end is traced too.
    @atexit.register
    def ended() -> None:
        tracer.stop()
        tracer.write(sys.argv[3])

    tracer.start()

import time

from workloads import programs


def rounds(work: programs.Work, seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        work()


def main() -> None:
    work = programs.prepare(sys.argv[1])
    work()
    print("ready", flush=True)
    rounds(work, float(sys.argv[2]))


main()

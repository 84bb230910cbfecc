"""Runs one program over and over: `steady.py PROGRAM SECONDS [TRACE]`, seconds of CPU time.

With TRACE, every call is traced and what was seen is written there. Nothing else
differs, so that both runs make the same calls. Says "ready" when the first round is done.
"""

import sys

if len(sys.argv) > 3:
    from edges import EdgeTracer

    tracer = EdgeTracer()
    tracer.start()

import time

import programs


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
if len(sys.argv) > 3:
    tracer.stop()
    tracer.write(sys.argv[3])

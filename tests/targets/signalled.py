"""Waits for signals and says each that came; ends after the one named in its argument."""

import signal
import sys
import time

came = []


def note(number, _frame):
    came.append(signal.Signals(number).name)


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, note)
print("ready", flush=True)
told = []
while sys.argv[1] not in told:
    end = time.thread_time_ns() + 2_000_000
    while time.thread_time_ns() < end:
        pass
    time.sleep(0.005)
    new = came[len(told) :]
    told += new
    for name in new:
        print(name, flush=True)
sys.exit(3)

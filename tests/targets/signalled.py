"""Waits for signals and says which came; ends after the one named in its argument."""

import signal
import sys
import time

came = []


def note(number, _frame):
    came.append(signal.Signals(number).name)


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, note)
print("ready", flush=True)
while sys.argv[1] not in came:
    end = time.thread_time_ns() + 2_000_000
    while time.thread_time_ns() < end:
        pass
    time.sleep(0.005)
print(" ".join(came), flush=True)
sys.exit(3)

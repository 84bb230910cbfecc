"""A program that computes while others want its processors."""

import os
import subprocess
import sys
import time

BURN = "import time\nend = time.time() + 1.2\nwhile time.time() < end: pass"
rivals = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(2 * (os.cpu_count() or 1))]
end = time.thread_time() + 0.25
while time.thread_time() < end:
    sum(range(100))
for rival in rivals:
    rival.wait()

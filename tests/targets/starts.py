"""What a program can see of how its interpreter was started and how it ends."""

import os
import subprocess
import sys
import threading

seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith("sys.") else None)


def work():
    for _ in range(2_000_000):
        pass


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = os.fork()
if child == 0:
    work()
    sys.exit(6)
print("forked", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
print("executed", subprocess.call([sys.executable, "-c", "import sys; sys.exit(4)"]), flush=True)
sys.addaudithook(lambda event, args: None)
print(seen, sorted(os.environ))
sys.exit(3)

"""Objects in sub-interpreters: of one that shares the GIL, and of one that has its own (3.12)."""

import os
import sys
import threading

try:
    import _interpreters as interpreters

    shared, own = interpreters.create("legacy"), interpreters.create("isolated")
except ImportError:
    import _xxsubinterpreters as interpreters

    shared, own = interpreters.create(isolated=False), interpreters.create(isolated=True)

RUN = getattr(interpreters, "exec", None) or interpreters.run_string
RUN(shared, "class InShared: pass\nkept = [InShared() for _ in range(7)]")
BUSY = """
class InOwn: pass
kept = []
while True:
    kept = [InOwn() for _ in range(1000)]
"""
if sys.version_info >= (3, 12):
    threading.Thread(target=RUN, args=(own, BUSY), daemon=True).start()
print(os.getpid(), flush=True)
sys.stdin.read()
os._exit(0)

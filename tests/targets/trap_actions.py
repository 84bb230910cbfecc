"""Sets handlers of SIGTRAP again and again, and tells what came of it; begins with a line of input."""

import json
import os
import signal
import sys
import time

came = []


def note(number, _frame):
    came.append(number)


def burn(seconds=0.15):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return len(came)


def set_all():
    """How often the handler was called: for what was sent, and for nothing else."""
    found = []
    for action in (note, signal.SIG_IGN, note):
        signal.signal(signal.SIGTRAP, action)
        burn()
        os.kill(os.getpid(), signal.SIGTRAP)
        found.append(burn())
        found.append(signal.getsignal(signal.SIGTRAP) == action)
    signal.signal(signal.SIGTRAP, signal.SIG_DFL)
    burn()
    return found


def child(body):
    pid = os.fork()
    if pid == 0:
        body()
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


print(os.getpid(), flush=True)
sys.stdin.readline()
told = {
    "set": set_all(),
    "child": child(set_all),
    "killed": child(lambda: os.kill(os.getpid(), signal.SIGTRAP)),
}
print(json.dumps(told))

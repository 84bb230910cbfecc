"""Two interpreters in one process, each with a GIL of its own: burners against sleepers in both.

The switch interval is long, so that what a timer is late by does not matter.
"""

import json
import os
import sys
import threading
import time

from ledger import Waiting, add, now, tell

if sys.version_info >= (3, 13):
    import _interpreters
else:
    import _xxsubinterpreters as _interpreters

SCRIPT = """
import sys, threading, time
sys.path.insert(0, {folder!r})
sys.setswitchinterval(0.05)
from ledger import Waiting, books, now

SLEEP_NS = 5_000_000

def {burner}(until):
    while now() < until:
        sum(range(100))

def {waiter}():
    time.sleep(SLEEP_NS / 1e9)

until = now() + {ns}
burner = threading.Thread(target={burner}, args=(until,))
burner.start()
while now() < until - 100_000_000:
    waiting = Waiting({scenario!r})
    {waiter}()
    waiting.over((waiting.start + SLEEP_NS, waiting.cpu, waiting.delay))
burner.join()
"""
TELL = """
import json, os
os.write({fd}, json.dumps(books()).encode())
"""


def scenario(name, owner):
    return {
        "kind": "gil",
        "waiter": f"take_{name}",
        "owners": [owner],
        "signal": True,
        "by": "chain",
    }


scenarios = {
    "inner": scenario("inner", "burn_inner"),
    "outer": scenario("outer", "burn_outer"),
    "entering": scenario("entering", "burn_alone"),
}
if sys.version_info < (3, 13):
    # 3.12 waits in the name of the interpreter it is about to enter, where it has no frames yet.
    scenarios["entering"]["waiter"] = "[no Python frames]"
    scenarios["entering"]["alone"] = False


def script(name, seconds):
    folder = os.path.dirname(os.path.abspath(__file__))
    return SCRIPT.format(
        folder=folder,
        burner=f"burn_{name}",
        waiter=f"take_{name}",
        scenario=name,
        ns=int(seconds * 1e9),
    )


ALONE = """
import sys, threading, time
sys.setswitchinterval(0.05)
def burn_alone(until):
    while time.monotonic_ns() < until:
        sum(range(100))
threading.Thread(target=burn_alone, args=({until},)).start()
"""


def inside(text):
    _interpreters.run_string(interpreter, text)


def take_entering():
    """Waits for the GIL of the other interpreter with the frames of this one."""
    _interpreters.run_string(interpreter, "pass")


def run_entering(seconds):
    until = now() + int(seconds * 1e9)
    inside(ALONE.format(until=until))
    while now() < until - 100_000_000:
        waiting = Waiting("entering")
        take_entering()
        waiting.over()
    time.sleep(0.1)


if sys.version_info >= (3, 13):
    interpreter = _interpreters.create("isolated")
else:
    interpreter = _interpreters.create(isolated=True)
read_end, write_end = os.pipe()
thread = threading.Thread(target=inside, args=(script("inner", 0.7) + TELL.format(fd=write_end),))
thread.start()
exec(compile(script("outer", 0.7), "<outer>", "exec"), {})
thread.join()
os.close(write_end)
with os.fdopen(read_end) as pipe:
    add(json.loads(pipe.read()))
run_entering(0.6)
tell(scenarios)
os._exit(0)  # 3.12.1 hangs when it ends an interpreter that had threads

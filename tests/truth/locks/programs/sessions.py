"""Sessions that begin and end in the middle of waits, and a fork with a lock in use.

sessions.py FOLDER      writes late.sonde, stopped.sonde, restarted.sonde, forked.sonde there
"""

import json
import os
import sys
import threading
import time

import ledger
from ledger import HOLD_S, Waiting, against, hold, now, tell

import sonde

lock = threading.Lock()
let_go = threading.Event()


def scenario(name, owner):
    return {
        "kind": "lock",
        "waiter": f"take_{name}",
        "owners": [owner],
        "signal": False,
        "by": "chain",
    }


def session(name):
    return sonde.record(os.path.join(sys.argv[1], f"{name}.sonde"), what="locks")


def in_the_background(function):
    """Starts a thread and waits until it has what it wants, or is on its way to sleep."""
    ready = threading.Event()
    thread = threading.Thread(target=function, args=(ready,), name=function.__name__)
    thread.start()
    ready.wait()
    time.sleep(HOLD_S / 2)
    return thread


def hold_long(ready):
    with lock:
        ready.set()
        let_go.wait()


# ---- a wait that is older than the session, then one that is not


def take_late():
    lock.acquire()


def wait_late(ready):
    ready.set()
    waiting = Waiting("late")
    take_late()
    waiting.over()
    lock.release()


def hold_after(ready):
    with lock:
        ready.set()
        hold("after", "hold_after")


def take_after():
    lock.acquire()


def wait_after():
    waiting = Waiting("after")
    take_after()
    waiting.over()
    lock.release()


def late():
    let_go.clear()
    threads = [in_the_background(hold_long), in_the_background(wait_late)]
    start = now()
    with session("late"):
        started = now()
        time.sleep(HOLD_S)
        held_until = now()
        let_go.set()
        for thread in threads:
            thread.join()
        against(hold_after, wait_after)
    return {"start": start, "started": started, "held_until": held_until}


# ---- a wait that sees one session end and another one begin


def take_restarted():
    lock.acquire()


def wait_restarted(ready):
    ready.set()
    waiting = Waiting("restarted")
    take_restarted()
    waiting.over()
    lock.release()


def restarted():
    let_go.clear()
    first = session("stopped")
    first.start()
    threads = [in_the_background(hold_long), in_the_background(wait_restarted)]
    stop = now()
    first.stop()
    stopped = now()
    time.sleep(HOLD_S)
    second = session("restarted")
    start = now()
    second.start()
    started = now()
    time.sleep(HOLD_S)
    let_go.set()
    for thread in threads:
        thread.join()
    second.stop()
    return {"stop": stop, "stopped": stopped, "start": start, "started": started}


# ---- a process that forks while its threads fight


def hold_in_child(ready):
    with lock:
        ready.set()
        hold("child", "hold_in_child")


def take_child():
    lock.acquire()


def wait_child():
    waiting = Waiting("child")
    take_child()
    waiting.over()
    lock.release()


def hold_in_parent(ready):
    with lock:
        ready.set()
        hold("parent", "hold_in_parent")


def take_parent():
    lock.acquire()


def wait_parent():
    waiting = Waiting("parent")
    take_parent()
    waiting.over()
    lock.release()


def fight(end):
    while now() < end:
        with fought_for:
            time.sleep(0.0001)


def forked():
    global fought_for
    fought_for = threading.Lock()
    read_end, write_end = os.pipe()
    with session("forked"):
        end = now() + 100_000_000
        fighters = [threading.Thread(target=fight, args=(end,)) for _ in range(4)]
        for thread in fighters:
            thread.start()
        time.sleep(HOLD_S)
        pid = os.fork()
        if not pid:
            ledger.books()["waits"].clear()
            ledger.books()["holds"].clear()
            against(hold_in_child, wait_child)
            os.write(write_end, json.dumps(ledger.books()).encode())
            os._exit(0)
        os.close(write_end)
        against(hold_in_parent, wait_parent)
        os.waitpid(pid, 0)
        for thread in fighters:
            thread.join()
    with os.fdopen(read_end) as pipe:
        ledger.add(json.loads(pipe.read()))


moments = {**late(), **{f"re_{name}": at for name, at in restarted().items()}}
forked()
scenarios = {
    "after": scenario("after", "hold_after"),
    "child": scenario("child", "hold_in_child"),
    "parent": scenario("parent", "hold_in_parent"),
}
tell(scenarios, moments=moments)

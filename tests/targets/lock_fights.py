"""Sixteen threads that need every wake-up they are owed, while sessions come and go.

    lock_fights.py cycles NUMBER FOLDER     so many sessions, one after another
    lock_fights.py forks NUMBER FOLDER      so many children of a recorded process

Nobody here waits with a time limit: one wake-up lost is a thread that never ends, and the watchdog
ends the program. Prints what was counted.
"""

import faulthandler
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback

import got_slots

import sonde
from sonde.record import session as sessions
from sonde.record.shm import layout as shm
from sonde.record.recorder.options.options import Options
from sonde.record.recorder_process import RecorderHandle

faulthandler.dump_traceback_later(100, exit=True)
sys.setswitchinterval(0.0001)

HOOKED = {
    "pthread_cond_timedwait", "pthread_cond_signal", "pthread_mutex_unlock", "sem_wait",
    "sem_timedwait", "sem_clockwait", "sem_post",
}  # fmt: skip
stop = False
counted = {}
locked = 0
lock, rlock, semaphore = threading.Lock(), threading.RLock(), threading.Semaphore(2)
inside = most_inside = 0
inside_lock = threading.Lock()


def spin(n):
    for _ in range(n):
        pass
    time.sleep(0.001)  # with it: everybody else comes, and finds it taken


def count_under_lock():
    global locked
    mine = 0
    while not stop:
        with lock:
            now = locked
            spin(20)
            locked = now + 1
        mine += 1
    return mine


def nest():
    mine = 0
    while not stop:
        with rlock, rlock:
            spin(20)
        if rlock.acquire(blocking=False):
            rlock.release()
        mine += 1
    return mine


def enter_few():
    global inside, most_inside
    mine = 0
    while not stop:
        with semaphore:
            with inside_lock:
                inside += 1
                most_inside = max(most_inside, inside)
            spin(20)
            with inside_lock:
                inside -= 1
        mine += 1
    return mine


few = queue.Queue(maxsize=3)
simple = queue.SimpleQueue()


def put(to):
    mine = 0
    while not stop:
        to.put(1)
        mine += 1
        if mine % 5 == 0:
            spin(20)
    to.put(None)
    return mine


def get(source):
    mine = 0
    while source.get() is not None:
        mine += 1
    return mine


barrier = threading.Barrier(2)


def meet():
    mine = 0
    try:
        while not stop:
            barrier.wait()
            mine += 1
            spin(20)
    except threading.BrokenBarrierError:
        pass
    return mine


turn = threading.Condition()
whose = 0


def take_turns(number):
    global whose
    mine = 0
    while not stop:
        with turn:
            while whose != number and not stop:
                turn.wait()
            whose = 1 - number
            mine += 1
            spin(20)
            turn.notify()
    with turn:
        turn.notify_all()
    return mine


WORKS = [
    ("locked", count_under_lock), ("locked", count_under_lock), ("locked", count_under_lock),
    ("nested", nest), ("nested", nest),
    ("few", enter_few), ("few", enter_few), ("few", enter_few),
    ("put few", lambda: put(few)), ("got few", lambda: get(few)),
    ("put simple", lambda: put(simple)), ("got simple", lambda: get(simple)),
    ("met 0", meet), ("met 1", meet),
    ("turns 0", lambda: take_turns(0)), ("turns 1", lambda: take_turns(1)),
]  # fmt: skip


def work(name, function):
    done = function()
    with inside_lock:
        counted[name] = counted.get(name, 0) + done


def cycles(number, folder):
    """Sessions of one recorder: a process for each would be most of the time."""
    agent = sessions._load_agent()
    path = os.path.join(folder, "cycles.sonde")
    recorder = RecorderHandle(Options(path, "cycles", sys.argv, os.getpid(), ["cpu", "locks"]))
    before = got_slots.slots(HOOKED)
    hooked = []
    for _ in range(number):
        code = agent.sonde_agent_start(os.fsencode(recorder.socket_path), shm.REASON_API)
        assert code == 0, os.strerror(code)
        during = got_slots.slots(HOOKED) if len(hooked) < 3 else None
        time.sleep(0.002)
        recorder.ask("disarm", pid=os.getpid())
        agent.sonde_agent_stop()
        if during is not None:
            after = got_slots.slots(HOOKED)
            hooked.append([len(before), sum(during[at] != before[at] for at in before)])
            assert after == before, "slots are not as they were"
    assert got_slots.slots(HOOKED) == before, "slots are not as they were"
    recorder.send("stop", note="stopped")
    quality = recorder.finished()["done"]
    return {"hooked": hooked, "lock_events": quality["lock_events"]}


def child_life():
    """Whether a child that was forked in the middle of all that can wait and be woken."""
    things = queue.SimpleQueue()
    own = threading.Lock()

    def serve():
        for _ in range(20):
            with own:
                things.put(1)

    threads = [threading.Thread(target=serve) for _ in range(2)]
    for thread in threads:
        thread.start()
    total = sum(things.get() for _ in range(40))
    for thread in threads:
        thread.join()
    return total


def forks(number, folder):
    ends = {}
    session = sonde.record(os.path.join(folder, "forks.sonde"), what="cpu,locks")
    session.start()
    for _ in range(number):
        pid = os.fork()
        if not pid:
            signal.alarm(30)  # its parent's watchdog is a thread, and not here
            os._exit(0 if child_life() == 40 else 3)
        _, status = os.waitpid(pid, 0)
        ends[status] = ends.get(status, 0) + 1
    session.stop()
    return {"ends": ends, "lock_events": session.quality["lock_events"]}


def main():
    global stop
    threads = [threading.Thread(target=work, args=pair) for pair in WORKS]
    for thread in threads:
        thread.start()
    kind, number, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    told = {"cycles": cycles, "forks": forks}[kind](number, folder)
    stop = True
    while any(thread.is_alive() for thread in threads[12:14]):
        barrier.abort()  # who came last waits for nobody
        time.sleep(0.001)
    with turn:
        turn.notify_all()
    for thread in threads:
        thread.join()
    print(json.dumps({**told, "counted": counted, "locked": locked, "most_inside": most_inside}))


try:
    main()
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)  # the others never end by themselves

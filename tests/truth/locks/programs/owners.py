"""One lock and its owners: several, greedy, failing, gone, slow; truth by the books of each."""

import threading
import time

from ledger import HOLD_S, Waiting, against, hold, tell

lock = threading.Lock()
scenarios = {}


def scenario(name, *owners, signal=False):
    scenarios[name] = {
        "kind": "lock",
        "waiter": f"take_{name}",
        "owners": list(owners),
        "signal": signal,
        "by": "chain",
    }


# ---- A has it, B waits, C waits behind B: C waits for both.

scenario("queued", "hold_first", "hold_second")


def hold_first(ready):
    with lock:
        ready.set()
        hold("queued", "hold_first")


def hold_second():
    with lock:
        hold("queued", "hold_second", 2 * HOLD_S)


def take_queued():
    lock.acquire()


def wait_queued():
    second = threading.Thread(target=hold_second)
    second.start()
    time.sleep(HOLD_S / 5)
    waiting = Waiting("queued")
    take_queued()
    waiting.over()
    lock.release()
    second.join()


# ---- Two owners take turns, and a third thread wants its own now and then.

scenario("alternating", "alternate_long", "alternate_short")


def alternate_long():
    for _ in range(8):
        with lock:
            hold("alternating", "alternate_long", 0.016)


def alternate_short():
    for _ in range(8):
        with lock:
            hold("alternating", "alternate_short", 0.008)


def take_alternating():
    lock.acquire()


def run_alternating():
    both = [threading.Thread(target=f) for f in (alternate_long, alternate_short)]
    for thread in both:
        thread.start()
    while any(thread.is_alive() for thread in both):
        time.sleep(0.002)
        waiting = Waiting("alternating")
        take_alternating()
        waiting.over()
        lock.release()
    for thread in both:
        thread.join()


# ---- Who lets go and takes again at once is quicker than any waiter that must wake up first.

scenario("barging", "barge_long", "barge_short")


def barge_long():
    hold("barging", "barge_long", 0.0006)
    lock.release()
    lock.acquire()


def barge_short():
    hold("barging", "barge_short", 0.0002)
    lock.release()
    lock.acquire()


def barge(ready):
    lock.acquire()
    ready.set()
    for _ in range(25):
        barge_long()
        barge_short()
    lock.release()


def take_barging():
    lock.acquire()


def wait_barging():
    waiting = Waiting("barging")
    take_barging()
    waiting.over()
    lock.release()


# ---- The owner fails, and lets go on its way out.

scenario("throwing", "throws")


def throws(ready):
    with lock:
        ready.set()
        hold("throwing", "throws")
        raise ValueError("as planned")


def catches(ready):
    try:
        throws(ready)
    except ValueError:
        pass


def take_throwing():
    lock.acquire()


def wait_throwing():
    waiting = Waiting("throwing")
    take_throwing()
    waiting.over()
    lock.release()


# ---- The owner is gone without letting go; somebody else does it.

scenario("abandoned", "rescue", signal=True)


def abandon():
    lock.acquire()


def rescue(ready):
    abandoning = threading.Thread(target=abandon)
    abandoning.start()
    abandoning.join()
    ready.set()
    time.sleep(HOLD_S)
    lock.release()


def take_abandoned():
    lock.acquire()


def wait_abandoned():
    waiting = Waiting("abandoned")
    take_abandoned()
    waiting.over()
    lock.release()


# ---- With patience: enough of it, and not enough.

scenario("patient", "hold_patient")


def hold_patient(ready):
    with lock:
        ready.set()
        hold("patient", "hold_patient")


def take_patient():
    assert lock.acquire(timeout=5)


def wait_patient():
    waiting = Waiting("patient")
    take_patient()
    waiting.over()
    lock.release()


scenario("timeout", "hold_timeout")


def hold_timeout(ready):
    with lock:
        ready.set()
        hold("timeout", "hold_timeout", 2 * HOLD_S)


def take_timeout():
    assert not lock.acquire(timeout=HOLD_S)


def wait_timeout():
    waiting = Waiting("timeout")
    take_timeout()
    waiting.over()


against(hold_first, wait_queued)
run_alternating()
against(barge, wait_barging)
against(catches, wait_throwing)
against(rescue, wait_abandoned)
against(hold_patient, wait_patient)
against(hold_timeout, wait_timeout)
tell(scenarios)

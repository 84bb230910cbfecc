"""A lock between two processes, held by each in turn."""

import multiprocessing
import time

import ledger
from ledger import ROUNDS, Waiting, hold, tell


def scenario(name, owner):
    return {
        "kind": "process",
        "waiter": f"take_{name}",
        "owners": [owner],
        "signal": False,
        "by": "chain",
    }


scenarios = {
    "child_holds": scenario("child_holds", "hold_in_child"),
    "parent_holds": scenario("parent_holds", "hold_in_parent"),
}


def hold_in_child(lock, pipe):
    with lock:
        pipe.send(None)
        hold("child_holds", "hold_in_child")


def hold_in_parent(lock, pipe):
    with lock:
        pipe.send(None)
        hold("parent_holds", "hold_in_parent")


def take_child_holds(lock):
    lock.acquire()


def take_parent_holds(lock):
    lock.acquire()


def wait(lock, pipe, name, take):
    pipe.recv()
    waiting = Waiting(name)
    take(lock)
    waiting.over()
    lock.release()


def child(lock, pipe):
    for _ in range(ROUNDS):
        hold_in_child(lock, pipe)
    pipe.recv()
    for _ in range(ROUNDS):
        wait(lock, pipe, "parent_holds", take_parent_holds)
        pipe.send(None)
    pipe.send(ledger.books())


def main():
    context = multiprocessing.get_context("fork")
    lock = context.Lock()
    ours, theirs = context.Pipe()
    other = context.Process(target=child, args=(lock, theirs))
    other.start()
    for _ in range(ROUNDS):
        wait(lock, ours, "child_holds", take_child_holds)
    ours.send(None)
    for _ in range(ROUNDS):
        hold_in_parent(lock, ours)
        ours.recv()
    ledger.add(ours.recv())
    other.join()
    tell(scenarios)


if __name__ == "__main__":
    main()

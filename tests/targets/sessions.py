"""A program that records itself, in every way the interface allows; told at the end as JSON."""

import json
import os
import sys
import threading
import time

import sonde

folder = sys.argv[1]
told = {}


def burn(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        pass


def path(name):
    return os.path.join(folder, name + ".sonde")


def refusal(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


# ---- one after another, each with its own function


def before():
    burn(30)


def first_work():
    burn(60)


def second_work():
    burn(60)


def between():
    burn(30)


before()
with sonde.record(path("first"), rate=5000) as session:
    first_work()
told["first"] = session.quality["taken"]
told["first path"] = session.path
between()
session = sonde.record(path("second"), rate=5000)
session.start()
second_work()
session.stop()
session.stop()  # nothing more happens
between()


# ---- marks, pause and resume


def paused_work():
    burn(60)


with sonde.record(path("paused"), rate=5000) as session:
    session.mark("begun")
    first_work()
    session.pause()
    paused_work()
    session.mark("still paused")
    session.resume()
    second_work()
    session.mark("ein ünïcode mark \N{SNOWMAN}")


# ---- threads: those that were there before, and those that come


def thread_work(ms):
    burn(ms)


def waits_first(ms):
    go.wait()
    thread_work(ms)


go = threading.Event()
older = threading.Thread(target=waits_first, args=(50,), name="older")
older.start()
with sonde.record(path("threads"), rate=5000) as session:
    go.set()
    younger = threading.Thread(target=thread_work, args=(50,), name="yoünger \N{SNOWMAN}")
    younger.start()
    renamed = threading.Thread(target=thread_work, args=(50,), name="before")
    renamed.start()
    renamed.name = "after"
    for thread in (older, younger, renamed):
        thread.join()


# ---- forks within a session


def child_work():
    burn(60)


with sonde.record(path("forked"), rate=5000) as session:
    first_work()
    child = os.fork()
    if child == 0:
        child_work()
        session.stop()  # the session is its parent's
        os._exit(0)
    told["child"] = child
    told["child ended"] = os.waitpid(child, 0)[1]
    second_work()
told["forked"] = session.quality["taken"]


# ---- an exception passes through and the file is whole

try:
    with sonde.record(path("raised"), rate=5000):
        first_work()
        raise KeyError("mine")
except KeyError as error:
    told["raised"] = repr(error)


# ---- what is refused

with sonde.record(path("one"), rate=5000) as one:
    told["second session"] = refusal(lambda: sonde.record(path("two")).start())
    told["started twice"] = refusal(one.start)
told["mark after the end"] = refusal(lambda: one.mark("late"))
told["pause after the end"] = refusal(one.pause)
told["wrong what"] = refusal(lambda: sonde.record(path("three"), what="dreams"))
told["wrong rate"] = refusal(lambda: sonde.record(path("three"), rate=0))
told["no folder"] = refusal(lambda: sonde.record(path("no/such/folder")).start())
told["after a refusal"] = refusal(lambda: sonde.record(path("again")).start())
told["left over"] = sorted(name for name in os.listdir(folder) if name.startswith("t"))
burn(5)
print(json.dumps(told))

"""A program that observes itself with the tools CPython has, and records every event it gets.

observed.py SECONDS [SWITCH INTERVAL]: prints its process id, then runs each tool again and
again, for so much CPU time and until its input ends. At the end it prints JSON: how often each tool
got which sequence of events, by a hash of the sequence.
"""

import _thread
import bdb
import collections
import cProfile
import functools
import hashlib
import json
import os
import profile
import pstats
import select
import sys
import threading
import time

HERE = __file__


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __getitem__(self, index):
        return self.x + index

    @property
    def double(self):
        return leaf(self.x) * 2


def leaf(n, plus=1):
    return n + plus


def steps(n):
    for i in range(n):
        yield leaf(i)


def fails(n):
    raise ValueError(n)


def caught(n):
    try:
        fails(n)
    except ValueError:
        return leaf(n)


def key(n):
    return -n


@functools.lru_cache(maxsize=1)
def cached(n):
    return leaf(n)


async def waits(n):
    return leaf(n)


async def coroutine(n):
    return await waits(n) + await waits(n)


def driven(n):
    made = coroutine(n)
    try:
        made.send(None)
    except StopIteration as stop:
        return stop.value


def deep(n):
    return n if n == 0 else deep(n - 1) + 1


def work(n=12):
    total = 0
    for i in range(n):
        point = Point(i)
        total += leaf(i) + leaf(n=i, plus=2) + point.double + point[1] + (point == Point(i))
        total += len([leaf(j) for j in range(3)]) + sum(steps(3)) + caught(i)
        total += sorted([3, 1, 2], key=key)[0] + cached(i) + driven(i) + deep(5)
        total += max(map(leaf, (1, 2))) + leaf(*(i,)) + int("7")
        "x".join(["a", "b"])
    return total


class Log:
    def __init__(self):
        self.events = []
        self.thread = 0  # the one that is observed

    def add(self, *event):
        self.events.append(repr(event))

    def digest(self):
        text = "\n".join(self.events).encode()
        del self.events[:]
        return hashlib.sha256(text).hexdigest()[:16]


log = Log()


def named(value):
    return getattr(value, "__qualname__", None) or type(value).__name__


def described_int(arg):
    return arg if isinstance(arg, int) else named(arg)


def on_profile(frame, event, arg):
    if frame.f_code.co_filename == HERE:
        log.add(event, frame.f_code.co_name, frame.f_lineno, described_int(arg))


def on_trace(frame, event, arg):
    if frame.f_code.co_filename != HERE:
        return None
    log.add(event, frame.f_code.co_name, frame.f_lineno, described_int(arg))
    return on_trace


def on_opcode(frame, event, arg):
    frame.f_trace_opcodes = True
    if frame.f_code.co_filename != HERE:
        return None
    log.add(event, frame.f_code.co_name, frame.f_lineno, frame.f_lasti)
    return on_opcode


def setprofile():
    sys.setprofile(on_profile)
    work()
    sys.setprofile(None)


def settrace():
    sys.settrace(on_trace)
    work()
    sys.settrace(None)


def opcodes():
    sys.settrace(on_opcode)
    work(1)
    sys.settrace(None)


def both():
    sys.settrace(on_trace)
    sys.setprofile(on_profile)
    work(2)
    sys.setprofile(None)
    sys.settrace(None)


def in_new_thread():
    threading.setprofile(on_profile)
    thread = threading.Thread(target=work, args=(2,))
    thread.start()
    thread.join()
    threading.setprofile(None)


# The tool comes and goes in the middle of everything, C functions that call Python included.
def midway(begin, end):
    def inner():
        leaf(1)
        begin()
        leaf(2)
        work(1)

    def outer():
        work(1)
        inner()
        work(1)
        end()
        leaf(3)

    for _ in range(4):
        outer()
        work(1)
        sorted([1, 2], key=lambda n: (begin() if n == 1 else end()) or n)
        list(map(lambda function: function(), (leaf_one, begin, leaf_one)))
        max([len("x")], key=leaf)
        end()
        work(1)
        exec("begin()", {"begin": begin})
        work(1)
        end()


def leaf_one():
    return leaf(1)


def midway_setprofile():
    midway(lambda: sys.setprofile(on_profile), lambda: sys.setprofile(None))


def midway_settrace():
    midway(lambda: sys.settrace(on_trace), lambda: sys.settrace(None))


def callers(stats):
    """Without times, and only of what the observed thread alone calls."""
    return sorted(
        (where[1:], line[:2], sorted((by[1:], str(n)) for by, n in line[4].items()))
        for where, line in stats.items()
        if where[0] == HERE
        and where[2] not in ("round_of_all", "main", "observe", "observe_and_tell")
    )


def c_profile():
    profiler = cProfile.Profile()
    profiler.enable()
    work()
    profiler.disable()
    log.add([(where, calls) for where, calls, _ in callers(pstats.Stats(profiler).stats)])


def python_profile():
    profiler = profile.Profile(bias=0)
    profiler.runcall(work, 2)
    profiler.create_stats()
    log.add([(where, calls) for where, calls, _ in callers(profiler.stats)])


class Debugger(bdb.Bdb):
    def user_line(self, frame):
        log.add("stops", frame.f_code.co_name, frame.f_lineno)
        self.set_continue()

    def user_call(self, frame, args):
        pass


def breakpoints():
    debugger = Debugger()
    debugger.set_break(HERE, leaf.__code__.co_firstlineno + 1)
    debugger.set_break(HERE, key.__code__.co_firstlineno + 1)
    debugger.runcall(work, 1)
    debugger.clear_all_breaks()
    sys.settrace(None)


# ---- sys.monitoring

MONITORING = sys.version_info >= (3, 12)
TOOL = 4  # which sonde would take, were it free
if MONITORING:
    mon = sys.monitoring
    NAMES = {value: name for name, value in vars(mon.events).items() if value}

OF_INSTRUCTIONS = {"LINE", "INSTRUCTION", "JUMP", "BRANCH", "BRANCH_LEFT", "BRANCH_RIGHT"}
LOCAL = OF_INSTRUCTIONS | {"PY_START", "PY_RETURN", "CALL", "PY_RESUME", "PY_YIELD"}


def described(arg):
    return arg if isinstance(arg, (int, str)) else named(arg)


def callback(name, disables):
    def on_event(code, *args):
        if code.co_filename != HERE or threading.get_ident() != log.thread:
            return None
        log.add(name, code.co_name, *map(described, args))
        return mon.DISABLE if disables and name in LOCAL else None

    return on_event


def monitored(observe, disables=False, skip=()):
    log.add([mon.get_tool(number) for number in range(6)])
    mon.use_tool_id(TOOL, "observed")
    wanted = 0
    for value, name in NAMES.items():
        if name not in skip:
            log.add(named(mon.register_callback(TOOL, value, callback(name, disables))))
            if name not in ("C_RETURN", "C_RAISE"):
                wanted |= value
    observe(wanted)
    log.add(mon.get_events(TOOL))
    for value in NAMES:
        mon.register_callback(TOOL, value, None)
    mon.free_tool_id(TOOL)


def monitoring():
    def observe(wanted):
        mon.set_events(TOOL, wanted)
        work(2)
        mon.set_events(TOOL, 0)

    monitored(observe)


def monitoring_calls():
    def observe(wanted):
        mon.set_events(TOOL, wanted)
        work()
        mon.set_events(TOOL, 0)

    monitored(observe, skip=OF_INSTRUCTIONS)


def monitoring_local():
    codes = [f.__code__ for f in (leaf, caught, work, deep, Point.__init__)]
    local = mon.events.LINE | mon.events.PY_START | mon.events.PY_RETURN | mon.events.CALL

    def observe(wanted):
        for events in (local, 0):
            for code in codes:
                mon.set_local_events(TOOL, code, events)
            work(2)

    monitored(observe)


# What a tool has disabled stays so until it says otherwise.
def monitoring_disable():
    def observe(wanted):
        mon.set_events(TOOL, wanted)
        work(2)
        work()
        mon.restart_events()
        work(2)
        mon.set_events(TOOL, 0)

    monitored(observe, disables=True)


def midway_monitoring():
    def observe(wanted):
        midway(lambda: mon.set_events(TOOL, wanted), lambda: mon.set_events(TOOL, 0))

    monitored(observe, skip=OF_INSTRUCTIONS)


TOOLS = [
    *(setprofile, settrace, both, in_new_thread, midway_setprofile, midway_settrace),
    *(c_profile, python_profile, breakpoints),
]
if sys.version_info[:2] != (3, 12):  # whose own sequence of opcodes is not always the same
    TOOLS.append(opcodes)
if MONITORING:
    TOOLS += [monitoring, monitoring_calls, monitoring_local, monitoring_disable]
    TOOLS.append(midway_monitoring)

seen = collections.defaultdict(collections.Counter)


# Each time in a new thread: more of its windows show all calls than of a thread that is old. Tools
# get the events of this one, too, and cProfile takes a function that returns here for one that
# returns there: nothing is called here meanwhile but a lock. threading.Thread.start may still be
# about to return, if this thread is stopped for a moment.
def round_of_all():
    for tool in TOOLS:
        over = _thread.allocate_lock()
        over.acquire()
        _thread.start_new_thread(observe_and_tell, (tool, over))
        over.acquire()


def observe_and_tell(tool, over):
    try:
        observe(tool)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    over.release()


def observe(tool):
    log.thread = threading.get_ident()
    end = time.thread_time() + 0.006
    while time.thread_time() < end:
        work(3)
    tool()
    seen[tool.__name__][log.digest()] += 1


def input_ended():
    ready, _, _ = select.select([0], [], [], 0)
    return bool(ready) and not os.read(0, 1)


def main():
    if len(sys.argv) > 2:
        sys.setswitchinterval(float(sys.argv[2]))
    print(os.getpid(), flush=True)
    over, end = False, time.process_time() + float(sys.argv[1])
    while not over or time.process_time() < end:
        round_of_all()
        over = over or input_ended()
    print(json.dumps(seen))


main()

"""Runs as long as its standard input is open; then tells what it saw of tools, and of its calls."""

import json
import os
import sys
import threading
import time

monitoring = getattr(sys, "monitoring", None)
seen = {"starts": 0, "profiled": 0, "children": []}


def leaf():
    pass


def numbers():
    yield 1
    yield 2


def work():
    for _ in range(20):
        leaf()
    return sum(numbers())


def count_start(code, offset):
    seen["starts"] += code is leaf.__code__


def count_profiled(frame, what, arg):
    seen["profiled"] += what == "call" and frame.f_code is leaf.__code__


def tools():
    if monitoring is None:
        return None
    return [
        [monitoring.get_tool(i), bool(monitoring.get_tool(i) and monitoring.get_events(i))]
        for i in range(6)
    ]


def with_monitoring():
    """Another tool sees its events while we record."""
    if monitoring is None:
        work()
        return 20
    monitoring.use_tool_id(2, "guest")
    monitoring.register_callback(2, monitoring.events.PY_START, count_start)
    monitoring.set_events(2, monitoring.events.PY_START)
    work()
    monitoring.set_events(2, 0)
    monitoring.free_tool_id(2)
    return seen["starts"]


def with_profile():
    sys.setprofile(count_profiled)
    work()
    sys.setprofile(None)
    return seen["profiled"]


def fork():
    child = os.fork()
    if not child:
        for _ in range(50):
            work()
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set())).start()
    print(os.getpid(), flush=True)
    rounds, found = 0, []
    while not ended.is_set():
        work()
        rounds += 1
        if rounds % 50 == 0 and len(found) < 40:
            seen["starts"] = seen["profiled"] = 0
            found.append([with_monitoring(), with_profile(), fork()])
        time.sleep(0.001)
    print(
        json.dumps(
            {
                "found": found,
                "tools": tools(),
                "rounds": rounds,
                "profile": sys.getprofile() is None,
                "trace": sys.gettrace() is None,
            }
        )
    )


main()

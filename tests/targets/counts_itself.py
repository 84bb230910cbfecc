"""Counts its own calls by the interpreter's hooks, and calls in children it forks.

counts_itself.py: prints JSON. What it counts must be the same whether it is recorded or not.
"""

import json
import os
import sys
import time

seen = {"first": 0, "second": 0}


def first():
    return 1


def second():
    return first() + 1


def on_start(code, offset):
    if code.co_name in seen:
        seen[code.co_name] += 1


def on_profile(frame, event, arg):
    if event == "call" and frame.f_code.co_name in seen:
        seen[frame.f_code.co_name] += 1


def begin():
    if sys.version_info < (3, 12):
        sys.setprofile(on_profile)
        return
    m = sys.monitoring
    m.use_tool_id(m.COVERAGE_ID, "counts")
    m.register_callback(m.COVERAGE_ID, m.events.PY_START, on_start)
    m.set_events(m.COVERAGE_ID, m.events.PY_START)


def end():
    if sys.version_info < (3, 12):
        sys.setprofile(None)
    else:
        sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
        sys.monitoring.free_tool_id(sys.monitoring.COVERAGE_ID)


def tools():
    if sys.version_info < (3, 12):
        return [sys.getprofile() is not None]
    return [sys.monitoring.get_tool(number) for number in range(6)]


def burn(seconds):
    end_ = time.thread_time() + seconds
    rounds = 0
    while time.thread_time() < end_:
        for _ in range(100):
            second()
        rounds += 1
    return rounds


def in_child():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        burn(0.15)
        os.write(write, json.dumps(tools()).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        told = json.load(f)
    return told, os.waitpid(child, 0)[1], child


def main():
    burn(0.1)
    begin()
    for _ in range(50_000):
        second()
    end()
    burn(0.15)
    child, status, pid = in_child()
    print(json.dumps({"seen": seen, "child": child, "status": status, "pid": pid}))


main()

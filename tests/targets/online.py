"""A program that asks for its own profile while it is recorded; told at the end as JSON."""

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


def first_work():
    burn(60)


def second_work():
    burn(60)


def path(name):
    return os.path.join(folder, name + ".sonde")


def refusal(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


# ---- asked by hand

with sonde.record(path("asked"), rate=5000, online="64KiB") as session:
    before = time.process_time()
    first_work()
    profile = session.profile(5, purge=True)
    told["used_ms"] = (time.process_time() - before) * 1000
    second_work()
    after = session.profile(5)
    told["top"] = refusal(lambda: session.hot(0))
    told["by"] = refusal(lambda: session.hot_edges(5, by="line"))
    told["every"] = refusal(lambda: session.every(0, print))
told["over"] = refusal(session.hot)


def names(profile):
    return [[frame.function.name for frame in row.chain] for row in profile.hot]


told["before purge"] = names(profile)
told["after purge"] = names(after)
told["share"] = sum(row.share for row in profile.hot)
told["total_ms"] = profile.total_ns / 1e6
told["memory"] = [profile.memory, profile.bound]
told["chain lines"] = [frame.line for frame in after.hot[0].chain]

# ---- one that keeps none

with sonde.record(path("plain")) as session:
    told["none"] = refusal(session.hot)
told["small"] = refusal(lambda: sonde.record(path("small"), online="1KB"))

# ---- called back

seen = []
with sonde.record(path("watched"), rate=5000, online=True) as session:
    session.every(0.05, lambda profile: seen.append((profile.samples, names(profile))), purge=True)
    session.every(0.05, lambda profile: 1 / 0)  # said on stderr, and not called again
    while len(seen) < 4:
        burn(10)
told["seen"] = len(seen)
told["threads left"] = threading.active_count()
told["each is its own"] = max(samples for samples, _ in seen) < 5000
told["burn seen"] = any("burn" in chain for _, chains in seen for chain in chains)

# ---- a forked child has none

with sonde.record(path("forked"), online=True, children=False) as session:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(write, str(refusal(session.hot)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    told["child"] = os.read(read, 1000).decode()
    told["parent"] = isinstance(session.hot(), list)

print(json.dumps(told))

"""Starts processes in every way there is; each burns CPU time and notes how much.

children.py NOTES            all kinds
children.py NOTES KIND       one child's part

If there is a file NOTES.attached, it holds how many nanoseconds each burns once an agent is in it,
and the first process prints its pid and waits for a line of input.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time

NS = 40_000_000
# Of CPU time: one that nobody has entered until then is not going to be.
MAX_NS = 5_000_000_000


def burn(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        # A thread that does nothing but system calls is hardly ever found anywhere else.
        for _ in range(2000):
            pass


def burn_until_entered(longest):
    end = time.thread_time_ns() + longest
    while time.thread_time_ns() < end:
        with open("/proc/self/maps") as f:
            if "memfd:sonde" in f.read():
                break
        burn(5_000_000)


def timed_burn(ns):
    start = time.thread_time_ns()
    burn(ns)
    return time.thread_time_ns() - start


def length(notes):
    try:
        with open(notes + ".attached") as f:
            return int(f.read())
    except OSError:
        return NS


def work(kind, notes):
    if os.path.exists(notes + ".attached"):
        burn_until_entered(MAX_NS)
    note = {"kind": kind, "pid": os.getpid(), "spent": timed_burn(length(notes))}
    note["variables"] = sorted(os.environ)
    with open(notes, "a") as f:
        f.write(json.dumps(note) + "\n")


def forked(kind, notes, then=None):
    child = os.fork()
    if child == 0:
        try:
            if then is None:
                work(kind, notes)
            else:
                then()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def main(notes):
    here = os.path.abspath(__file__)

    def command(kind, *flags):
        return [sys.executable, *flags, here, notes, kind]

    work("root", notes)
    forked("fork", notes)
    forked("", notes, lambda: forked("fork of a fork", notes))
    thread = threading.Thread(target=forked, args=("fork of a thread", notes))
    thread.start()
    thread.join()
    forked("", notes, lambda: os.execv(sys.executable, command("execv")))
    forked("", notes, lambda: os.execve(sys.executable, command("execve empty"), {}))
    forked("", notes, lambda: os.execlp(sys.executable, *command("execlp")))
    check = subprocess.check_call
    check(command("subprocess"))
    check(command("empty environment"), env={})
    check(command("isolated", "-I", "-S", "-E", "-B"))
    check(command("without site", "-S"), close_fds=False)
    check(["env", "-i", *command("env -i")])
    check(["sh", "-c", f'"{sys.executable}" "{here}" "{notes}" "sh -c"; exit $?'])
    check(f'exec "{sys.executable}" "{here}" "{notes}" "shell=True"', shell=True)
    check(command("new session"), start_new_session=True)
    os.waitpid(os.posix_spawn(sys.executable, command("posix_spawn"), {}), 0)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        process = context.Process(target=work, args=(f"multiprocessing {method}", notes))
        process.start()
        process.join()
        assert process.exitcode == 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.starmap(work, [("pool", notes)] * 2, chunksize=1)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        work(sys.argv[2], sys.argv[1])
    else:
        if os.path.exists(sys.argv[1] + ".attached"):
            print(os.getpid(), flush=True)
            sys.stdin.readline()
        main(sys.argv[1])

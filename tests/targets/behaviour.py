"""Everything a program can easily see of its surroundings, as JSON: to be the same under sonde.

Processor time is spent before every question, so that a sampler has had its chance to disturb.
"""

import ctypes
import errno
import json
import os
import select
import signal
import socket
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
facts = {}


def burn(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        pass


def fact(function):
    burn(3)
    facts[function.__name__] = function()
    return function


@fact
def arguments():
    return [sys.argv, sys.orig_argv, sys.flags, sys.executable, sys.path]


@fact
def surroundings():
    status = open("/proc/self/status").read()
    return {
        "cwd": os.getcwd(),
        "umask": status.split("Umask:\t")[1].split()[0],
        "nice": os.nice(0),
        "affinity": sorted(os.sched_getaffinity(0)),
        "own group": os.getpgid(0) == os.getpid(),
        "own session": os.getsid(0) == os.getpid(),
        "limits": [__import__("resource").getrlimit(n) for n in range(15)],
        "traced": status.split("TracerPid:\t")[1].split()[0],
        "dumpable": libc.prctl(3, 0, 0, 0, 0),
        "no new privileges": libc.prctl(39, 0, 0, 0, 0),
        "threads": len(os.listdir("/proc/self/task")),
        "children": open(f"/proc/self/task/{os.getpid()}/children").read(),
        "terminal": os.isatty(0),
    }


@fact
def environment():
    # The C library's view too: a child made by C code gets that one.
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    seen = []
    while environ[len(seen)]:
        seen.append(environ[len(seen)].decode())
    return [sorted(os.environ.items()), sorted(seen), os.getenv("LD_PRELOAD")]


@fact
def descriptors():
    found = {}
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            link = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # of the listing itself
            continue
        found[name] = link.split(":")[0] if ":" in link else link
    return found


@fact
def next_descriptor():
    fd = os.open("/dev/null", os.O_RDONLY)
    os.close(fd)
    return fd


@fact
def dispositions():
    return {int(n): str(signal.getsignal(n)) for n in sorted(signal.valid_signals())}


class Action(ctypes.Structure):
    _fields_ = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


@fact
def kernel_dispositions():
    """As a library would ask for them: default, ignored or caught."""
    found = {}
    for number in sorted(signal.valid_signals()):
        action = Action()
        assert libc.sigaction(int(number), None, ctypes.byref(action)) == 0
        found[int(number)] = [action.handler if (action.handler or 0) < 2 else "caught"]
    return found


@fact
def masks():
    everything = signal.valid_signals()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    burn(10)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    pending = signal.sigpending()
    waited = signal.sigtimedwait(everything, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    burn(3)
    after = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return [sorted(map(int, s)) for s in (before, blocked, pending, after)] + [waited]


@fact
def one_signal_for_one():
    """A thread that waits for all signals gets the one that was sent."""
    got = []

    def wait():
        got.append(int(signal.sigwait(everything)))

    everything = signal.valid_signals()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    thread = threading.Thread(target=wait)
    thread.start()
    burn(10)
    os.kill(os.getpid(), signal.SIGUSR2)
    thread.join()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return got


# ---- system calls that a signal would end early; through C, because Python tries again by itself


class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


class Pollfd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def outcome(result):
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result


def repeated(times, function):
    results = set()
    for _ in range(times):
        burn(1)
        results.add(function())
    return sorted(map(str, results))


@fact
def interrupted_calls():
    a, b = socket.socketpair()
    epoll = select.epoll()
    epoll.register(a.fileno(), select.EPOLLIN)
    events = ctypes.create_string_buffer(16)
    one = (Pollfd * 1)(Pollfd(a.fileno(), select.POLLIN, 0))
    nap = Timespec(0, 3_000_000)
    byte = ctypes.create_string_buffer(1)

    def later():
        time.sleep(0.003)
        burn(1)
        b.send(b"x")

    def read_later():
        thread = threading.Thread(target=later)
        thread.start()
        result = outcome(libc.read(a.fileno(), byte, 1))
        thread.join()
        # Joined is not gone: it still ends in the kernel, and from 3.12 on fork warns of it.
        while os.path.exists(f"/proc/self/task/{thread.native_id}"):
            time.sleep(0.0005)
        return result

    def wait_for_child():
        child = os.fork()
        if child == 0:
            time.sleep(0.003)
            os._exit(0)
        status = ctypes.c_int()
        return outcome(libc.waitpid(child, ctypes.byref(status), 0)) == child

    return {
        "poll": repeated(20, lambda: outcome(libc.poll(one, 1, 3))),
        "epoll": repeated(20, lambda: outcome(libc.epoll_wait(epoll.fileno(), events, 1, 3))),
        "nanosleep": repeated(20, lambda: outcome(libc.nanosleep(ctypes.byref(nap), None))),
        "read": repeated(20, read_later),
        "waitpid": repeated(10, wait_for_child),
    }


@fact
def interrupted_while_others_run():
    """The same while another thread keeps the sampler busy."""
    stop = []

    def spin():
        while not stop:
            burn(1)

    thread = threading.Thread(target=spin)
    thread.start()
    a, _b = socket.socketpair()
    one = (Pollfd * 1)(Pollfd(a.fileno(), select.POLLIN, 0))
    result = repeated(20, lambda: outcome(libc.poll(one, 1, 3)))
    stop.append(1)
    thread.join()
    return result


@fact
def large_writes():
    """A blocking send of much data is either whole or was interrupted."""
    a, b = socket.socketpair()
    size = 1 << 20
    data = b"x" * size

    def drain():
        left = size * 20
        while left:
            burn(0)
            left -= len(b.recv(1 << 16))

    thread = threading.Thread(target=drain)
    thread.start()
    counts = {str(outcome(libc.send(a.fileno(), data, size, 0))) for _ in range(20)}
    thread.join()
    return sorted(counts)


@fact
def alarms():
    """A timer of the program's own comes as often as it should."""
    count = []
    signal.signal(signal.SIGALRM, lambda *_: count.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    while len(count) < 5:
        burn(1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return len(count) >= 5


@fact
def own_trap_handler():
    got = []
    before = str(signal.signal(signal.SIGTRAP, lambda *_: got.append("trap")))
    burn(5)
    os.kill(os.getpid(), signal.SIGTRAP)
    burn(5)
    after = str(signal.getsignal(signal.SIGTRAP).__name__)
    signal.signal(signal.SIGTRAP, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGTRAP)
    burn(5)
    signal.signal(signal.SIGTRAP, signal.SIG_DFL)
    return [before, after, got]


@fact
def own_fault_handlers():
    import faulthandler

    faulthandler.enable()
    burn(3)
    enabled = faulthandler.is_enabled()
    faulthandler.disable()
    got = []
    signal.signal(signal.SIGSEGV, lambda *_: got.append("fault"))
    os.kill(os.getpid(), signal.SIGSEGV)
    burn(5)
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    return [enabled, got]


@fact
def errors_are_kept():
    """errno survives whatever happens between the call and the asking."""
    wrong = 0
    for _ in range(2000):
        libc.close(-1)
        if ctypes.get_errno() != errno.EBADF:
            wrong += 1
    return wrong


@fact
def threads_afterwards():
    return [threading.active_count(), len(os.listdir("/proc/self/task"))]


@fact
def hooks():
    return [str(sys.getprofile()), str(sys.gettrace())]


@fact
def modules():
    return sorted(name for name in sys.modules if "sonde" in name)


print(json.dumps(facts, sort_keys=True, default=str))
print("to stderr", file=sys.stderr)
sys.exit(7)

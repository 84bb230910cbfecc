"""What this machine permits: everything is tried, not guessed from settings."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sonde.record.recorder.sampling.samplers import SamplerSet
from sonde.record.system import cpu_times, perf_events, permissions

# Longer than any process lives: events opened to see whether they may be never fire.
_NEVER_NS = 1 << 60

# Steal below this share of the time is not worth a word of warning.
_STEAL_THRESHOLD = 0.02

_PERMIT = "run as root, grant CAP_PERFMON, or set kernel.perf_event_paranoid to "


@dataclass(frozen=True)
class Check:
    """One question about the machine, its answer, and what to do about a no."""

    name: str
    ok: bool
    found: str
    advice: str | None = None


_SAFEPOINT = Check("safepoint", True, "needs no permissions; used only with --sampler safepoint")


@dataclass(frozen=True)
class MachineChecks:
    facts: dict[str, str | int | None]
    checks: list[Check]
    sampler: str
    why_not_better: str | None
    java_sampler: str | None
    """None where a JVM gets no sampler of CPU time."""


def examine() -> MachineChecks:
    checks = [_system(), _kernel()]
    with _standing_still() as pid:
        checks += [*_perf_signals(pid), _paranoid(), _hardware(pid)]
        remote = _remote(pid)
        sampler, why = _sampler(pid)
        java = _java_sampler(pid)
    timers = _cpu_timers()
    checks += [timers, _affinity(), _SAFEPOINT, remote]
    checks += [_memory(), _pidfd(), _ptrace(), _seccomp(), _steal()]
    has_timers = timers.ok or java != "cpu-timer"
    return MachineChecks(_facts(), checks, sampler, why, java if has_timers else None)


def _facts() -> dict[str, str | int | None]:
    uname = os.uname()
    return {
        "system": uname.sysname,
        "kernel": uname.release,
        "processor": uname.machine,
        "cpus": os.cpu_count(),
        "libc": libc(),
        "uid": os.getuid(),
        "container": container(),
    }


# ---- system and kernel


def _system() -> Check:
    uname = os.uname()
    found = f"{uname.sysname} on {uname.machine}"
    if (uname.sysname, uname.machine) == ("Linux", "x86_64"):
        return Check("system", True, found)
    return Check("system", False, found, "record on Linux on x86-64; reports work anywhere")


def _kernel() -> Check:
    release = os.uname().release
    if perf_events.kernel_version() >= perf_events.SIGTRAP_SAFE_FROM:
        return Check(
            "kernel", True, f"{release}; perf events can send POSIX signals to threads since 5.18"
        )
    return Check(
        "kernel",
        False,
        f"{release}; perf events cannot send POSIX signals to threads before 5.18",
        "boot 5.18 or newer; until then a reader thread takes the samples",
    )


def libc() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):  # another C library than glibc
        return None


def container() -> str | None:
    """What kind of container this seems to be, None if it does not look like one."""
    for mark, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if os.path.exists(mark):
            return name
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    try:
        # systemd and lxc pass it to what they start; only root may look at the first one's.
        with open("/proc/1/environ", "rb") as f:
            for entry in f.read().split(b"\0"):
                if entry.startswith(b"container="):
                    return entry[10:].decode(errors="replace") or None
    except OSError:
        pass
    try:
        with open("/proc/1/cgroup") as f:
            groups = f.read()
    except OSError:
        return None
    return next((n for n in ("docker", "kubepods", "lxc", "libpod") if n in groups), None)


# ---- perf events


@contextmanager
def _standing_still() -> Iterator[int]:
    """A process of ours that does nothing but wait: events on it never reach anybody."""
    read, write = os.pipe()
    # A switch event may fire once before the child sleeps; blocked, its signal kills nobody.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTRAP})
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(read)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(write)


def _refusal(open_: Callable[[], int]) -> OSError | None:
    try:
        os.close(open_())
    except OSError as error:
        return error
    return None


def _perf_signals(pid: int) -> list[Check]:
    names = ("perf", "perf-user", "perf-switches")
    if perf_events.kernel_version() < perf_events.SIGTRAP_SAFE_FROM:
        found = "not tested: this kernel is too old"
        return [Check(name, False, found, "boot 5.18 or newer") for name in names]
    kernel = _refusal(lambda: perf_events.open_event(pid, perf_events.TASK_CLOCK, _NEVER_NS, 0))
    user = _refusal(
        lambda: perf_events.open_event(
            pid, perf_events.TASK_CLOCK, _NEVER_NS, 0, exclude_kernel=True
        )
    )
    switches = _refusal(lambda: perf_events.open_event(pid, perf_events.CONTEXT_SWITCHES, 1, 0))
    return [
        _signal(names[0], kernel, "samples in user and kernel mode", 1),
        _signal(names[1], user, "samples in user mode", 2),
        _signal(names[2], switches, "a sample after each wait: --what waits is exact", 1),
    ]


def _signal(name: str, error: OSError | None, permits: str, level: int) -> Check:
    if error is None:
        return Check(name, True, permits)
    return Check(name, False, perf_events.refusal(error), _perf_advice(error, level))


def _perf_advice(error: OSError, level: int) -> str:
    if perf_events.refused_by_filter(error):
        return (
            "let the container's seccomp profile allow perf_event_open "
            "(Docker and Podman: --cap-add PERFMON)"
        )
    if isinstance(error, PermissionError):
        return f"{_PERMIT}{level}"
    return "use a kernel that has software perf events with signals (5.18 or newer)"


def _paranoid() -> Check:
    level = permissions.setting("perf_event_paranoid")
    if level is None:
        return Check(
            "perf-paranoid",
            False,
            "no kernel.perf_event_paranoid: perf events are not built in, or hidden",
            "use a kernel with CONFIG_PERF_EVENTS",
        )
    exempt = permissions.has_capability(permissions.CAP_PERFMON, permissions.CAP_SYS_ADMIN)
    if level <= 1 or exempt:
        who = "this user is exempt" if level > 1 else "all users may use perf events"
        return Check("perf-paranoid", True, f"kernel.perf_event_paranoid is {level}; {who}")
    what = "samples in kernel mode" if level == 2 else "all perf events"
    return Check(
        "perf-paranoid",
        False,
        f"kernel.perf_event_paranoid is {level}: {what} only for privileged users",
        "sysctl kernel.perf_event_paranoid=1",
    )


def _hardware(pid: int) -> Check:
    error = _refusal(lambda: perf_events.open_cycles(pid))
    if error is None:
        return Check("hardware-events", True, "CPU counters (PMU) are available")
    if isinstance(error, FileNotFoundError):
        found = "no CPU counters (PMU), as in most virtual machines"
    else:
        found = perf_events.refusal(error)
    return Check("hardware-events", False, found, "nothing to do: no sampler needs them")


def _sampler(pid: int) -> tuple[str, str | None]:
    """The sampler a target would get, by the very code that gives it one."""
    armed = SamplerSet(_NEVER_NS).arm(pid)
    armed.close()
    if armed.sampler == "reader" and not _may_move():
        reasons = [armed.why_not_better, "threads may not select their core"]
        return "cross-core", "; ".join(reason for reason in reasons if reason)
    return armed.sampler, armed.why_not_better


def _java_sampler(pid: int) -> str:
    armed = SamplerSet(_NEVER_NS).arm(pid, runtime="hotspot")
    armed.close()
    return armed.sampler


# ---- the rest


_TIMER_CREATE, _TIMER_DELETE = 222, 226  # x86-64
_THREAD_CPU_CLOCK = 3
_NO_SIGNAL = struct.pack("<QiI48x", 0, 0, 1)
"""A sigevent of SIGEV_NONE."""


def _cpu_timers() -> Check:
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    timer = ctypes.c_int()
    if syscall(_TIMER_CREATE, _THREAD_CPU_CLOCK, _NO_SIGNAL, ctypes.byref(timer)) == 0:
        syscall(_TIMER_DELETE, timer)
        return Check(
            "cpu-timer", True, "CPU timers of threads are permitted: Java is sampled without perf"
        )
    reason = os.strerror(ctypes.get_errno()).lower()
    return Check(
        "cpu-timer",
        False,
        f"CPU timers of threads are not permitted: {reason}",
        "allow timer_create in the container's seccomp profile; Java without perf events needs it",
    )


def _may_move() -> bool:
    try:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        os.sched_setaffinity(0, before)
    except OSError:
        return False
    return True


def _affinity() -> Check:
    if _may_move():
        return Check("affinity", True, "threads may select their core")
    return Check(
        "affinity",
        False,
        "threads may not select their core: without perf, stacks are read across cores",
        "allow sched_setaffinity in the container's seccomp profile",
    )


class _Span(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


_KNOWN = ctypes.create_string_buffer(b"sonde", 8)
"""What our child has at the same address, being a copy of us."""


def _remote(pid: int) -> Check:
    libc_ = ctypes.CDLL(None, use_errno=True)
    copy = ctypes.create_string_buffer(len(_KNOWN))
    here = _Span(ctypes.addressof(copy), len(copy))
    there = _Span(ctypes.addressof(_KNOWN), len(_KNOWN))
    n = libc_.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    if n == len(copy) and copy.value == _KNOWN.value:
        return Check("remote", True, "the memory of other processes can be read")
    reason = os.strerror(ctypes.get_errno()).lower()
    return Check(
        "remote",
        False,
        f"the memory of other processes cannot be read: {reason}",
        "allow process_vm_readv in the container's seccomp profile; only processes without "
        "an agent need it",
    )


def _memory() -> Check:
    error = _refusal(lambda: os.memfd_create("sonde"))
    if error is None:
        return Check("memfd", True, "anonymous shared memory is available")
    return Check(
        "memfd",
        False,
        f"anonymous shared memory is not available: {_words(error)}",
        "allow memfd_create in the container's seccomp profile; recording needs it",
    )


def _pidfd() -> Check:
    error = _refusal(lambda: os.pidfd_open(os.getpid()))
    if error is None:
        return Check("pidfd", True, "sonde can wait for the exit of a process")
    return Check(
        "pidfd",
        False,
        f"sonde cannot wait for the exit of a process: {_words(error)}",
        "allow pidfd_open in the container's seccomp profile",
    )


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _ptrace() -> Check:
    scope = permissions.setting("yama/ptrace_scope")
    if scope is None:
        return Check("ptrace", True, "no Yama: your processes may be traced")
    if scope == 0 or permissions.has_capability(permissions.CAP_SYS_PTRACE):
        return Check("ptrace", True, f"yama.ptrace_scope is {scope}: your processes may be traced")
    return Check(
        "ptrace",
        False,
        f"yama.ptrace_scope is {scope}: only child processes may be traced",
        "nothing to do: `sonde run` and sonde.record() need no ptrace",
    )


def _seccomp() -> Check:
    if permissions.seccomp_mode() != permissions.FILTERED:
        return Check("seccomp", True, "no seccomp filter")
    return Check(
        "seccomp",
        False,
        "a seccomp filter is active, as in containers",
        "nothing to do while the checks above pass",
    )


def _steal() -> Check:
    """Time that the machine under this virtual one gave to others, since boot."""
    times = cpu_times.together()
    share = times.steal_ns / max(times.total_ns, 1)
    found = f"{100 * share:.2g} % steal time since boot"
    if share < _STEAL_THRESHOLD:
        return Check("steal", True, found)
    return Check("steal", False, found, "compare only runs that alternate on this machine")

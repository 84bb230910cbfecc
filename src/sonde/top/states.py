"""What each thread does now: locks from the recording, all other states from the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.record.system.thread_states import RUNS, STOPPED, ThreadState, thread_states
from sonde.reports.live.process import ENDED, ThreadNow
from sonde.views.selecting.formatting import duration

if TYPE_CHECKING:
    from sonde.views.live import Live
    from sonde.views.locks.wait_graph import Wait
    from sonde.views.threads import ThreadRow

_SLEEPS = {
    "I/O": ("I/O", "waits for I/O"),
    "sleep": ("sleep", "sleeps"),
    "child": ("child", "waits for a child process"),
}


def threads_now(live: Live) -> list[ThreadNow]:
    """The threads of the window and those that only stood there, by CPU time."""
    pids = [p.pid for p in live.processes if p.end_ns is None]
    if live.process is not None:
        pids = [pid for pid in pids if pid == live.process]
    kernel = {tid: (pid, state) for pid in pids for tid, state in thread_states(pid).items()}
    waits = {wait.tid: wait for wait in live.waits.waits}
    rows: list[ThreadNow] = []
    seen: set[int] = set()
    for row in live.threads.rows:
        known = kernel.get(row.tid)
        if known is None and not row.cpu_ns and not row.wait_ns:
            continue  # it ended before the window
        # A thread that runs two interpreters has two rows, and does one thing.
        first = row.tid not in seen
        seen.add(row.tid)
        wait = waits.get(row.tid) if first else None
        rows.append(_now(row, wait, known[1] if known else None))
    for tid, (pid, state) in kernel.items():
        if tid not in seen:
            python = any(p.pid == pid and p.runtime == "cpython" for p in live.processes)
            name = "MainThread" if tid == pid and python else state.name
            word, doing = _by_kernel(state, None)
            rows.append(ThreadNow(tid, pid, name, 0, 0, word, doing))
    return rows


def _now(row: ThreadRow, wait: Wait | None, state: ThreadState | None) -> ThreadNow:
    if state is None:
        word, doing = ENDED, "has ended"
    elif wait is not None and state.state != RUNS:
        word, doing = wait.kind, _waiting(wait)
    else:
        word, doing = _by_kernel(state, row)
    name = f"{row.name} (interpreter {row.interpreter})" if row.interpreter else row.name
    waited = sum(row.wait_ns.values())
    return ThreadNow(row.tid, row.process, name, row.cpu_ns, waited, word, doing)


def _waiting(wait: Wait) -> str:
    long = duration(wait.waited_ns)
    if wait.kind == "gil":
        return f"waits for the GIL, {long}"
    has = f", held by {wait.owner_thread}" if wait.owner_thread and not wait.signalling else ""
    return f"{wait.kind}{has}, {long}: {wait.short}"


def _by_kernel(state: ThreadState, row: ThreadRow | None) -> tuple[str, str]:
    if state.state == RUNS:
        return "running", "running"
    if state.state == STOPPED:
        return "stopped", "is stopped"
    if state.waits_for in _SLEEPS:
        return _SLEEPS[state.waits_for]
    if state.waits_for == "futex":
        # A short wait for the GIL is reported when it is over, which is after this moment.
        if row is not None and row.wait_ns.get("gil"):
            return "gil", "waits, probably for the GIL"
        return "lock", "waits for a lock or a notification"
    return "waiting", "waits"

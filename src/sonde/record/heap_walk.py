"""Has the agent of a CPython process write its heap into a file; sonde.heap reads it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import shutil
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import IO

from sonde.errors import SondeError

from .recorder.control.agent_socket import listen_for_target
from .targets import ptrace_inject
from .targets.cpython import Runtime
from .targets.process import RunningProcess, tracer_of

_MAGIC = 0x70616548
# From the agent's first step in the target to its connection.
_CONNECT_S = 5.0
# A program may keep the GIL for long, and a collection may take as long.
_GIL_S = 60.0
# An object whose references take longer to visit hangs.
STUCK_S = 20.0
_MAX_TRY_S = 6.0


class Order(ctypes.Structure):
    """Of native/cpython/heap/heap_request.h."""

    _fields_ = (("magic", ctypes.c_uint32), ("stuck_ms", ctypes.c_uint32))


class Answer(ctypes.Structure):
    """Of native/cpython/heap/heap_request.h."""

    _fields_ = (
        ("magic", ctypes.c_uint32),
        ("error", ctypes.c_int32),
        ("pause_ns", ctypes.c_uint64),
        ("gil_ns", ctypes.c_uint64),
        ("walk_ns", ctypes.c_uint64),
        ("objects", ctypes.c_uint64),
        ("edges", ctypes.c_uint64),
        ("left_out", ctypes.c_uint64),
        ("interpreters_left_out", ctypes.c_uint64),
        ("type", ctypes.c_char * 128),
    )


@dataclass(frozen=True)
class Walked:
    pause_ns: int
    """How long the program was stopped."""
    walk_ns: int
    taken: str
    """When the program went on, as ISO 8601 in UTC."""


def walk_here(agent: ctypes.PyDLL, file: IO[bytes]) -> Walked:
    """The heap of this very process."""
    answer = Answer()
    agent.sonde_agent_heap_here(file.fileno(), int(STUCK_S * 1000), ctypes.byref(answer))
    return _walked(answer, os.getpid())


def walk(process: RunningProcess, runtime: Runtime, file: IO[bytes]) -> Walked:
    """Has the process write its heap into a file; one that is being recorded may be asked, too."""
    tracer = tracer_of(process.pid)
    if tracer is not None:
        raise SondeError(f"no heap snapshot of process {process.pid}: {tracer} traces it")
    place = listen_for_target(process.place() or None)
    try:
        _inject(process, runtime, place.path)
        with _connection(place.listener, process.pid) as connection:
            return _walked(_ask(connection, file, process.pid), process.pid)
    finally:
        place.close()
        shutil.rmtree(place.folder, ignore_errors=True)


def _inject(process: RunningProcess, runtime: Runtime, path: str) -> None:
    until = time.monotonic() + _MAX_TRY_S
    while True:
        done = ptrace_inject.inject(process.pid, runtime, process.agent, "sonde_agent_heap", path)
        if done.outcome != ptrace_inject.NO_SAFE_MOMENT or time.monotonic() > until:
            break
    why = done.why_not
    if why is None and done.returned == errno.EALREADY:
        why = "another one is being taken"
    elif why is None and done.returned:
        why = f"its agent could not start a thread: {os.strerror(done.returned).lower()}"
    if why is not None:
        raise SondeError(f"no heap snapshot of process {process.pid}: {why}")


def _connection(listener: socket.socket, pid: int) -> socket.socket:
    if not select.select([listener], [], [], _CONNECT_S)[0]:
        raise SondeError(f"no heap snapshot of process {pid}: its agent does not respond")
    connection, _ = listener.accept()
    return connection


def _ask(connection: socket.socket, file: IO[bytes], pid: int) -> Answer:
    order = Order(_MAGIC, int(STUCK_S * 1000))
    with contextlib.suppress(BrokenPipeError):
        socket.send_fds(connection, [bytes(order)], [file.fileno()])
    last, size = time.monotonic(), -1
    while not select.select([connection], [], [], 0.2)[0]:
        # As long as it writes it is at work.
        if (now := os.fstat(file.fileno()).st_size) != size:
            last, size = time.monotonic(), now
        elif time.monotonic() - last > _GIL_S:
            raise SondeError(
                f"no heap snapshot of process {pid}: it did not release its GIL for {_GIL_S:.0f} s"
            )
    data = connection.recv(ctypes.sizeof(Answer))
    if len(data) != ctypes.sizeof(Answer):
        raise SondeError(f"no heap snapshot of process {pid}: it exited meanwhile")
    answer = Answer.from_buffer_copy(data)
    if answer.magic != _MAGIC:
        raise SondeError(f"no heap snapshot of process {pid}: its agent is another version")
    return answer


def _walked(answer: Answer, pid: int) -> Walked:
    if answer.error:
        raise SondeError(_why_not(answer, pid))
    # The program went on when the copy of it began to walk.
    began = datetime.now(UTC) - timedelta(microseconds=answer.walk_ns / 1000)
    return Walked(answer.pause_ns, answer.walk_ns, began.isoformat(timespec="milliseconds"))


def _why_not(answer: Answer, pid: int) -> str:
    of_type = answer.type.decode(errors="replace")
    where = f" at an object of type {of_type}" if of_type else ""
    no = f"no heap snapshot of process {pid}"
    return {
        errno.EALREADY: f"{no}: another one is being taken",
        errno.EBUSY: f"{no}: it was collecting garbage all the time",
        errno.ETIMEDOUT: f"{no}: the walk over its objects hung{where}",
        errno.EFAULT: f"{no}: the walk over its objects crashed{where}",
        errno.ESRCH: f"{no}: its interpreter is ending",
    }.get(answer.error, f"{no}: {os.strerror(answer.error).lower()}")

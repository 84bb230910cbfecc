"""All tasks of a process at one moment."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sonde.model.task_graph import (
    READY,
    RUNNING,
    SUSPENDED,
    LoopNow,
    TaskNow,
    TasksNow,
    deadlocks,
)

from ..targets import cpython
from .awaits import (
    EXECUTOR,
    OTHER,
    TASKS,
    awaited_lock,
    goes_to_executor,
    held,
    is_done,
    is_first_enough,
    kind_of,
    leads_to,
    waited_on,
)
from .layout import layout_of
from .objects import Objects, Unreadable
from .registry import interpreters, task_addresses, threads
from .stacks import (
    coroutine_stack,
    is_generator,
    is_suspended,
    not_begun,
    state,
    thread_stack,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .registry import Thread
    from .stacks import Activation

_LOOP, _FIRST_FIELD, _MAX_FIELDS = 2, 3, 32
_AGAIN_S = 0.05
_TRIES = 3


class TaskReader:
    """Reads the tasks of one process: nothing runs in it for that, and nothing in it waits."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._layout = None
        try:
            found = cpython.find(pid)
        except OSError:  # its memory may not be read, or it has exited
            return
        if found is not None and not found.free_threaded:
            self._runtime = found.address
            self._layout = layout_of(found.version)

    def read(self) -> TasksNow:
        """Without tasks if it is no process whose tasks can be read. A deadlock is read twice."""
        if self._layout is None:
            return TasksNow()
        try:
            objects = Objects(self._pid, self._layout)
        except OSError:
            return TasksNow()
        try:
            before = _read(objects, self._runtime)
            if not before.deadlocks:
                return before
            time.sleep(_AGAIN_S)
            again = _read(objects, self._runtime)
        finally:
            objects.close()
        known = {_identity(before, cycle) for cycle in before.deadlocks}
        lasting = [cycle for cycle in again.deadlocks if _identity(again, cycle) in known]
        return replace(again, deadlocks=lasting)


def _identity(now: TasksNow, cycle: list[int]) -> frozenset[tuple[int, int]]:
    return frozenset(now.tasks[i].wait for i in cycle)


@dataclass
class _Task:
    address: int
    name: str
    loop: int
    waits_for: int
    """The future that it awaits; 0: none."""
    stack: list[Activation]
    state: str


def _read(objects: Objects, runtime: int) -> TasksNow:
    for _ in range(_TRIES):
        try:
            return _all(objects, runtime)
        except Unreadable:
            continue  # what was read had changed meanwhile
    return TasksNow()


def _all(objects: Objects, runtime: int) -> TasksNow:
    loops: list[LoopNow] = []
    tasks: list[TaskNow] = []
    for interpreter in interpreters(objects, runtime):
        here = threads(objects, interpreter)
        running = [thread for thread in here if thread.loop]
        stacks = {thread.tid: _stack(objects, thread) for thread in running}
        found = list(_tasks(objects, task_addresses(objects, interpreter, here), stacks))
        first = len(tasks)
        tasks += _related(objects, found, {thread.loop: thread.tid for thread in running}, first)
        loops += [_loop(objects, thread, stacks[thread.tid], found, first) for thread in running]
    return TasksNow(loops, tasks, deadlocks(tasks))


def _stack(objects: Objects, thread: Thread) -> list[Activation]:
    """A thread that runs changes its stack while it is read."""
    for _ in range(_TRIES):
        try:
            return thread_stack(objects, thread.address)
        except Unreadable:
            continue
    return []


def _loop(
    objects: Objects, thread: Thread, stack: list[Activation], found: list[_Task], first: int
) -> LoopNow:
    running = (i for i, x in enumerate(found) if x.state == RUNNING and x.loop == thread.loop)
    at = next(running, None)
    step = _of_callback(stack) if at is None else found[at].stack
    return LoopNow(
        thread.tid,
        "uvloop" if objects.is_a_safely(thread.loop, "uvloop.loop.Loop") else "asyncio",
        None if at is None else first + at,
        [x.frame for x in step] if step else None,
    )


def _of_callback(stack: list[Activation]) -> list[Activation]:
    """What a callback does that is no task's; asyncio calls all of them from one place."""
    for place in range(len(stack) - 1, -1, -1):
        frame = stack[place].frame
        if frame.name == "Handle._run" and frame.file.endswith("asyncio/events.py"):
            return stack[place + 1 :]
    return []


# ---- tasks


def _tasks(
    objects: Objects, addresses: list[int], stacks: dict[int, list[Activation]]
) -> Iterator[_Task]:
    places = {x.address: (tid, i) for tid, stack in stacks.items() for i, x in enumerate(stack)}
    for address in addresses:
        try:
            task = _task(objects, address, places, stacks)
        except Unreadable:
            continue  # it has just ended
        if task is not None:
            yield task


def _task(
    objects: Objects,
    address: int,
    places: dict[int, tuple[int, int]],
    stacks: dict[int, list[Activation]],
) -> _Task | None:
    words = objects.words(address, _MAX_FIELDS)
    # Its coroutine lies between the future that it awaits and its name.
    at = next(i for i in range(_FIRST_FIELD + 1, _MAX_FIELDS) if is_generator(objects, words[i]))
    coroutine, future = words[at], words[at - 1]
    name = _name(objects, words[at + 1])
    now = state(objects, coroutine)
    if now == objects.layout.executing:
        tid, place = places.get(coroutine + objects.layout.coroutine_frame, (0, 0))
        stack = stacks[tid][place:] if tid else []
        return _Task(address, name, words[_LOOP], 0, stack, RUNNING)
    if is_suspended(objects, coroutine):
        waits = bool(future) and not is_done(objects, future)
        stack = coroutine_stack(objects, coroutine)
        now_is = SUSPENDED if waits else READY
        return _Task(address, name, words[_LOOP], future if waits else 0, stack, now_is)
    if now != objects.layout.created:
        return None
    return _Task(address, name, words[_LOOP], 0, [not_begun(objects, coroutine)], READY)


def _name(objects: Objects, address: int) -> str:
    """A text, or from 3.12 on the number that it is made from when somebody asks for it."""
    kind = objects.type_name(address)
    if kind == "str":
        return objects.text(address)
    return f"Task-{objects.number(address)}" if kind == "int" else ""


def _related(
    objects: Objects, found: list[_Task], tids: dict[int, int], first: int
) -> Iterator[TaskNow]:
    """The same with what each awaits; the list begins with number `first`."""
    places = {task.address: first + i for i, task in enumerate(found)}
    reached = [leads_to(objects, task.address) for task in found]
    locks = [awaited_lock(objects, task.stack) for task in found]
    for i, task in enumerate(found):
        kind, awaits, needs_all = None, [], True
        if task.state == SUSPENDED:
            kind = kind_of(task.stack)
            if task.waits_for in places:
                kind, awaits = TASKS, [places[task.waits_for]]
            elif locks[i]:
                awaits = [
                    first + k
                    for k, other in enumerate(found)
                    if other.state != RUNNING
                    and held(objects, other.stack, locks[i]) > (locks[k] == locks[i])
                ]
                # A semaphore has several holders, and any of them may be the next to release it.
                needs_all = kind == "lock"
            elif kind is None:
                wanted = waited_on(objects, task.stack, task.waits_for)
                awaits = [first + k for k in range(len(found)) if k != i and reached[k] & wanted]
                needs_all = not is_first_enough(task.stack)
                executor = not awaits and goes_to_executor(objects, task.waits_for)
                kind = TASKS if awaits else EXECUTOR if executor else OTHER
        yield TaskNow(
            task.name,
            tids.get(task.loop),
            task.state,
            [x.frame for x in task.stack],
            kind,
            awaits,
            needs_all,
            wait=(task.address, task.waits_for),
        )

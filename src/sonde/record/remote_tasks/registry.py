"""Where an interpreter keeps its threads, its running event loops and its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .objects import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .objects import Objects

TASK = "_asyncio.Task"
_MAX_TASKS = 10_000
_MAX_THREADS = 4096
_MAX_INTERPRETERS = 256
# A task begins at most so many words before its place in the list of tasks.
_MAX_WORDS = 40
_RUNNING_LOOP = "__asyncio_running_event_loop__"
# Sets of asyncio.tasks that hold tasks: weakly, and those that run their first step.
_WEAK_SETS = ("_all_tasks", "_scheduled_tasks")
_EAGER_SET = "_eager_tasks"


@dataclass(frozen=True)
class Thread:
    address: int
    tid: int
    loop: int
    """The event loop that it runs; 0: none."""


def interpreters(objects: Objects, runtime: int) -> Iterator[int]:
    at = objects.word(runtime + objects.layout.interpreters_head)
    for _ in range(_MAX_INTERPRETERS):
        if not at:
            return
        yield at
        at = objects.word(at + objects.layout.interpreter_next)


def threads(objects: Objects, interpreter: int) -> list[Thread]:
    layout = objects.layout
    found: list[Thread] = []
    at = objects.word(interpreter + layout.interpreter_threads)
    while at and len(found) < _MAX_THREADS:
        tid = objects.word(at + layout.thread_tid)
        found.append(Thread(at, tid, _loop(objects, at)))
        at = objects.word(at + layout.thread_next)
    return found


def _loop(objects: Objects, thread: int) -> int:
    layout = objects.layout
    if layout.thread_loop:
        return objects.word(thread + layout.thread_loop)
    own = objects.word(thread + layout.thread_dict)
    loop = objects.in_dict(own, _RUNNING_LOOP) if own else 0
    if not loop or objects.type_name(loop) == "NoneType":
        return 0
    if "RunningLoopHolder" in objects.type_name(loop):  # 3.11
        return objects.word(loop + 16)  # rl_loop, its first field
    return loop


def task_addresses(objects: Objects, interpreter: int, threads_: list[Thread]) -> list[int]:
    """Tasks of asyncio's C code and of classes derived from it, those that have ended included."""
    found: dict[int, None] = {}
    for address in _registered(objects, interpreter):
        found[address] = None
    if objects.layout.thread_tasks:
        heads = [thread.address + objects.layout.thread_tasks for thread in threads_]
        for head in [*heads, interpreter + objects.layout.interpreter_tasks]:
            for address in _listed(objects, head, len(found)):
                found[address] = None
    return [address for address in found if objects.is_a_safely(address, TASK)]


def _registered(objects: Objects, interpreter: int) -> Iterator[int]:
    modules = objects.word(interpreter + objects.layout.interpreter_modules)
    module = objects.in_dict(modules, "asyncio.tasks") if modules else 0
    if not module or not objects.is_a_safely(module, "module"):
        return
    names = objects.word(module + objects.layout.module_dict)
    for name in _WEAK_SETS:
        weak_set = objects.in_dict(names, name)
        data = objects.attribute(weak_set, "data") if weak_set else 0
        if not data or objects.type_name(data) != "set":
            continue
        for reference in objects.set_items(data)[:_MAX_TASKS]:
            try:
                if "weakref" in objects.type_name(reference):
                    yield objects.word(reference + objects.layout.weakref_object)
            except Unreadable:
                continue
    eager = objects.in_dict(names, _EAGER_SET)
    if eager and objects.type_name(eager) == "set":
        yield from objects.set_items(eager)


def _listed(objects: Objects, head: int, known: int) -> Iterator[int]:
    """From 3.14 on: a ring of links, each in a task."""
    at, words = objects.word(head), 0
    for _ in range(_MAX_TASKS - known):
        if at in (0, head):
            return
        words = words or _words_before(objects, at)
        if words:
            yield at - words * 8
        at = objects.word(at)


def _words_before(objects: Objects, link: int) -> int:
    """How many words of a task come before its link: one of them is its type."""
    for words in range(3, _MAX_WORDS):
        if objects.is_a_safely(link - words * 8, TASK):
            return words
    return 0

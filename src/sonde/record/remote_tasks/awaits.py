"""What a suspended task awaits: by its coroutines, and by who calls back whom."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from .objects import Unreadable
from .stacks import local, pushed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .objects import Objects
    from .stacks import Activation

FUTURE = "_asyncio.Future"
# Of a C future, in words: 3.11 to 3.15.
_CALLBACK, _CALLBACKS = 3, 5
_MAX_HOPS = 6
_MAX_CALLBACKS = 100
_KINDS = {
    "Lock.acquire": "lock",
    "Semaphore.acquire": "semaphore",
    "BoundedSemaphore.acquire": "semaphore",
    "Condition.wait": "condition",
    "Event.wait": "event",
    "Barrier._block": "barrier",
    "Barrier._wait": "barrier",
    "Queue.get": "queue",
    "Queue.put": "queue",
    "Queue.join": "queue",
    "sleep": "sleep",
    "StreamReader._wait_for_data": "I/O",
    "FlowControlMixin._drain_helper": "I/O",
    "BaseSelectorEventLoop.sock_recv": "I/O",
    "BaseSelectorEventLoop.sock_recv_into": "I/O",
    "BaseSelectorEventLoop.sock_sendall": "I/O",
    "BaseSelectorEventLoop.sock_accept": "I/O",
    "BaseSelectorEventLoop.sock_connect": "I/O",
    "Process.wait": "child",
}
"""By the innermost function, if it is one of asyncio's."""
TASKS, EXECUTOR, OTHER = "task", "executor", "future"


def callbacks(objects: Objects, future: int) -> list[int]:
    words = objects.words(future, _CALLBACKS + 1)
    found = [words[_CALLBACK]] if words[_CALLBACK] else []
    others = objects.items(words[_CALLBACKS]) if words[_CALLBACKS] else ()
    return found + [objects.items(pair)[0] for pair in others[:_MAX_CALLBACKS]]


def is_done(objects: Objects, future: int) -> bool:
    """Whether whoever awaits the future was called back already."""
    return objects.is_a(future, FUTURE) and not callbacks(objects, future)


def leads_to(objects: Objects, task: int) -> frozenset[int]:
    """All objects that the callbacks of a task belong to, and those of futures that they end."""
    found: set[int] = set()
    queue = [task]
    for _ in range(_MAX_HOPS):
        reached: set[int] = set()
        for future in queue:
            try:
                for callback in callbacks(objects, future):
                    reached |= set(_belongs_to(objects, callback))
            except Unreadable:
                continue
        queue = [x for x in reached - found if objects.is_a_safely(x, FUTURE)]
        found |= reached
        if not queue:
            break
    return frozenset(found)


def _belongs_to(objects: Objects, callback: int) -> Iterator[int]:
    layout, name = objects.layout, objects.type_name(callback)
    if name == "builtin_function_or_method":
        yield objects.word(callback + layout.builtin_self)
    elif name == "method":
        yield objects.word(callback + layout.method_self)
        yield from _belongs_to(objects, objects.word(callback + layout.method_function))
    elif name == "function":
        closure = objects.word(callback + layout.function_closure)
        for cell in objects.items(closure):
            if value := objects.word(cell + layout.cell_value):
                yield value
    elif name == "functools.partial":
        yield from _belongs_to(objects, objects.word(callback + 16))
        yield from objects.items(objects.word(callback + 24))


def waited_on(objects: Objects, stack: list[Activation], future: int) -> set[int]:
    """What tasks may belong to for which this one waits: the future, or its group of tasks."""
    inner = stack[-1] if stack else None
    if inner is not None and inner.frame.name.startswith("TaskGroup."):
        return {future, local(objects, inner)}
    return {future}


def is_first_enough(stack: list[Activation]) -> bool:
    """Whether one of several tasks is enough: `asyncio.wait` may want only the first."""
    return bool(stack) and stack[-1].frame.name in ("_wait", "wait")


def goes_to_executor(objects: Objects, future: int) -> bool:
    """Whether a thread of an executor, or another thread's future, ends it."""
    for callback in callbacks(objects, future):
        if objects.type_name(callback) == "function":
            code = objects.code(objects.word(callback + objects.layout.function_code))
            if code.name.startswith("_chain_future."):
                return True
    return False


def kind_of(stack: list[Activation]) -> str | None:
    """By the innermost coroutine, if it is one of asyncio's."""
    inner = stack[-1].frame if stack else None
    if inner is None or PurePath(inner.file).parent.name != "asyncio":
        return None
    return _KINDS.get(inner.name)


def awaited_lock(objects: Objects, stack: list[Activation]) -> int:
    """The lock or semaphore that a task waits for; 0: none."""
    if kind_of(stack) not in ("lock", "semaphore"):
        return 0
    return local(objects, stack[-1])


def held(objects: Objects, stack: list[Activation], lock: int) -> int:
    """How many `async with` of the suspended coroutines are inside of a lock, or enter it."""
    count = 0
    for activation in stack:
        values = pushed(objects, activation)
        # Up to 3.13 the bound method that ends the block, from 3.14 on the function and its self.
        count += any(_is_of(objects, value, lock) for value in values if value)
    return count


def _is_of(objects: Objects, value: int, lock: int) -> bool:
    try:
        if value == lock:
            return True
        if objects.type_name(value) == "method":
            value = objects.word(value + objects.layout.method_self)
            if value == lock:
                return True
        # A condition has a lock of its own.
        return objects.type_name(value) == "Condition" and (
            objects.attribute(value, "_lock") == lock
        )
    except Unreadable:
        return False

"""Stacks of threads, and of coroutines that are suspended, in another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.model.task_graph import Frame

from .objects import Unreadable

if TYPE_CHECKING:
    from .objects import Code, Objects

_MAX_DEPTH = 2000
_GENERATORS = ("coroutine", "generator", "async_generator")
# What lies between a coroutine and the one it awaits: `async for`, and `__await__` of coroutines.
_WRAPPERS = ("async_generator_asend", "coroutine_wrapper")


@dataclass(frozen=True)
class Activation:
    """A frame, and where it lies."""

    address: int
    code: Code
    frame: Frame


def thread_stack(objects: Objects, thread: int) -> list[Activation]:
    """Of a thread state; outermost first."""
    layout = objects.layout
    holder = objects.word(thread + layout.thread_cframe) if layout.thread_cframe else thread
    at = objects.word(holder + layout.current_frame)
    found: list[Activation] = []
    for _ in range(_MAX_DEPTH):
        if not at:
            break
        owner = objects.read(at + layout.frame_owner, 1)[0]
        if owner < layout.shim_owner:
            found.append(_activation(objects, at))
        at = objects.word(at + layout.frame_previous)
    return found[::-1]


def coroutine_stack(objects: Objects, coroutine: int) -> list[Activation]:
    """Of a suspended coroutine and those that it awaits; outermost first."""
    found: list[Activation] = []
    while len(found) < _MAX_DEPTH and coroutine:
        if objects.type_name(coroutine) not in _GENERATORS or not is_suspended(objects, coroutine):
            break
        at = coroutine + objects.layout.coroutine_frame
        found.append(_activation(objects, at))
        try:
            coroutine = _awaited(objects, found[-1])
        except Unreadable:
            break
    return found


def not_begun(objects: Objects, coroutine: int) -> Activation:
    """Where a coroutine will begin."""
    return _activation(objects, coroutine + objects.layout.coroutine_frame)


def state(objects: Objects, coroutine: int) -> int:
    return objects.read(coroutine + objects.layout.coroutine_state, 1)[0]


def is_suspended(objects: Objects, coroutine: int) -> bool:
    layout = objects.layout
    return layout.suspended_first <= state(objects, coroutine) <= layout.suspended_last


def is_generator(objects: Objects, address: int) -> bool:
    try:
        return objects.type_name(address) in _GENERATORS
    except Unreadable:
        return False


def local(objects: Objects, activation: Activation, place: int = 0) -> int:
    """A local variable; the first one of a method is `self`."""
    return _value(objects, activation.address + objects.layout.frame_values + 8 * place)


def pushed(objects: Objects, activation: Activation) -> list[int]:
    """The values on the stack of a suspended frame: of `async with` what ends it is there."""
    code, layout = activation.code, objects.layout
    first = activation.address + layout.frame_values
    return [
        _value(objects, first + 8 * place)
        for place in range(code.locals, min(_top(objects, activation), code.locals + code.stack))
    ]


def _activation(objects: Objects, at: int) -> Activation:
    layout = objects.layout
    code = objects.code(objects.word(at + layout.frame_code) & ~3)  # tagged from 3.14 on
    index = (objects.word(at + layout.frame_instr) - code.start) // 2
    index = max(index, 0)  # up to 3.12 a frame that has not begun is before the first one
    line = code.lines[index] if index < len(code.lines) else 0
    return Activation(at, code, Frame(code.name, code.file, line, code.first_line))


def _value(objects: Objects, at: int) -> int:
    value = objects.word(at)
    return 0 if value & 3 == 3 else value & ~3  # from 3.14 on tagged, and an integer has both bits


def _top(objects: Objects, activation: Activation) -> int:
    """How many values the frame holds, its local variables included."""
    layout = objects.layout
    at = activation.address + layout.frame_top
    if not layout.top_is_pointer:
        return objects.int32(at)
    return (objects.word(at) - activation.address - layout.frame_values) // 8


def _awaited(objects: Objects, activation: Activation) -> int:
    """What a suspended frame delegates to lies on top of its stack; 3.15 keeps an index beside."""
    for value in pushed(objects, activation)[:-3:-1]:
        if not value:
            continue
        if objects.type_name(value) in _WRAPPERS:
            return objects.word(value + 16)  # the first field of either
        return value
    return 0

"""Runs a program and counts every call it makes: who, from which line, called whom.

    count_calls.py OUT PROGRAM [ARGS...]

A call of a Python function counts when its body begins: a generator's at its first step, and not
when it goes on. Calls of what is written in C count where Python code makes them. With COUNT_SINCE in
the environment, those before the first call of the function of that name are forgotten.
"""

import dis
import json
import os
import sys
import threading
import types

counts = {}
since = os.environ.get("COUNT_SINCE")


def add(caller, line, callee):
    global since
    if since and getattr(callee, "co_name", "") == since:
        counts.clear()
        since = None
    key = (caller, line, callee)
    counts[key] = counts.get(key, 0) + 1


def lasts(kind):
    """Is it a type that is written in C?"""
    return not kind.__flags__ & (1 << 9) or bool(kind.__flags__ & (1 << 8))


def is_native(called):
    kind = type(called)
    if kind is types.MethodType:
        called = called.__func__
        kind = type(called)
    if kind is types.FunctionType:
        return False
    return lasts(called if kind is type else kind)


def begins(frame, firsts={}):
    code = frame.f_code
    if code not in firsts:
        firsts[code] = min(i.offset for i in dis.get_instructions(code) if i.opname == "RESUME")
    return frame.f_lasti <= firsts[code]


def on_profile(frame, event, arg):
    if event == "call" and begins(frame) and frame.f_back is not None:
        add(frame.f_back.f_code, frame.f_back.f_lineno, frame.f_code)
    elif event == "c_call":
        add(frame.f_code, frame.f_lineno, arg.__name__)


def on_start(code, offset):
    caller = sys._getframe(1).f_back
    if caller is not None:
        add(caller.f_code, caller.f_lineno, code)


NAMED = (
    type,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)


def on_call(code, offset, called, arg):
    if is_native(called):
        # Any other object that can be called is called by its type's way of it.
        name = called.__name__ if isinstance(called, NAMED) else "__call__"
        add(code, sys._getframe(1).f_lineno, name)


def begin():
    if sys.version_info < (3, 12):
        threading.setprofile(on_profile)
        sys.setprofile(on_profile)
        return
    m = sys.monitoring
    m.use_tool_id(m.PROFILER_ID, "count_calls")
    m.register_callback(m.PROFILER_ID, m.events.PY_START, on_start)
    m.register_callback(m.PROFILER_ID, m.events.CALL, on_call)
    m.set_events(m.PROFILER_ID, m.events.PY_START | m.events.CALL)


def end():
    if sys.version_info < (3, 12):
        sys.setprofile(None)
        threading.setprofile(None)
    else:
        sys.monitoring.set_events(sys.monitoring.PROFILER_ID, 0)


def key(code):
    return [code.co_qualname, code.co_filename] if isinstance(code, types.CodeType) else [code, ""]


def main():
    out, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    space = {"__name__": "__main__", "__file__": program, "__builtins__": __builtins__}
    with open(program, "rb") as f:
        code = compile(f.read(), program, "exec", dont_inherit=True)
    begin()
    try:
        exec(code, space)
    finally:
        end()
    with open(out, "w") as f:
        json.dump([[key(a), line, key(b), n] for (a, line, b), n in counts.items()], f)


main()

"""Runs a program and notes every call it makes: who, from which line, called whom.

    trace_edges.py OUT PROGRAM [ARGS...]

This is the truth that sampled stacks are held against: a call that is not in it never happens. The
interpreter's own profile hook reports them all, the inlined ones and those made by C code.
"""

import json
import sys
import threading
import types

calls = set()
built_in = set()


def note(frame, event, arg):
    if event == "call":
        caller = frame.f_back
        if caller is None:
            calls.add((None, 0, frame.f_code))
        else:
            calls.add((caller.f_code, caller.f_lineno, frame.f_code))
    elif event == "c_call":
        built_in.add((frame.f_code, frame.f_lineno, getattr(arg, "__qualname__", "")))


def key(code):
    return [code.co_qualname, code.co_filename, code.co_firstlineno]


def all_codes(code, into):
    into.append(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            all_codes(constant, into)
    return into


def main():
    out, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    space = {"__name__": "__main__", "__file__": program, "__builtins__": __builtins__}
    with open(program, "rb") as f:
        code = compile(f.read(), program, "exec", dont_inherit=True)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        exec(code, space)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    own = main.__code__
    seen = {c for a, _, b in calls for c in (a, b) if c is not None}
    seen.update(all_codes(code, []))
    seen.discard(own)
    with open(out, "w") as f:
        json.dump(
            {
                "calls": [
                    [None if a is None or a is own else key(a), 0 if a is own else line, key(b)]
                    for a, line, b in calls
                ],
                "built_in": [[key(a), line, name] for a, line, name in built_in if a is not own],
                # Some instructions belong to no line: f_lineno is None there, the recording says 0.
                "lines": [[key(c), sorted({n or 0 for *_, n in c.co_lines()})] for c in seen],
            },
            f,
        )


main()

"""Counts what a program creates: `created.py PROGRAM`.

Prints {class: instances} of one round as JSON. An instance counts when its class's `__init__` is
entered from outside of another `__init__` of the same object. So it tells of classes that are
initialized by Python code, and of all of these.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

# Started as a script, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workloads import programs

counted: Counter[str] = Counter()


def first_argument(frame: FrameType) -> object:
    return frame.f_locals.get(frame.f_code.co_varnames[0])


def count(frame: FrameType, event: str, _: object) -> None:
    if event != "call" or frame.f_code.co_name != "__init__" or not frame.f_code.co_argcount:
        return
    made = first_argument(frame)
    caller = frame.f_back
    while caller is not None and caller.f_code.co_name == "__init__":
        if caller.f_code.co_argcount and first_argument(caller) is made:
            return
        caller = caller.f_back
    counted[f"{type(made).__module__}.{type(made).__qualname__}"] += 1


def rounds(work: programs.Work) -> None:
    sys.setprofile(count)
    work()
    sys.setprofile(None)


def main() -> None:
    work = programs.prepare(sys.argv[1])
    work()  # what is made once is not part of a round
    rounds(work)
    print(json.dumps(counted))


main()

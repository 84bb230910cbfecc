"""Arnold and Grove's example (CGO 2005, Figure 1), with a start-up that makes a tenth of the calls.

    figure_1.py ROUNDS

The loop reads and writes fields for a long time and then makes two short calls: the timer almost
always interrupts it before the first of them. The start-up compiles regular expressions, as the
import of many modules does: dense calls of Python and C functions.
"""

import re
import sys

PATTERNS = 96
LONG = (None,) * 60


class Fields:
    def __init__(self):
        self.one = 1
        self.two = 2


def call_1():
    return 1


def call_2():
    return 2


def start_up():
    re.purge()
    for n in range(PATTERNS):
        re.compile(rf"(?P<name{n}>[a-z_]\w*)\s*(?:=|:={{1,{n + 2}}})\s*(\d+|'[^'\n]*'|x{n})+?$")


def loop(rounds):
    fields = Fields()
    for _ in range(rounds):
        for _ in LONG:
            fields.one = fields.two
            fields.two = fields.one
        call_1()
        call_2()


def main(rounds):
    start_up()
    loop(rounds)


main(int(sys.argv[1]))

"""Calls functions from places that the interpreter specialises, and looks each time what it has
made of them.

    specialised.py SECONDS

Says how often such an instruction was specialised, and how often plain; otherwise it is a tool's.
"""

import dis
import json
import sys
import time


class Thing:
    def __init__(self):
        pass

    @property
    def size(self):
        return 1

    def __getitem__(self, index):
        return index


def callee(x):
    return x


THING = Thing()


def by_call(code, at, met):
    for i in LOOP:
        callee(i)
        met[code._co_code_adaptive[at]] += 1


def by_class(code, at, met):
    for _ in LOOP:
        Thing()
        met[code._co_code_adaptive[at]] += 1


def by_item(code, at, met):
    for i in LOOP:
        THING[i]
        met[code._co_code_adaptive[at]] += 1


def by_property(code, at, met):
    for _ in LOOP:
        THING.size
        met[code._co_code_adaptive[at]] += 1


LOOP = range(2000)


class Site:
    """The first instruction of a function that has one of these names."""

    def __init__(self, function, *names):
        self.code = function.__code__
        self.function = function
        instructions = dis.get_instructions(function)
        self.at = next(i.offset for i in instructions if i.opname in names)
        self.plain = self.code._co_code_adaptive[self.at]
        learned = [0] * 256
        self.run(learned)
        # What it is most of the time: right now it may be a tool's.
        self.specialised = learned.index(max(learned))
        self.met = [0] * 256

    def run(self, met):
        self.function(self.code, self.at, met)

    def told(self):
        specialised, plain = self.met[self.specialised], self.met[self.plain]
        if sys.version_info < (3, 12):  # which has no tools, and several plain ones
            plain = sum(self.met) - specialised
        return {"specialised": specialised, "plain": plain}


sites = [
    Site(by_call, "CALL"),
    Site(by_class, "CALL"),
    Site(by_item, "BINARY_SUBSCR", "BINARY_OP"),
    Site(by_property, "LOAD_ATTR"),
]
# Not all of them are specialised by all versions.
sites = [site for site in sites if site.specialised != site.plain]
while time.process_time() < float(sys.argv[1]):
    for site in sites:
        site.run(site.met)
print(json.dumps({site.function.__name__: site.told() for site in sites}))

"""Calls one function from one place, and looks each time what the interpreter has made of it.

    specialised.py SECONDS

Says how often that instruction was specialised, and how often plain. Otherwise it is a tool's.
"""

import dis
import json
import sys
import time


def callee(x):
    return x


def site(n, met):
    code = site.__code__
    for i in range(n):
        callee(i)
        met[code._co_code_adaptive[AT]] += 1


# The second call is the one in the loop.
AT = [i.offset for i in dis.get_instructions(site) if i.opname == "CALL"][1]
# 3.11 has an instruction of its own for what is to be specialised anew.
PLAIN = dis.opmap["CALL"] if sys.version_info >= (3, 12) else dis._all_opname.index("CALL_ADAPTIVE")
site(1000, [0] * 256)
specialised = site.__code__._co_code_adaptive[AT]
assert specialised != PLAIN
met = [0] * 256
while time.process_time() < float(sys.argv[1]):
    site(10_000, met)
print(json.dumps({"specialised": met[specialised], "plain": met[PLAIN]}))

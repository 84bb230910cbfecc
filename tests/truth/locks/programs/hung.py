"""A deadlock that was there before anybody looked.

hung.py FILE      records itself for a moment
"""

import os
import sys
import threading
import time

import sonde

first, second = threading.Lock(), threading.RLock()
both = threading.Barrier(3)


def take_second():
    with second:
        pass


def take_first():
    with first:
        pass


def hold_first():
    with first:
        both.wait()
        take_second()


def hold_second():
    with second:
        both.wait()
        take_first()


for function in (hold_first, hold_second):
    threading.Thread(target=function, daemon=True, name=function.__name__).start()
both.wait()
time.sleep(0.2)  # both are asleep by now
with sonde.record(sys.argv[1], what="locks"):
    time.sleep(0.1)
os._exit(0)

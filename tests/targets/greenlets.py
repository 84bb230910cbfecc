"""Two greenlets of one thread take turns from the depths of their own recursions: `greenlets.py S`.

Frames of the one stay where they are while the other runs, with whatever was written into them.
"""

import sys
import time

from greenlet import getcurrent, greenlet


def spin(number):
    for _ in range(number):
        pass


def other():
    mine, its = (RED, BLUE) if getcurrent() is RED else (BLUE, RED)
    return mine if its.dead else its


def red(depth):
    spin(20)
    if depth % 7 == 3:
        other().switch()
    if depth:
        red(depth - 1)
        spin(20)


def blue(depth):
    spin(20)
    if depth % 5 == 2:
        other().switch()
    if depth:
        blue(depth - 1)
        spin(20)


def red_main():
    while time.process_time() < END:
        red(40)
    return "red"


def blue_main():
    while time.process_time() < END:
        blue(60)
    return "blue"


END = time.process_time() + float(sys.argv[1])
RED, BLUE = greenlet(red_main), greenlet(blue_main)


def main():
    print(RED.switch())


main()

"""Two greenlets of one thread take turns from the depths of their own recursions: `greenlets.py S`.

Frames of the one stay where they are while the other runs, with whatever was written into them.
"""

import sys
import time

from greenlet import getcurrent, greenlet


def spin(number):
    for _ in range(number):
        pass


def red(depth, other, end):
    spin(20)
    if depth % 7 == 3:
        other().switch()
    if depth:
        red(depth - 1, other, end)
        spin(20)


def blue(depth, other, end):
    spin(20)
    if depth % 5 == 2:
        other().switch()
    if depth:
        blue(depth - 1, other, end)
        spin(20)


def red_main(other, end):
    while time.process_time() < end:
        red(40, other, end)
    return "red"


def blue_main(other, end):
    while time.process_time() < end:
        blue(60, other, end)
    return "blue"


def main():
    end = time.process_time() + float(sys.argv[1])
    both = []
    both.append(greenlet(red_main))
    both.append(greenlet(blue_main))

    def other():
        mine, its = both if getcurrent() is both[0] else both[::-1]
        return mine if its.dead else its

    print(both[0].switch(lambda: other(), end), getcurrent() is not both[0])


main()

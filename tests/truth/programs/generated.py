"""Functions made from text, run for a moment and thrown away, over and over, while sampled.

Their code objects die and others are made at the same addresses. Every name carries a number, and
the same number is in the file's name and in the place of the lines: whoever mixes up two of them
cannot hide it. call_17 is the only caller of gen_17, and both are at the lines that 17 says.
"""

import threading

import told
from told import clock, rounds, tell

BODY = """
def gen_{n}(end, clock):
    count = 0
    while clock() < end:
        count += 1
        count += leaf_{n}(count)
    return count

def leaf_{n}(count):
    return count & 1

def call_{n}(end, clock):
    return gen_{n}(end, clock)
"""


def shift(n):
    """Empty lines before the text: 0 to 12."""
    return n % 13


def churn(first, step):
    spent = {}
    n = first
    for _ in rounds():
        for _ in range(4 if told.seconds else 1):
            text = "\n" * shift(n) + BODY.format(n=n)
            space = {}
            exec(compile(text, f"<generated {n}>", "exec"), space)
            start = clock()
            space[f"call_{n}"](start + 120_000 + n % 7 * 40_000, clock)
            spent[n] = clock() - start
            space.clear()
            n += step
    results.append((spent, clock()))


results = []


def main():
    others = [threading.Thread(target=churn, args=(i, 2), name=f"churn-{i}") for i in (1,)]
    for thread in others:
        thread.start()
    churn(0, 2)
    for thread in others:
        thread.join()
    spent = {}
    for part, _ in results:
        spent.update(part)
    return dict(spent=spent)


tell(main)

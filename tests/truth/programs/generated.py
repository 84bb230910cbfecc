"""Functions made from text, run for a moment and thrown away, over and over, while sampled.

Their code objects die and others are made at the same addresses. Every name carries a number, and
the same number is in the file's name and in the place of the lines: whoever mixes up two of them
cannot hide it. call_17 is the only caller of gen_17, and both are at the lines that 17 says.

Each does a fixed amount of work. If it ran until a moment instead, it would take in what samples
cost it, while what they cost the code around it only moves its beginning; a tenth of a period for
each sample there would count as too much here.
"""

import threading

import told
from told import clock, repeat_for, rounds, tell

BODY = """
def gen_{n}(turns):
    count = 0
    for _ in range(turns):
        count += 1
        count += leaf_{n}(count)
    return count

def leaf_{n}(count):
    return count & 1

def call_{n}(turns):
    return gen_{n}(turns)
"""


def gen(turns):
    count = 0
    for _ in range(turns):
        count += 1
        count += leaf(count)
    return count


def leaf(count):
    return count & 1


def shift(n):
    """Empty lines before the text: 0 to 12."""
    return n % 13


def churn(first, step, turns):
    spent = {}
    n = first
    for _ in rounds():
        for _ in range(4 if told.seconds else 1):
            text = "\n" * shift(n) + BODY.format(n=n)
            space = {}
            exec(compile(text, f"<generated {n}>", "exec"), space)
            start = clock()
            space[f"call_{n}"](turns * (3 + n % 7))
            spent[n] = clock() - start
            space.clear()
            n += step
    results.append((spent, clock()))


results = []


def main():
    turns = repeat_for(gen, 40_000)
    other = threading.Thread(target=churn, args=(1, 2, turns), name="churn-1")
    other.start()
    churn(0, 2, turns)
    other.join()
    spent = {}
    for part, _ in results:
        spent.update(part)
    return dict(spent=spent)


tell(main)

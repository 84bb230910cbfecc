"""Functions and lines that take turns for known times."""

import told
from told import clock, die, repeat_for, rounds, tell


def leaf():
    return None


def bytecode(n):
    while n:
        n -= 1


def call_dense(n):
    for _ in range(n):
        leaf()


def in_c(n):
    return sum(range(n))


def allocating(n):
    made = [(i, i) for i in range(n)]
    del made  # it dies in here, not in the caller


def lines(a, b, c):
    t0 = clock()
    while a:  # line: loop
        a -= 1  # line: loop
    t1 = clock()
    sum(range(b))  # line: sum
    t2 = clock()
    for _ in range(c):  # line: calls
        leaf()  # line: calls
    t3 = clock()
    by_line.add("loop", t1 - t0)
    by_line.add("sum", t2 - t1)
    by_line.add("calls", t3 - t2)


def turn(function, n):
    start = clock()
    function(n)
    by_function.add(function.__name__, clock() - start)


# Four functions whose true shares are about 40, 30, 20 and 10 in a hundred.
FUNCTIONS = [(bytecode, 4), (call_dense, 3), (in_c, 2), (allocating, 1)]
UNIT = 600_000

by_function, by_line = told.Parts(), told.Parts()


def main():
    size = {function: repeat_for(function, UNIT) for function, _ in FUNCTIONS}
    for _ in rounds():
        turns = list(FUNCTIONS)
        die.shuffle(turns)
        for function, share in turns:
            # Lengths vary, so that no turn keeps step with the sampler's period.
            turn(function, 1 + int(size[function] * share * die.uniform(0.5, 1.5)))
        lines(
            1 + int(size[bytecode] * 2.5 * die.uniform(0.5, 1.5)),
            1 + int(size[in_c] * 1.5 * die.uniform(0.5, 1.5)),
            1 + int(size[call_dense] * 1.0 * die.uniform(0.5, 1.5)),
        )
    return dict(by_function=by_function.as_dict(), by_line=by_line.as_dict())


tell(main)

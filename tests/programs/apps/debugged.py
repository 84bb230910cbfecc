"""Something to set breakpoints in: a loop in the main thread and one in another."""

import threading


def compute(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def visit(i):
    total = compute(20000)
    return total + i  # BREAK


def other():
    for i in range(3):
        compute(20000)
        visit(i)


def main():
    totals = [visit(i) for i in range(3)]
    thread = threading.Thread(target=other, name="other")
    thread.start()
    thread.join()
    print(totals)


main()

"""Calls to look at: recursion, a generator, exceptions, a second thread."""

import threading


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(n: int):
    for i in range(n):
        yield fib(i % 7)


def refuse() -> None:
    raise ValueError


def order(n: int) -> int:
    found = sum(numbers(n))
    try:
        refuse()
    except ValueError:
        pass
    return found


def main() -> None:
    for i in range(60):
        order(i)


if __name__ == "__main__":
    thread = threading.Thread(target=main, name="clerk")
    thread.start()
    main()
    thread.join()

"""Lines that are reached so often, with values that are known: for probes."""

import sys
import threading

LIMIT = 7


class Item:
    kind = "item"

    def __init__(self, name, size):
        self.name = name
        self.size = size

    @property
    def computed(self):
        raise SystemExit("a getter was run")

    def __getattr__(self, name):
        raise SystemExit("__getattr__ was run")


class Slotted:
    __slots__ = ("value",)


class Listed(list):
    def __getitem__(self, index):
        raise SystemExit("__getitem__ was run")

    def __len__(self):
        raise SystemExit("__len__ was run")


class Key:
    def __hash__(self):
        return hash("name")

    def __eq__(self, other):
        raise SystemExit("__eq__ was run")


def work(number, factor=0.5):
    items = [Item(f"item {number % 3}", number % 4), Listed([1])]
    table = {"name": number % 5, 3: (number, number + 1)}
    mixed = {Key(): 1, "other": 2}
    slotted = Slotted()
    if number % 2:
        slotted.value = number
        odd = True
    text = "ä" * (number % 3)
    ratio = number * factor

    def inner():
        return number + len(table)  # inner

    found = inner()
    large = 1 << 80
    return found if large else (items, mixed, odd, text, ratio)  # work


def listed(count):
    return [value * LIMIT for value in range(count)]  # listed


def generated(count):
    for value in range(count):
        yield value  # generated


def main(count):
    threads = [threading.Thread(target=lambda: [work(n) for n in range(count)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed(count)
    sum(generated(count))
    import probed_later

    probed_later.later(count)


sys.path.insert(0, sys.argv[2])
main(int(sys.argv[1]))

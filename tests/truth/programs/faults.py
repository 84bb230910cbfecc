"""Touches known numbers of fresh pages in known functions, and tells how many."""

from __future__ import annotations

import json
import mmap
import os
import threading

PAGE = mmap.PAGESIZE


def fresh(pages: int) -> mmap.mmap:
    area = mmap.mmap(-1, pages * PAGE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        area.madvise(mmap.MADV_NOHUGEPAGE)
    return area


def few(area: mmap.mmap) -> None:
    for at in range(0, len(area), PAGE):
        area[at] = 1


def many(area: mmap.mmap) -> None:
    for at in range(0, len(area), PAGE):
        area[at] = 1


def by_the_kernel(area: mmap.mmap) -> None:
    """All in one system call."""
    with open("/dev/zero", "rb", buffering=0) as zeros:
        zeros.readinto(area)


class Point:
    __slots__ = ("a", "b", "c", "d", "e")


def points(count: int) -> list[Point]:
    return [Point() for _ in range(count)]


def main() -> None:
    told = {"few": 300, "many": 1500, "by_the_kernel": 600, "elsewhere": 400}
    areas = {name: fresh(pages) for name, pages in told.items()}
    few(areas["few"])
    many(areas["many"])
    by_the_kernel(areas["by_the_kernel"])

    def elsewhere() -> None:
        few(areas["elsewhere"])

    thread = threading.Thread(target=elsewhere, name="other")
    thread.start()
    thread.join()
    kept = points(200_000)
    print(json.dumps({"faults": told, "points": len(kept), "pid": os.getpid()}))


main()

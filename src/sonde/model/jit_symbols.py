"""Names of code that a runtime makes while it runs, each with the time it is valid for.

Code is thrown away and its place used again: an address alone does not show a name, only an address
at a time does.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field


@dataclass(order=True)
class Code:
    since: int
    """When it came to be there, in nanoseconds; 0: before anybody looked."""
    start: int
    size: int = field(compare=False)
    name: str = field(compare=False)


class JitSymbols:
    """Of one process."""

    def __init__(self) -> None:
        self._pages: dict[int, list[Code]] = {}
        self._by_index: dict[int, Code] = {}

    def add(self, start: int, size: int, name: str, since: int, index: int | None = None) -> None:
        """`index`: what its runtime calls it, should it move."""
        code = Code(since, start, max(size, 1), name)
        for page in range(start >> _PAGE_BITS, (start + code.size - 1 >> _PAGE_BITS) + 1):
            insort(self._pages.setdefault(page, []), code)
        if index is not None:
            self._by_index[index] = code

    def move(self, index: int, start: int, since: int) -> None:
        known = self._by_index.get(index)
        if known is not None:
            self.add(start, known.size, known.name, since, index)

    def find(self, address: int, time: int) -> str | None:
        """What lay there then: the last that came until that time, else the first that came."""
        codes = [
            code
            for code in self._pages.get(address >> _PAGE_BITS, ())
            if code.start <= address < code.start + code.size
        ]
        if not codes:
            return None
        at = bisect_right([code.since for code in codes], time) - 1
        return codes[max(at, 0)].name


_PAGE_BITS = 12

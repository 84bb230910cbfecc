"""Functions with numbers, in little memory: each is one text, in which its file is a number.

A tuple of its name, file and line takes twice the room.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

MAX_NAME_LENGTH = 200
MAX_FILE_LENGTH = 400


class Function(NamedTuple):
    name: str
    file: str
    line: int
    runtime: str = "cpython"


class FunctionTable:
    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        self._files: dict[str, int] = {}
        self._bytes = 0

    def number(self, name: str, file: str, line: int, runtime: str) -> int:
        file = file[-MAX_FILE_LENGTH:]
        place = self._files.get(file)
        if place is None:
            place = self._files[file] = len(self._files)
            self._bytes += sys.getsizeof(file) + sys.getsizeof(place)
        text = f"{name[:MAX_NAME_LENGTH]}\0{place}\0{line}\0{runtime}"
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._texts)
            self._texts.append(text)
            self._bytes += sys.getsizeof(text) + sys.getsizeof(number)
        return number

    def all(self) -> list[Function]:
        """By their numbers."""
        files = list(self._files)
        return [_parsed(text, files) for text in self._texts]

    def forget_all_but(self, used: Iterable[int]) -> dict[int, int]:
        """Keeps those of these numbers; the answer is which they have from now on."""
        texts, files = self._texts, list(self._files)
        self._clear()
        return {number: self.number(*_parsed(texts[number], files)) for number in used}

    # ---- bytes

    def memory(self) -> int:
        kept = (self._numbers, self._texts, self._files)
        return sum(map(sys.getsizeof, kept)) + self._bytes

    def growth(self) -> int:
        """What it takes more, for a moment, when it grows: a dictionary is there twice."""
        return sys.getsizeof(self._numbers)


def _parsed(text: str, files: list[str]) -> Function:
    name, file, line, runtime = text.rsplit("\0", 3)
    return Function(name, files[int(file)], int(line), runtime)

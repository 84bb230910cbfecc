"""Which slots of a target hold something new, and what all of them have counted.

native/drain looks for it: of a thousand threads few have written anything since the last drain, and
a look at each in Python takes longer than what they wrote.
"""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Sequence

from ..system import native_libraries
from . import layout as shm

_WORDS = shm.SLOT_SIZE // 8


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_libraries.drain()))
    size = ctypes.c_size_t
    library.sonde_slots_pending.restype = size
    library.sonde_slots_pending.argtypes = [ctypes.c_void_p, size, ctypes.c_void_p, ctypes.c_void_p]
    library.sonde_slots_total.restype = None
    library.sonde_slots_total.argtypes = [ctypes.c_void_p, size, ctypes.c_void_p]
    return library


class SlotScan:
    def __init__(self, memory: memoryview, slots: int) -> None:
        self._library = _library()
        self._slots = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + shm.HEADER_SIZE
        self._claimed = array("Q", bytes(8 * slots))
        self._pending = array("I", bytes(4 * slots))
        self._total = array("Q", bytes(8 * _WORDS))

    def knows(self, index: int, claimed: int) -> None:
        """Since when the thread that is known to have this slot has it; 0: none is known."""
        self._claimed[index] = claimed

    def pending(self, used: int) -> Sequence[int]:
        """Of the first `used` slots those with records, or with a thread that is not known yet."""
        count = self._library.sonde_slots_pending(
            self._slots, used, self._claimed.buffer_info()[0], self._pending.buffer_info()[0]
        )
        return self._pending[:count]

    def total(self, used: int) -> Sequence[int]:
        """The sum of each word of the first `used` slots."""
        self._library.sonde_slots_total(self._slots, used, self._total.buffer_info()[0])
        return self._total

"""A JVM's own counters, in the file of its performance data (`/tmp/hsperfdata_USER/PID`)."""

from __future__ import annotations

import glob
import os
import struct

from .process import owner_of, status_of

_MAGIC = b"\xca\xfe\xc0\xc0"
_HEAD = struct.Struct("4sBBBBiiqii")
_ENTRY = struct.Struct("iiiBBBBi")
_LITTLE = 1
_LONG = ord("J")
_MAX_SIZE = 16 << 20


def counters(pid: int) -> dict[str, int]:
    """The numbers by name; none if the JVM was started with -XX:-UsePerfData."""
    inner = status_of(pid).get("NSpid", str(pid)).split()[-1]
    for path in glob.glob(f"/proc/{pid}/root/tmp/hsperfdata_*/{inner}"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                if os.fstat(descriptor).st_uid == owner_of(pid)[0]:
                    return parse(file.read(_MAX_SIZE))
        except OSError:
            continue
    return {}


def parse(data: bytes) -> dict[str, int]:
    """Single 64-bit numbers of a file; it changes while it is read, but its names do not."""
    if len(data) < _HEAD.size:
        return {}
    magic, order, *_, at, count = _HEAD.unpack_from(data)
    if magic != _MAGIC or order != _LITTLE:
        return {}
    found = {}
    for _ in range(count):
        if not 0 < at <= len(data) - _ENTRY.size:
            break
        length, name, elements, kind, *_, value = _ENTRY.unpack_from(data, at)
        if length < _ENTRY.size or name < 0 or value < 0:
            break
        end = data.find(b"\0", at + name)
        if kind == _LONG and elements == 0 and end >= 0 and at + value + 8 <= len(data):
            (number,) = struct.unpack_from("<q", data, at + value)
            found[data[at + name : end].decode("utf-8", "replace")] = number
        at += length
    return found

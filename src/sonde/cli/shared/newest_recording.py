"""The newest recordings of the working directory, for verbs that are given none."""

from __future__ import annotations

import glob
import os
import re
import sys

from sonde.errors import UsageError

_SEGMENT = re.compile(r"\.\d{4,}\.sonde\Z")


def newest(besides: str | None = None) -> str:
    """The newest recording; says on stderr which one it is. `besides`: another one than this."""
    found = [name for name in recordings() if besides is None or not _is_same(name, besides)]
    if not found and besides is not None:
        raise UsageError(f"the working directory has no recording to compare {besides} with")
    if not found:
        raise UsageError(
            "no recording given, and the working directory has none; "
            "record a program with: sonde run SCRIPT.py"
        )
    print(f"sonde: reading {found[0]}, the newest recording here", file=sys.stderr)
    return found[0]


def newest_two() -> tuple[str, str]:
    """The newest recording and the one before it, older first; says which ones they are."""
    found = recordings()
    if len(found) < 2:
        have = "one recording only" if found else "no recording"
        raise UsageError(f"the working directory has {have}; give two: sonde diff BASE NEW")
    new, base = found[:2]
    print(f"sonde: comparing {base} with the newer {new}", file=sys.stderr)
    return base, new


def recordings() -> list[str]:
    """Newest first; the segments of a continuous recording are one, named by a pattern."""
    # A recording is as new as its last write, which is that of a session's last segment.
    ages: dict[str, tuple[int, str]] = {}
    segments: dict[str, list[str]] = {}
    for name in glob.glob("*.sonde"):
        written = _written(name)
        if written is None:
            continue
        pattern = _pattern(name)
        segments.setdefault(pattern, []).append(name)
        ages[pattern] = max(ages.get(pattern, (0, "")), (written, name))
    ordered = sorted(ages, key=ages.__getitem__, reverse=True)
    return [segments[p][0] if len(segments[p]) == 1 else p for p in ordered]


def has_recordings(name: str) -> bool:
    """Whether it names a file, or a folder with recordings."""
    if os.path.isdir(name):
        return bool(glob.glob(os.path.join(glob.escape(name), "*.sonde")))
    return os.path.exists(name)


def stem(file: str) -> str:
    """What to name a file after that is made of a recording, or of the segments of one."""
    name = os.path.basename(file.rstrip(os.sep)).removesuffix(".sonde").removesuffix(".*")
    return name or "recording"


def _pattern(name: str) -> str:
    if not _SEGMENT.search(name):
        return name
    return f"{glob.escape(_SEGMENT.sub('', name))}.*.sonde"


def _is_same(name: str, other: str) -> bool:
    if name == other or _pattern(other) == name:
        return True
    try:
        return os.path.samefile(name, other)
    except OSError:
        return False


def newest_heap() -> str:
    """The newest heap snapshot; says on stderr which one it is."""
    found = [(age, name) for name in glob.glob("*.sonde") if (age := _written(name, heap=True))]
    if not found:
        raise UsageError(
            "no heap snapshot given, and the working directory has none; take one with: "
            "sonde heap PID"
        )
    _, name = max(found)
    print(f"sonde: reading {name}, the newest heap snapshot here", file=sys.stderr)
    return name


def _written(name: str, *, heap: bool = False) -> int | None:
    """When; None: it is no recording (or heap snapshot), or cannot be read."""
    from sonde.recording.format.framing import FILE_HEAD_SIZE, HEAP_VERSION, MAGIC, unpack_file_head

    try:
        with open(name, "rb") as file:
            start = file.read(FILE_HEAD_SIZE)
            if not start.startswith(MAGIC):
                return None
            head = unpack_file_head(start) if len(start) == FILE_HEAD_SIZE else None
            is_heap = head is not None and head.version == HEAP_VERSION
            return os.fstat(file.fileno()).st_mtime_ns if is_heap is heap else None
    except OSError:
        return None

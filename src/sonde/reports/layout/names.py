"""Names and places cut to the room there is, so that no line wraps and no name takes it all.

Names come from strangers: control characters never reach the terminal.
"""

from __future__ import annotations

import os
from pathlib import PurePath

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"
NAMELESS = ("__init__.py", "__main__.py")
IMPORT_SYSTEM = "<frozen importlib._bootstrap"
LIBRARIES = ("site-packages", "dist-packages")


def printable(text: str) -> str:
    """The text with everything a terminal would act on written out."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )


def shortened(text: str, width: int) -> str:
    """The text cut in the middle: both ends of a qualified name say more than its middle."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    head = (width - 1 + 1) // 2
    tail = width - 1 - head
    end = text[len(text) - tail :] if tail else ""
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, head).rstrip() + ELLIPSIS + end


def clipped(text: str, width: int) -> str:
    """The text cut at its end, as source reads best."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS if width > 0 else ""


def place(file: str, line: int, width: int, *, base: str | None = None) -> str:
    """A file and line, shown from the working directory or the library on, then from the end."""
    if not file:
        return ""
    suffix = f":{line}" if line else ""
    path = printable(_told_from(file, os.getcwd() if base is None else base))
    if cell_len(path + suffix) <= width:
        return path + suffix
    parts = path.split("/")
    room = width - cell_len(f"{ELLIPSIS}//{parts[-1]}{suffix}")
    if parts[-1] in NAMELESS and len(parts) > 1 and room > 2:
        # Such a file says nothing without its folder.
        parts[-2:] = [f"{shortened(parts[-2], room)}/{parts[-1]}"]
    for start in range(1, len(parts)):
        rest = f"{ELLIPSIS}/{'/'.join(parts[start:])}{suffix}"
        if cell_len(rest) <= width:
            return rest
    return shortened(parts[-1] + suffix, width)


def label(name: str, where: str, width: int) -> str:
    """A name and its place side by side; the name gets what the place leaves, at least half."""
    name = printable(name)
    if not where:
        return shortened(name, width)
    room = width - cell_len(where) - 2
    return f"{shortened(name, max(room, 1))}  {where}"


def labelled(name: str, file: str, line: int, width: int) -> str:
    """A function's name and place within `width` columns."""
    taken = min(cell_len(printable(name)), max(width // 2, width - 30))
    return label(name, place(file, line, max(width - taken - 2, 8)), width)


def library_name(name: str, file: str) -> str:
    """What people call a function by which a library is entered."""
    if file.startswith(IMPORT_SYSTEM):
        return "import"
    # A closure is known by its own name, a method of Java by its class without the package.
    short = name.rpartition("<locals>.")[2]
    return ".".join(short.split(".")[-2:]) if file.endswith(".java") else short


def _told_from(file: str, base: str) -> str:
    if not file.startswith("/"):
        return file
    path = PurePath(file)
    parts = path.parts
    for i in range(len(parts) - 1, 0, -1):
        if parts[i] in LIBRARIES and i + 1 < len(parts):
            return "/".join(parts[i + 1 :])
    if path.is_relative_to(base):
        return str(path.relative_to(base))
    for i in range(len(parts) - 1, 0, -1):
        # The standard library lives in a folder such as lib/python3.12.
        if (
            parts[i].startswith("python3.")
            and parts[i - 1].startswith("lib")
            and i + 1 < len(parts)
        ):
            return "/".join(parts[i + 1 :])
    return file

"""What a reader would call the library or file that a function is of."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from sonde.row_values import BUILT_IN

if TYPE_CHECKING:
    from sonde.views.selecting.profile import Function

INSTALLED = ("site-packages", "dist-packages")


def module_of(function: Function) -> str:
    """For its colour."""
    if function.stands_in or not function.file:
        return ""
    return _module_of_file(function.file)


@cache
def _module_of_file(file: str) -> str:
    if file == BUILT_IN:
        return "built-in"
    if file.startswith("<frozen "):
        return file.removeprefix("<frozen ").rstrip(">").partition(".")[0]
    path = PurePath(file)
    parts = path.parts
    for i, folder in enumerate(parts[:-1]):
        installed = folder in INSTALLED
        library = folder.startswith("python3") and parts[i + 1] not in INSTALLED
        if installed or library:
            return PurePath(parts[i + 1]).stem
    return path.parent.name if path.stem in ("__init__", "__main__") else path.stem

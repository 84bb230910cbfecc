"""The folder that is served. Nothing outside of it is read, by whatever name it is given."""

from __future__ import annotations

import glob
import os
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde.errors import SondeError, UsageError
from sonde.recording.reader import files_of

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

SUFFIX = ".sonde"
MAX_ENTRIES = 100_000
"""Of the file system, that a listing looks at."""
MAX_OPEN = 4
"""Recordings that are kept in memory, for the next question about them."""


class ListedFile(NamedTuple):
    name: str
    size: int
    modified: float

    def to_json(self) -> dict[str, Any]:
        at = datetime.fromtimestamp(self.modified, UTC).isoformat(timespec="seconds")
        return {"recording": self.name, "bytes": self.size, "modified": at}


class Folder:
    def __init__(self, path: str) -> None:
        if not os.path.isdir(path):
            what = "is not a directory" if os.path.exists(path) else "does not exist"
            raise SondeError(f"{path} {what}; usage: sonde mcp [DIR]")
        self.path = os.path.realpath(path)
        self._open: OrderedDict[tuple[Any, ...], Recording] = OrderedDict()

    def recordings(self, below: str = "") -> tuple[list[ListedFile], bool]:
        """The newest first, and whether the folder was too large to look at all of it."""
        found: list[ListedFile] = []
        entries = 0
        for parent, folders, files in os.walk(self._inside(below)):
            # Environments, caches and repositories hold no recordings, but many files.
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            entries += len(folders) + len(files)
            for name in files:
                path = os.path.join(parent, name)
                if name.endswith(SUFFIX) and self.holds(path) and os.path.isfile(path):
                    status = os.stat(path)
                    relative = os.path.relpath(path, self.path)
                    found.append(ListedFile(relative, status.st_size, status.st_mtime))
            if entries > MAX_ENTRIES:
                break
        found.sort(key=lambda file: (-file.modified, file.name))
        return found, entries > MAX_ENTRIES

    def holds(self, path: str) -> bool:
        """Whether it lies in the folder once all links are followed."""
        real = os.path.realpath(path)
        return real == self.path or real.startswith(os.path.join(self.path, ""))

    def files(self, name: str) -> list[str]:
        """The files that a name means: one, those of a folder, or those that match a pattern."""
        path = os.path.join(self.path, name)
        # A pattern is checked by what it matches, but must not even look elsewhere.
        fixed = path
        while glob.has_magic(fixed):
            fixed = os.path.dirname(fixed)
        if "\0" in name or ".." in name.split(os.sep) or not self.holds(fixed):
            raise self._outside(name)
        if not (os.path.exists(path) or glob.has_magic(name)):
            raise UsageError(
                f"{name or 'a recording without a name'} does not exist; list_recordings shows "
                "the recordings there are"
            )
        files = files_of(path)
        for file in files:
            if not self.holds(file):
                raise self._outside(os.path.relpath(file, self.path))
        return [os.path.realpath(file) for file in files]

    def open(self, name: str) -> Recording:
        """The recording, which is read again only if its files have changed."""
        from sonde.views.stacks.chained_samples import open_recording

        files = self.files(name)
        status = [os.stat(file) for file in files]
        key = (*files, *((one.st_mtime_ns, one.st_size) for one in status))
        found = self._open.pop(key, None)
        if found is None:
            found = open_recording(*files)
        self._open[key] = found
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return found

    def _inside(self, name: str) -> str:
        path = os.path.join(self.path, name)
        if "\0" in name or ".." in name.split(os.sep) or not self.holds(path):
            raise self._outside(name)
        if not os.path.isdir(path):
            raise UsageError(f"{name} is not a directory")
        return path

    def _outside(self, name: str) -> UsageError:
        return UsageError(f"{name!r} is outside of the folder that is served; give a name below it")

"""Where a store lies: a folder, or whatever PyArrow or fsspec open by an address.

Writers do not know of each other, and readers of neither. All that is asked of the place is that
one file appears whole or not at all: in a folder by renaming, in an object store by putting.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from sonde.errors import SondeError

if TYPE_CHECKING:
    from collections.abc import Iterator

UNFINISHED = ".unfinished"
"""The end of a file's name while it is written."""


@dataclass(frozen=True)
class Location:
    address: str
    """As the user gave it, but without what may be a secret."""
    system: Any
    root: str

    @property
    def is_local(self) -> bool:
        return isinstance(self.system, fs.LocalFileSystem)

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def names(self, folder: str) -> dict[str, Any]:
        """The files below a folder, by their names from the root on, with what is known of them."""
        selector = fs.FileSelector(self.path(folder), recursive=True, allow_not_found=True)
        with said(self, "read"):
            found = self.system.get_file_info(selector)
        return {
            info.path.removeprefix(self.root).lstrip("/"): info
            for info in found
            if info.type == fs.FileType.File
        }

    def read(self, name: str) -> bytes:
        with self.system.open_input_stream(self.path(name)) as stream:
            return bytes(stream.read())

    @contextlib.contextmanager
    def written(self, name: str) -> Iterator[Any]:
        """A stream whose file appears under its name when all of it is written."""
        if not self.is_local:
            if isinstance(self.system, fs.PyFileSystem):
                # Places with folders want theirs made; object stores take it for nothing.
                self.system.create_dir(self.path(name).rpartition("/")[0], recursive=True)
            with self.system.open_output_stream(self.path(name)) as stream:
                yield stream
            return
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        # Two who write the same part have two files; the later one replaces the first by its like.
        unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
        try:
            with unfinished.open("wb") as stream:
                yield stream
                stream.flush()
                # A name that outlives a power cut while its content does not would be a lie.
                os.fsync(stream.fileno())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.system.delete_file(self.path(name))


def located(address: str) -> Location:
    """The place of an address; a plain path is a folder of this machine."""
    if "://" not in address:
        return Location(address, fs.LocalFileSystem(), os.path.abspath(address).rstrip("/"))
    try:
        system, root = fs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, ValueError) as error:
        system, root = _by_fsspec(address, error)
    return Location(shown(address), system, root.rstrip("/"))


def shown(address: str) -> str:
    """An address without what may be a secret."""
    return re.sub(r"//[^/@]*@", "//", address.partition("?")[0])


def _by_fsspec(address: str, first: Exception) -> tuple[Any, str]:
    try:
        import fsspec

        system, root = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        reason = str(error if not isinstance(error, ImportError) else first).splitlines()[0]
        raise SondeError(f"cannot open the store {shown(address)}: {reason}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(root)


@contextlib.contextmanager
def said(location: Location, what: str) -> Iterator[None]:
    """Turns what goes wrong with the place into a sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise SondeError(f"cannot {what} the store {location.address}: {reason}") from error

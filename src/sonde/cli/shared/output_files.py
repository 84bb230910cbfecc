"""Files that a verb writes where the user says."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

STDOUT = "-"


def not_over(recording: str, out: str, option: str) -> None:
    """Refuses to write over the recording that is read."""
    with suppress(OSError):
        if os.path.samefile(recording, out):
            raise UsageError(f"{out} is the recording itself; give another file with {option} OUT")


def check_new(out: str, force: bool) -> None:
    """Refuses to write over a file, unless the user says so; an empty one is no loss."""
    if not force and os.path.isfile(out) and os.path.getsize(out):
        raise UsageError(f"{out} exists; give another file, or overwrite it with --force")


def check_writable(out: str) -> None:
    """Refuses, before long work, what could not be written after it."""
    folder = os.path.dirname(os.path.abspath(out))
    if os.path.isdir(out):
        raise SondeError(f"cannot write {out}: it is a directory")
    if not os.path.isdir(folder):
        raise SondeError(f"cannot write {out}: there is no directory {folder}")
    if not os.access(out if os.path.exists(out) else folder, os.W_OK):
        raise SondeError(f"cannot write {out}: permission denied")


@contextmanager
def opened(out: str) -> Iterator[BinaryIO]:
    """The output; a file appears whole under its name or not at all."""
    if out == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(out)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        # A device or a pipe is written to, not replaced.
        with _said(out), path.open("wb") as stream:
            yield stream
        return
    with _said(out):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with _said(out):
            with os.fdopen(handle, "wb") as stream:
                yield stream
            # Made private by mkstemp; a file the user asked for gets the user's usual rights.
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def opened_folder(out: str) -> Iterator[Path]:
    """A new folder; it appears whole under its name or not at all."""
    path = Path(out)
    if path.exists():
        raise UsageError(f"{out} already exists; give a new folder with -o OUT")
    with _said(out):
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        with _said(out):
            yield made
            mask = os.umask(0)
            os.umask(mask)
            made.chmod(0o777 & ~mask)
            made.rename(path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


@contextmanager
def _said(out: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SondeError(f"cannot write {out}: {reason}") from error

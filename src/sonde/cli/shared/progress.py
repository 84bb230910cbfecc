"""A sign of life while something takes long: on a terminal only, never in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says on stderr what is being done, and wipes it away when it is done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    from sonde.reports.layout.page import console

    with console(sys.stderr).status(Text(what)):
        yield

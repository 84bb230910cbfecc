"""What a page is of, and what it may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from sonde.web.bundle import PARTS
from sonde.web.page import tag_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.web.bundle import Bundle

PACKED = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"


class Reply(NamedTuple):
    body: bytes
    kind: str = PACKED
    code: int = 200


class Shown(Protocol):
    name: str
    """As the terminal shows it."""
    tag: str
    """Shows the page, in its head, what it is of."""

    def answer(self, path: list[str], query: dict[str, list[str]]) -> Reply | None:
        """None: there is no such thing."""


class Recordings:
    """One, or two to be compared."""

    def __init__(self, bundles: Sequence[Bundle]) -> None:
        self.bundles = bundles
        self.name = " and ".join(bundle.recording.path for bundle in bundles)
        self.tag = tag_of(len(bundles))

    def answer(self, path: list[str], query: dict[str, list[str]]) -> Reply | None:
        match path:
            case ["r", number, name] if number.isascii() and number.isdecimal():
                if int(number) < len(self.bundles):
                    return _of(self.bundles[int(number)], name, query)
        return None


def _of(bundle: Bundle, name: str, query: dict[str, list[str]]) -> Reply | None:
    if name == "source":
        text = bundle.source(query.get("file", [""])[0])
        if text is None:
            # No error: most recordings are looked at where some of their files are not.
            return Reply(b"", TEXT, 204)
        return Reply(text.encode(errors="replace"), TEXT)
    if name not in PARTS or name == "sources":
        return None
    return Reply(bundle.part(name))

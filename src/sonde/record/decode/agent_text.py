"""Text from an agent: UTF-8 in which runtimes may encode surrogates."""

from __future__ import annotations

from sonde.recording.format.framing import printable


def decode_text(raw: bytes) -> str:
    """The text, always valid Unicode.

    CPython keeps a byte of a path that no encoding explains as a lone surrogate, HotSpot encodes a
    character beyond U+FFFF as two. A pair becomes its character, a lone one reads `<dcff>`.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pass
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode(errors="replace")
    return printable(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))

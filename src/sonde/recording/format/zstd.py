"""Zstandard from wherever this interpreter has it: its own library since 3.14, else the package.

The package comes late for new interpreters, and profilers are wanted there first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

Frame = bytes | memoryview

if sys.version_info >= (3, 14):
    from compression import zstd

    ZstdError = zstd.ZstdError

    def compressor(level: int) -> Callable[[Frame], bytes]:
        options = {
            zstd.CompressionParameter.compression_level: level,
            zstd.CompressionParameter.checksum_flag: 0,
        }
        made = zstd.ZstdCompressor(options=options)
        return lambda raw: made.compress(raw, zstd.ZstdCompressor.FLUSH_FRAME)

    def content_size(frame: Frame) -> int | None:
        """How much is inside according to the frame itself; None if it does not say."""
        return zstd.get_frame_info(frame).decompressed_size

    def decompressor() -> Callable[[Frame], bytes]:
        """Gives what is in exactly one whole frame; for one thread."""

        def decompress(frame: Frame) -> bytes:
            reader = zstd.ZstdDecompressor()
            raw = reader.decompress(frame)
            if not reader.eof or reader.unused_data:
                raise ZstdError("not one whole frame")
            return raw

        return decompress

else:
    import zstandard

    ZstdError = zstandard.ZstdError
    _UNKNOWN = -1

    def compressor(level: int) -> Callable[[Frame], bytes]:
        return zstandard.ZstdCompressor(level=level, write_checksum=False).compress

    def content_size(frame: Frame) -> int | None:
        """How much is inside according to the frame itself; None if it does not say."""
        size = zstandard.frame_content_size(frame)
        return None if size == _UNKNOWN else size

    def decompressor() -> Callable[[Frame], bytes]:
        """Gives what is in exactly one whole frame; for one thread."""
        reader = zstandard.ZstdDecompressor()
        return lambda frame: reader.decompress(frame, allow_extra_data=False)

"""Bad files made of good ones: damaged bytes, and damaged meaning under right checksums."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import zstandard

from recording.made import blocks_of, rebuilt
from sonde.recording.format.framing import RAW, ROWS, ZSTD, BlockHead

EDGES = [0, 1, 2, 3, 7, 15, 16, 127, 128, 255, 256, 511, 512, 513, 65535, 2**20, 2**20 + 1]
EDGES += [2**31 - 1, 2**31, 2**32 - 1, 2**47, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = [
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e9",
    b"NaN",
    b'"\\ud800"',
    b"[[[[",
    b"true",
    b"99999999999",
]

Blocks = list[tuple[BlockHead, bytes]]
_TOKEN = re.compile(rb'"[^"]*"|-?\d+|[\[\]{}:,]')


class Mutator:
    """Makes an endless row of inputs, the same for the same seed."""

    def __init__(self, bases: list[bytes], seed: int) -> None:
        self.random = Random(seed)
        self.bases = bases
        self.blocks: list[Blocks] = [
            [(block.head, bytes(block.payload)) for block in blocks_of(base)] for base in bases
        ]
        self.compress = zstandard.ZstdCompressor(level=1).compress

    def next(self) -> bytes:
        number = self.random.randrange(len(self.bases))
        if self.random.random() < 0.3:
            return self.damage(self.bases[number])
        blocks = list(self.blocks[number])
        for _ in range(self.random.choice((1, 1, 2, 4))):
            self.random.choice(self.MEANINGS)(self, blocks)
        return rebuilt(self.bases[number], blocks)

    def damage(self, base: bytes) -> bytes:
        """Bytes changed without a care for checksums."""
        rng, data = self.random, bytearray(base)
        for _ in range(rng.choice((1, 1, 1, 3, 8))):
            place = rng.randrange(len(data) + 1)
            match rng.randrange(6):
                case 0 | 1 if place < len(data):
                    data[place] ^= 1 << rng.randrange(8)
                case 2:
                    del data[max(1, place) :]
                case 3:
                    del data[place : place + rng.choice((1, 4, 36, 200))]
                case 4:
                    other = rng.choice(self.bases)
                    start = rng.randrange(len(other))
                    data[place:place] = other[start : start + rng.choice((1, 36, 100, 1000))]
                case _:
                    size = rng.choice((1, 2, 4, 8))
                    edge = rng.choice(EDGES) % 256**size
                    data[place : place + size] = edge.to_bytes(size, "little")
            if not data:
                break
        return bytes(data)

    def change_head(self, blocks: Blocks) -> None:
        if blocks:
            place = self.random.randrange(len(blocks))
            head, stored = blocks[place]
            field, bits = self.random.choice(
                (
                    ("kind", 8),
                    ("codec", 8),
                    ("table", 16),
                    ("first_row", 64),
                    ("rows", 32),
                    ("raw_size", 32),
                )
            )
            value = self.random.choice((*EDGES, getattr(head, field) + self.random.choice((-1, 1))))
            blocks[place] = (head._replace(**{field: value % 2**bits}), stored)

    def change_content(self, blocks: Blocks) -> None:
        """The decompressed bytes of a block; it still fits its sizes and its checksum."""
        if not blocks:
            return
        place = self.random.randrange(len(blocks))
        head, stored = blocks[place]
        try:
            raw = stored if head.codec == RAW else zstandard.decompress(stored)
        except zstandard.ZstdError:
            return
        raw = self.damage(raw) if head.kind == ROWS or not raw else self.change_json(raw)
        if self.random.random() < 0.5:
            blocks[place] = (head._replace(codec=RAW, raw_size=len(raw)), raw)
        else:
            blocks[place] = (head._replace(codec=ZSTD, raw_size=len(raw)), self.compress(raw))

    def change_json(self, raw: bytes) -> bytes:
        if self.random.random() < 0.2:
            return self.damage(raw)
        tokens = list(_TOKEN.finditer(raw))
        if not tokens:
            return raw
        old = self.random.choice(tokens)
        new = self.random.choice((*WORDS, self.random.choice(tokens).group()))
        return raw[: old.start()] + new + raw[old.end() :]

    def change_frame(self, blocks: Blocks) -> None:
        """The compressed bytes of a block, under a right checksum."""
        if blocks:
            place = self.random.randrange(len(blocks))
            head, stored = blocks[place]
            blocks[place] = (head, self.damage(stored) if stored else b"\x28\xb5\x2f\xfd")

    def change_order(self, blocks: Blocks) -> None:
        if not blocks:
            return
        place = self.random.randrange(len(blocks))
        match self.random.randrange(4):
            case 0:
                del blocks[place]
            case 1:
                blocks.insert(self.random.randrange(len(blocks)), blocks[place])
            case 2:
                blocks.insert(self.random.randrange(len(blocks)), blocks.pop(place))
            case _:
                blocks.insert(place, self.random.choice(self.random.choice(self.blocks)))

    MEANINGS: tuple[Callable[[Mutator, Blocks], None], ...] = (
        change_head,
        change_content,
        change_content,
        change_content,
        change_frame,
        change_order,
    )

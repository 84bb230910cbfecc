"""Small heap dumps, put together byte by byte."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


@dataclass
class MadeUpDump:
    """An hprof file with ids of `id_size` bytes, record by record."""

    id_size: int = 8
    records: list[bytes] = field(default_factory=list)
    heap: list[bytes] = field(default_factory=list)
    strings: dict[str, int] = field(default_factory=dict)

    def id(self, value: int) -> bytes:
        return value.to_bytes(self.id_size, "big")

    def record(self, tag: int, body: bytes) -> None:
        self.records.append(struct.pack(">BII", tag, 0, len(body)) + body)

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = 0x1000 + len(self.strings)
            self.record(0x01, self.id(self.strings[text]) + text.encode())
        return self.strings[text]

    def class_(
        self, id_: int, name: str, fields: dict[str, int], superclass: int = 0, **statics: int
    ) -> None:
        self.record(
            0x02, struct.pack(">I", id_) + self.id(id_) + bytes(4) + self.id(self.string(name))
        )
        body = b"\x20" + self.id(id_) + bytes(4) + self.id(superclass) + self.id(0) * 5
        body += struct.pack(">IHH", 16, 0, len(statics))
        for static, value in statics.items():
            body += self.id(self.string(static)) + b"\x02" + self.id(value)
        body += struct.pack(">H", len(fields))
        for name_, type_ in fields.items():
            body += self.id(self.string(name_)) + bytes([type_])
        self.heap.append(body)

    def instance(self, id_: int, class_id: int, data: bytes) -> None:
        size = struct.pack(">I", len(data))
        self.heap.append(b"\x21" + self.id(id_) + bytes(4) + self.id(class_id) + size + data)

    def array(self, id_: int, class_id: int, *elements: int) -> None:
        head = b"\x22" + self.id(id_) + bytes(4) + struct.pack(">I", len(elements))
        self.heap.append(head + self.id(class_id) + b"".join(map(self.id, elements)))

    def values(self, id_: int, type_: int, count: int, data: bytes) -> None:
        head = b"\x23" + self.id(id_) + bytes(4) + struct.pack(">I", count)
        self.heap.append(head + bytes([type_]) + data)

    def root(self, id_: int) -> None:
        self.heap.append(b"\xff" + self.id(id_))

    def bytes(self) -> bytes:
        head = b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", self.id_size, 0)
        body = b"".join(self.heap)
        dump = struct.pack(">BII", 0x1C, 0, len(body)) + body
        return head + b"".join(self.records) + dump + struct.pack(">BII", 0x2C, 0, 0)


def small(id_size: int = 8) -> MadeUpDump:
    """A list of two nodes, a static array of one of them and a hole, and a node that is garbage."""
    dump = MadeUpDump(id_size)
    dump.class_(0x10, "java/lang/Class", {})
    dump.class_(0x20, "app/Node", {"next": 2, "number": 10}, all=0x300)
    dump.class_(0x30, "[Lapp/Node;", {})
    dump.instance(0x100, 0x20, dump.id(0x200) + struct.pack(">i", 1))
    dump.instance(0x200, 0x20, dump.id(0) + struct.pack(">i", 2))
    dump.instance(0x280, 0x20, dump.id(0x200) + struct.pack(">i", 2))
    dump.array(0x300, 0x30, 0x100, 0)
    dump.values(0x400, 8, 3, b"abc")
    dump.root(0x400)
    return dump


HOSTILE = '<img src=x onerror="alert(1)">'


def large() -> MadeUpDump:
    """Objects of some sizes, equal values, a nearly empty array, and a name that means harm."""
    dump = small()
    dump.class_(0x50, f"app/{HOSTILE}", {"data": 2, "next": 2}, first=0x10000)
    for number in range(50):
        at = 0x10000 + 0x1000 * number
        following = at + 0x1000 if number < 49 else 0
        dump.instance(at, 0x50, dump.id(at + 0x100) + dump.id(following))
        dump.values(at + 0x100, 8, 1000, bytes(1000))
    dump.array(0x5000, 0x30, 0x200, *[0] * 99)
    dump.root(0x5000)
    return dump

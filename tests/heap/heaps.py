"""Heap dumps for tests: of a real JVM, and small ones put together byte by byte."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from java import Jdk
from launching import TIMEOUT_S, clean_environment

SESSIONS = 1000


@dataclass
class Dumps:
    before: Path
    after: Path


def dump_leaks(jdk: Jdk, classes: Path, folder: Path) -> Dumps:
    """The program Leaks with its sessions, and with twice as many."""
    dumps = Dumps(folder / "before.hprof", folder / "after.hprof")
    with subprocess.Popen(
        [jdk.java, "-Xmx64m", "-cp", classes, "Leaks", str(SESSIONS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for path, answer in ((dumps.before, "+\n"), (dumps.after, "\n")):
            assert program.stdout.readline() == "ready\n"
            command = [jdk.home / "bin" / "jcmd", str(program.pid), "GC.heap_dump", path]
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
            program.stdin.write(answer)
            program.stdin.flush()
        assert program.wait(TIMEOUT_S) == 0
    return dumps


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

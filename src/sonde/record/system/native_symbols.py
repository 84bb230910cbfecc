"""What machine code is called: of the kernel, of files, and of what runtimes make."""

from __future__ import annotations

import os
import struct
import time
from bisect import bisect_right
from pathlib import Path
from typing import Any

from sonde.model.jit_symbols import JitSymbols

KERNEL = "kernel"
JIT = "JITCODE"
UNKNOWN = "NoSymbols"
# Elf64_Sym, and of its types those of functions: STT_FUNC and STT_GNU_IFUNC.
_SYMBOL = struct.Struct("<IBBHQQ")
_FUNCTIONS = frozenset({2, 10})
_DEBUG_FILES = "/usr/lib/debug/.build-id"
_DUMP_MAGIC = 0x4A695444
_DUMP_HEAD = struct.Struct("<IIIIIIQQ")
_DUMP_RECORD = struct.Struct("<IIQ")
_LOADED, _MOVED = 0, 1


class Kernel:
    def __init__(self) -> None:
        self._starts: list[int] = []
        self._names: list[tuple[str, str]] = []
        try:
            with open("/proc/kallsyms") as f:
                for line in f:
                    address, kind, name, *module = line.split()
                    if kind in "tTwW" and int(address, 16):
                        self._starts.append(int(address, 16))
                        self._names.append((module[0].strip("[]") if module else KERNEL, name))
        except OSError:
            return
        order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        self._starts = [self._starts[i] for i in order]
        self._names = [self._names[i] for i in order]

    def find(self, address: int) -> tuple[str, str]:
        """Module and symbol; the addresses are hidden from who is not root."""
        at = bisect_right(self._starts, address) - 1
        return self._names[at] if at >= 0 else (KERNEL, UNKNOWN)


class ElfSymbols:
    """The functions of one executable or library, by their offset in the file."""

    def __init__(self, path: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._names: list[str] = []
        try:
            self._read(path)
        except Exception:  # a file that is no ELF, or a broken one: pyelftools raises many kinds
            self._starts = []

    def _read(self, path: str) -> None:
        from elftools.elf.elffile import ELFFile

        with open(path, "rb") as f:
            elf = ELFFile(f)
            segments = [
                (s["p_vaddr"], s["p_offset"], s["p_filesz"]) for s in elf.iter_segments("PT_LOAD")
            ]
            table: Any = elf.get_section_by_name(".symtab") or self._apart(elf)
            tables = [table] if table else []
            if not tables and (dynamic := elf.get_section_by_name(".dynsym")):
                tables = [dynamic]
            found = []
            for symbols in tables:
                # Not by pyelftools: a JVM has a hundred thousand, of which it makes an object each.
                names = symbols.stringtable.data()
                for name, kind, _, _, value, size in _SYMBOL.iter_unpack(symbols.data()):
                    if kind & 15 not in _FUNCTIONS or not value:
                        continue
                    for start, offset, length in segments:
                        if start <= value < start + length:
                            text = names[name : names.find(b"\0", name)]
                            found.append(
                                (value - start + offset, size, text.decode(errors="replace"))
                            )
                            break
        found.sort()
        self._starts = [at for at, _, _ in found]
        self._ends = [at + size for at, size, _ in found]
        self._names = [name for _, _, name in found]

    def _apart(self, elf: Any) -> Any:
        """The symbols of a stripped file that came with a file of its own for debugging."""
        from elftools.elf.elffile import ELFFile

        note = elf.get_section_by_name(".note.gnu.build-id")
        if note is None:
            return None
        number = next(iter(note.iter_notes()))["n_desc"]
        path = Path(_DEBUG_FILES, number[:2], f"{number[2:]}.debug")
        if not path.exists():
            return None
        # Kept open: its symbols are read when they are asked for.
        self._debug = path.open("rb")
        return ELFFile(self._debug).get_section_by_name(".symtab")

    def find(self, offset: int) -> str | None:
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return None
        # Hand-written code has no size; the next symbol ends it.
        if self._ends[at] != self._starts[at] and offset >= self._ends[at]:
            return None
        return self._names[at]


class Files:
    """The symbols of all files, each read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], ElfSymbols] = {}

    def find(self, path: str, offset: int) -> str | None:
        try:
            facts = os.stat(path)
        except OSError:
            return None
        key = (facts.st_dev, facts.st_ino)
        symbols = self._known.get(key)
        if symbols is None:
            symbols = self._known[key] = ElfSymbols(path)
        return symbols.find(offset)


class JitCode:
    """What a process publishes of the code it compiles: a perf map, or a jitdump it has mapped."""

    def __init__(self, pid: int) -> None:
        self.symbols = JitSymbols()
        root = f"/proc/{pid}/root"
        self._maps = [f"{root}/tmp/perf-{number}.map" for number in _numbers(pid)]
        self._dumps: set[str] = set()
        self._read_upto: dict[str, int] = {}
        self._pid = pid

    def maps_dump(self, path: str) -> None:
        self._dumps.add(f"/proc/{self._pid}/root{path}")

    def read(self) -> None:
        """What has been added since the last time."""
        for path in self._maps:
            self._read_map(path)
        for path in self._dumps:
            self._read_dump(path)

    def _more(self, path: str) -> tuple[bytes, int]:
        upto = self._read_upto.get(path, 0)
        try:
            with open(path, "rb") as f:
                f.seek(upto)
                return f.read(), upto
        except OSError:
            return b"", upto

    def _read_map(self, path: str) -> None:
        data, upto = self._more(path)
        whole = data[: data.rfind(b"\n") + 1]  # a line that is being written comes next time
        # What is there when we first look came before; what comes later, about now.
        since = time.monotonic_ns() if upto else 0
        for line in whole.decode(errors="replace").splitlines():
            start, _, rest = line.partition(" ")
            size, _, name = rest.partition(" ")
            try:
                self.symbols.add(int(start, 16), int(size, 16), name, since)
            except ValueError:
                continue
        self._read_upto[path] = upto + len(whole)

    def _read_dump(self, path: str) -> None:
        data, upto = self._more(path)
        at = 0
        if not upto:
            if len(data) < _DUMP_HEAD.size:
                return
            magic, _, at, *_ = _DUMP_HEAD.unpack_from(data)
            if magic != _DUMP_MAGIC:
                self._read_upto[path] = len(data)
                return
        while at + _DUMP_RECORD.size <= len(data):
            kind, size, stamp = _DUMP_RECORD.unpack_from(data, at)
            if size < _DUMP_RECORD.size or at + size > len(data):
                break
            body = at + _DUMP_RECORD.size
            if kind == _LOADED:
                _, _, _, start, length, index = struct.unpack_from("<IIQQQQ", data, body)
                name = data[body + 40 : at + size].split(b"\0", 1)[0].decode(errors="replace")
                self.symbols.add(start, length, name, stamp, index)
            elif kind == _MOVED:
                _, _, _, _, start, _, index = struct.unpack_from("<IIQQQQQ", data, body)
                self.symbols.move(index, start, stamp)
            at += size
        self._read_upto[path] = upto + at


def _numbers(pid: int) -> list[int]:
    """What the process calls itself, which differs inside a container."""
    try:
        with open(f"/proc/{pid}/status") as f:
            for line in f:
                if line.startswith("NSpid:"):
                    return [int(number) for number in line.split()[:0:-1]]
    except OSError:
        pass
    return [pid]

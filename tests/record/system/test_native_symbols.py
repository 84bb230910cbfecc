"""What machine code is called."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from sonde.record.system import native_symbols
from sonde.record.system.native_symbols import Files, JitCode, Kernel


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    source = folder / "one.c"
    source.write_text(
        "static int hidden(int x) { return x * 3; }\n"
        "__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }\n"
    )
    path = folder / "libone.so"
    subprocess.run(["gcc", "-O0", "-shared", "-fPIC", "-o", path, source], check=True)
    return path


def offset_of(path: Path, symbol: str) -> int:
    listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in listed.splitlines() if line.split()[-1] == symbol]
    return int(line.split()[0], 16)  # a library this small has file offsets equal to addresses


def test_functions_of_a_file(library: Path) -> None:
    files = Files()
    assert files.find(str(library), offset_of(library, "shown")) == "shown"
    assert files.find(str(library), offset_of(library, "hidden") + 2) == "hidden"
    assert files.find(str(library), 0) is None


def test_a_stripped_file_is_told_by_its_debugging_file(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stripped = tmp_path / "stripped.so"
    subprocess.run(
        ["gcc", "-O0", "-shared", "-fPIC", "-Wl,--build-id", "-o", stripped,
         library.with_name("one.c")], check=True,
    )  # fmt: skip
    at = offset_of(stripped, "hidden")
    notes = subprocess.run(
        ["readelf", "-n", stripped], capture_output=True, text=True, check=True
    ).stdout
    number = notes.split("Build ID:")[1].split()[0]
    debug = tmp_path / number[:2] / f"{number[2:]}.debug"
    debug.parent.mkdir()
    debug.write_bytes(stripped.read_bytes())
    subprocess.run(["strip", stripped], check=True)
    assert Files().find(str(stripped), at) is None
    monkeypatch.setattr(native_symbols, "_DEBUG_FILES", str(tmp_path))
    assert Files().find(str(stripped), at) == "hidden"


@pytest.mark.parametrize("content", [b"", b"no ELF", b"\x7fELF" + bytes(100)])
def test_a_file_that_is_none_has_no_symbols(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert Files().find(str(path), 10) is None
    assert Files().find(str(tmp_path / "missing"), 10) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root sees the addresses")
def test_the_kernel() -> None:
    with open("/proc/kallsyms") as f:
        address, _, name, *_ = next(line.split() for line in f if line.split()[2] == "schedule")
    module, symbol = Kernel().find(int(address, 16) + 1)
    assert (module, symbol) == ("kernel", name)


def test_a_perf_map_that_grows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    try:
        path.write_text("1000 10 py::first\nbroken\n2000 10 half")
        made = JitCode(os.getpid())
        made.read()
        assert made.symbols.find(0x1008, 1) == "py::first"
        assert made.symbols.find(0x2008, 1) is None  # its line is not whole yet
        with path.open("a") as f:
            f.write("-done\n1000 10 py::second\n")
        made.read()
        assert made.symbols.find(0x2008, 1 << 62) == "half-done"
        assert made.symbols.find(0x1008, 1 << 62) == "py::second"
        assert made.symbols.find(0x1008, 1) == "py::first"
    finally:
        path.unlink()


def test_a_jitdump(tmp_path: Path) -> None:
    head = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, os.getpid(), 0, 0)

    def record(kind: int, stamp: int, body: bytes) -> bytes:
        return struct.pack("<IIQ", kind, 16 + len(body), stamp) + body

    def loaded(stamp: int, start: int, index: int, name: bytes) -> bytes:
        return record(
            0, stamp, struct.pack("<IIQQQQ", 1, 1, start, start, 64, index) + name + b"\0code"
        )

    moved = record(1, 30, struct.pack("<IIQQQQQ", 1, 1, 0, 0x1000, 0x9000, 64, 1))
    path = tmp_path / "jit-1.dump"
    whole = head + loaded(10, 0x1000, 1, b"one") + moved + loaded(40, 0x1000, 2, b"two")
    path.write_bytes(whole[:-3])
    made = JitCode(os.getpid())
    made.maps_dump(str(path))
    made.read()
    assert made.symbols.find(0x1000, 20) == "one"
    assert made.symbols.find(0x9000, 35) == "one"
    assert made.symbols.find(0x1000, 50) == "one"  # the last record is torn
    path.write_bytes(whole)
    made.read()
    assert made.symbols.find(0x1000, 50) == "two"

"""Text of agents: bytes of paths that are no UTF-8, characters beyond U+FFFF, and nonsense."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launching import Interpreter, run_command
from matrix import OLDEST_AND_NEWEST
from sonde.record.decode.agent_text import decode_text

WORK = """
import time
def work():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        sum(range(1000))
work()
"""


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        ("größe".encode(), "größe"),
        (b"/caf\xed\xb3\xa9/a.py", "/caf<dce9>/a.py"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\U0001f600"),
        (b"cut \xff", "cut \ufffd"),
    ],
)
def test_decoding(raw: bytes, text: str) -> None:
    assert decode_text(raw) == text


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_byte_of_a_path_reads_as_one(python: Interpreter, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    program = Path(os.fsdecode(folder)) / "work.py"
    program.write_text(WORK)
    run = run_command(tmp_path / "work.sonde", [python.path, program])
    functions = run.recording.functions
    assert functions.file[functions.name.index("work")] == f"{tmp_path}/caf<dce9>/work.py"

"""The location table beside what the interpreter itself reads from it."""

from __future__ import annotations

import json
import subprocess

from launching import Interpreter
from sonde.record.tables.stacks import cpython_lines

# All code of some modules: its first line, its table, and the position of every instruction.
TABLES = """
import argparse, ast, decimal, json, sys, threading
def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"): yield from codes(constant)
for module in (argparse, ast, json.decoder, threading):
    for code in codes(compile(open(module.__file__).read(), module.__file__, "exec")):
        positions = list(code.co_positions())
        print(json.dumps([code.co_firstlineno, code.co_linetable.hex(), positions]))
"""


def tables(python: Interpreter) -> list[tuple[int, bytes, list[list[int | None]]]]:
    done = subprocess.run([python.path, "-c", TABLES], capture_output=True, text=True, check=True)
    rows = (json.loads(line) for line in done.stdout.splitlines())
    return [(first, bytes.fromhex(table), positions) for first, table, positions in rows]


def test_lines(python: Interpreter) -> None:
    for first, table, positions in tables(python):
        assert cpython_lines.lines(table, first) == [line or 0 for line, *_ in positions]


def test_runs_of_one_source_range(python: Interpreter) -> None:
    for _, table, positions in tables(python):
        expected: list[int] = []
        for i, position in enumerate(positions):
            same = i and position[0] is not None and position == positions[i - 1]
            expected.append(expected[-1] if same else i)
        found = cpython_lines.starts(table)
        assert len(found) == len(expected)
        # Instructions without a position are apart; so may be what is next to them.
        known = [i for i, position in enumerate(positions) if position[0] is not None]
        assert [found[i] for i in known] == [expected[i] for i in known]

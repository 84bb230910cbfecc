"""Probes as they are written: `orders.py:120 len(batch) every 10`."""

from __future__ import annotations

import ast
import re
from dataclasses import asdict, dataclass
from typing import Any

from sonde.errors import UsageError

MAX_STEPS = 12
MAX_TEXT = 384
MAX_EVERY = 10**9
FORM = "'FILE:LINE EXPRESSION [every N]', such as 'orders.py:120 len(batch)'"
CAN = "a variable, its attributes, items by a constant index or key, and len() around it"

_TEXT = re.compile(r"\s*(?P<file>.+?):(?P<line>\d+)\s+(?P<rest>\S.*)", re.DOTALL)
_EVERY = re.compile(r"\s+every\s+(\d+)\s*$")


@dataclass(frozen=True)
class Probe:
    file: str
    line: int
    expression: str
    every: int = 1

    @property
    def steps(self) -> bytes:
        """How the value is read, as the agent is sent it."""
        return b"".join(
            what.encode() + bytes((len(text),)) + text for what, text in _steps(self.expression)
        )

    def to_config(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        every = f" every {self.every}" if self.every > 1 else ""
        return f"{self.file}:{self.line} {self.expression}{every}"


def parse_probe(text: str, every: int | None = None, option: str = "--probe") -> Probe:
    """`every`: of those whose text does not say it."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"invalid {option} {text!r}; give {FORM}")
    file, line, rest = found["file"], int(found["line"]), found["rest"].strip()
    stated = _EVERY.search(rest)
    if stated is not None:
        rest = rest[: stated.start()]
        every = int(stated[1])
    if not 1 <= line < 2**31:
        raise UsageError(f"invalid {option} {text!r}; lines are numbered from 1")
    every = check_every(1 if every is None else every, option)
    probe = Probe(file, line, rest, every)
    if len(file.encode()) + len(probe.steps) > MAX_TEXT:
        raise UsageError(f"{option} {text!r} is too long; give the end of the file's path")
    return probe


def check_every(every: int, option: str = "--probe-every") -> int:
    if not 1 <= every <= MAX_EVERY:
        raise UsageError(f"{option} reads every Nth pass, of 1 to {MAX_EVERY:,}, not {every}")
    return every


def _steps(expression: str) -> list[tuple[str, bytes]]:
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"invalid expression {expression!r}; a probe reads {CAN}") from None
    steps: list[tuple[str, bytes]] = []
    if isinstance(tree, ast.Call):
        is_len = isinstance(tree.func, ast.Name) and tree.func.id == "len"
        if not is_len or len(tree.args) != 1 or tree.keywords:
            raise _refused(expression, "calls a function")
        steps.append(("l", b""))
        tree = tree.args[0]
    while not isinstance(tree, ast.Name):
        if isinstance(tree, ast.Attribute):
            steps.append(("a", tree.attr.encode()))
            tree = tree.value
        elif isinstance(tree, ast.Subscript):
            steps.append(_item(tree.slice, expression))
            tree = tree.value
        elif isinstance(tree, ast.Call):
            raise _refused(expression, "calls a function")
        else:
            raise _refused(expression, "computes something")
    steps.append(("n", tree.id.encode()))
    if len(steps) > MAX_STEPS:
        raise UsageError(f"the expression {expression!r} has more than {MAX_STEPS} steps")
    if any(len(text) > 255 for _, text in steps):
        raise UsageError(f"the expression {expression!r} has a name or key of more than 255 bytes")
    return steps[::-1]


def _item(index: ast.expr, expression: str) -> tuple[str, bytes]:
    sign = 1
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        sign, index = -1, index.operand
    if isinstance(index, ast.Constant) and not isinstance(index.value, bool):
        if isinstance(index.value, str) and sign == 1:
            try:
                return "k", index.value.encode()
            except UnicodeEncodeError:
                pass
        if isinstance(index.value, int) and index.value < 10**18:
            return "i", str(sign * index.value).encode()
    raise _refused(expression, "has an index that is no constant whole number or string")


def _refused(expression: str, why: str) -> UsageError:
    return UsageError(f"the expression {expression!r} {why}; a probe reads {CAN}, and runs no code")

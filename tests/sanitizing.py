"""Agents built with AddressSanitizer and UBSan, and what those say."""

from __future__ import annotations

import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launching import TESTS

ROOT = TESTS.parent
BUILD = "build-asan"

_REPORT = re.compile(r"ERROR: AddressSanitizer|runtime error:|AddressSanitizer: CHECK failed")
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ in (\w+)", re.MULTILINE)


@functools.cache
def runtime() -> str:
    """libasan: code built with it only works where it was loaded first."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc here to build with sanitizers")
    command = ["gcc", "-print-file-name=libasan.so"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@functools.cache
def built() -> dict[str, Path]:
    """The agents with sanitizers in them by name, as up to date as their sources."""
    runtime()
    build = [sys.executable, str(ROOT / "scripts" / "build.py"), BUILD, "--sanitize"]
    tools = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(build, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {library.name: library for library in (ROOT / BUILD).glob("native/*/*.so")}


def reports(err: str) -> Iterator[str]:
    """What the sanitizers complained about, each with its stacks."""
    starts = [match.start() for match in _REPORT.finditer(err)]
    for start, end in itertools.pairwise([*starts, len(err)]):
        yield err[start:end]


def where(report: str) -> set[str]:
    """The functions on the stack that did it, which is the first one of a report."""
    found: set[str] = set()
    last = None
    for match in _FRAME.finditer(report):
        if last is not None and report.count("\n", last, match.start()) > 2:
            break
        last = match.end()
        found.add(match[1])
    return found

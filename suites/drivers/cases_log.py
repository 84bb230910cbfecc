"""Writes the start and the outcome of each test case to a file, one JSON object per line.

The process may crash or hang in any case, so each line reaches the file at once. Only the process
that opened the log writes to it: a forked child that goes on with the tests adds nothing.
"""

from __future__ import annotations

import json
import os
import time


def wait_for(path: str) -> None:
    """Until the runner creates a file, if it names one: the first attach is under way then."""
    while path and not os.path.exists(path):
        time.sleep(0.01)


class CasesLog:
    def __init__(self, path: str) -> None:
        self._path = path
        self._pid = os.getpid()

    def _write(self, **record: str) -> None:
        if os.getpid() != self._pid:
            return
        line = (json.dumps(record) + "\n").encode()
        # Opened for each line: tests close descriptors that are not theirs.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def start(self, case: str) -> None:
        self._write(start=case)

    def end(self, case: str, outcome: str, why: str = "") -> None:
        self._write(end=case, outcome=outcome, why=why[-4000:])

    def finish(self) -> None:
        self._write(finish="all cases")

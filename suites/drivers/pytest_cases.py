"""Runs test files with pytest in the interpreter that starts this file, and logs each case.

python pytest_cases.py SPECIFICATION.json
"""

from __future__ import annotations

import fnmatch
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cases_log import CasesLog


class Plugin:
    def __init__(self, log: CasesLog, wanted: dict[str, Any]) -> None:
        self._log = log
        self._only, self._without = set(wanted["only"]), set(wanted["without"])
        self._never = wanted["never"]
        self._outcome, self._why = "passed", ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if self._runs(item.nodeid)]

    def _runs(self, case: str) -> bool:
        return (
            (not self._only or case in self._only)
            and case not in self._without
            and not any(fnmatch.fnmatchcase(case, never) for never in self._never)
        )

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome != "passed":
            self._log.end(report.nodeid, report.outcome, str(report.longrepr))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._outcome, self._why = "passed", ""
        self._log.start(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if outcome == "failed" and report.when != "call":
            outcome = "error"
        if hasattr(report, "wasxfail"):
            outcome = "unexpected success" if report.outcome == "passed" else "expected failure"
        if outcome != "passed" and self._outcome == "passed":
            self._outcome, self._why = outcome, str(report.longrepr)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._log.end(nodeid, self._outcome, self._why)


def main() -> None:
    from cases_log import CasesLog, wait_for

    with open(sys.argv[1], encoding="utf-8") as file:
        wanted = json.load(file)
    log = CasesLog(wanted["log"])
    del sys.argv[1:]
    sys.path.pop(0)
    sys.path[:0] = wanted["path"]
    wait_for(wanted["gate"])

    import pytest

    os.chdir(wanted["folder"])
    plugin = Plugin(log, wanted)
    # Without the project's own options: they ask for plugins that are not installed.
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts="]
    options.append("--continue-on-collection-errors")
    code = pytest.main([*options, *wanted["options"], *wanted["files"]], plugins=[plugin])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        # Nothing ran: a wrong option, or no test.
        sys.exit(int(code))
    log.finish()


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.abspath(__file__))
    main()

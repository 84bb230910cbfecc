"""Runs one unittest module in the interpreter that starts this file, and logs each case.

    python unittest_cases.py SPECIFICATION.json

The specification names the module, the log, and the cases to run or to leave out.
"""

from __future__ import annotations

import fnmatch
import importlib
import json
import os
import sys
import traceback
import unittest
from collections.abc import Iterator

Failure = tuple[type[BaseException], BaseException, object] | tuple[None, None, None]


def flatten(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def prepare_cpython() -> None:
    """What CPython's regrtest does before it imports a test module."""
    from test import support  # type: ignore[import-not-found, unused-ignore]

    # walltime: test_eintr asks for it.
    support.use_resources = ["subprocess", "walltime"]
    support.verbose = 0


def main() -> None:
    # Spawned children of a test import this file again, and then need no log.
    from cases_log import CasesLog, wait_for

    with open(sys.argv[1], encoding="utf-8") as file:
        wanted = json.load(file)
    log = CasesLog(wanted["log"])
    del sys.argv[1:]
    sys.path.pop(0)
    sys.path[:0] = wanted["path"]
    wait_for(wanted["gate"])

    class Result(unittest.TestResult):
        def __init__(self) -> None:
            super().__init__()
            self.case = ""
            self.outcome = "passed"
            self.why = ""

        def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
            super().startTest(test)
            self.case, self.outcome, self.why = name_of(test), "passed", ""
            log.start(self.case)

        def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
            super().stopTest(test)
            log.end(self.case, self.outcome, self.why)
            self.case = ""

        def _note(self, test: unittest.TestCase, outcome: str, why: str) -> None:
            if self.case:
                # A case with several failures, such as those of subtests, keeps the first reason.
                if self.outcome in ("passed", "skipped"):
                    self.outcome, self.why = outcome, why
            else:
                # A class's or a module's own preparation, which is no case.
                log.end(test.id(), outcome, why)

        def _text(self, failure: Failure) -> str:
            return "".join(traceback.format_exception(failure[1]))

        def addError(self, test: unittest.TestCase, err: Failure) -> None:  # noqa: N802
            self._note(test, "error", self._text(err))

        def addFailure(self, test: unittest.TestCase, err: Failure) -> None:  # noqa: N802
            self._note(test, "failed", self._text(err))

        def addSubTest(  # noqa: N802
            self, test: unittest.TestCase, subtest: unittest.TestCase, err: Failure | None
        ) -> None:
            if err is not None:
                wrong = err[0] is not None and issubclass(err[0], test.failureException)
                why = f"{subtest}\n{self._text(err)}"
                self._note(test, "failed" if wrong else "error", why)

        def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
            self._note(test, "skipped", reason)

        def addExpectedFailure(self, test: unittest.TestCase, err: Failure) -> None:  # noqa: N802
            self._note(test, "expected failure", self._text(err))

        def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
            self._note(test, "unexpected success", "")

    names: dict[int, str] = {}

    def name_of(test: unittest.TestCase) -> str:
        return names.get(id(test), test.id())

    name = wanted["module"]
    if wanted["cpython"]:
        prepare_cpython()
    try:
        module = importlib.import_module(name)
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    except unittest.SkipTest as skip:
        log.end(name, "skipped", str(skip))
        log.finish()
        return
    # Two cases may have one id, for instance of a class that is imported twice.
    seen: dict[str, int] = {}
    every = list(flatten(suite))
    for test in every:
        count = seen[test.id()] = seen.get(test.id(), 0) + 1
        names[id(test)] = test.id() if count == 1 else f"{test.id()}#{count}"
    only, without = set(wanted["only"]), set(wanted["without"])
    chosen = [
        test
        for test in every
        if (not only or name_of(test) in only)
        and name_of(test) not in without
        and not any(fnmatch.fnmatchcase(name_of(test), never) for never in wanted["never"])
    ]
    unittest.TestSuite(chosen).run(Result())
    log.finish()


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.abspath(__file__))
    main()

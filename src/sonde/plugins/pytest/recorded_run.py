"""The recording of a test run, in the process that runs the tests."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import tempfile
import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from sonde.errors import SondeError
from sonde.record.session import Session

from .limits import Limits, Outcome, check, limits_of
from .options import RunOptions
from .results import RunResults, short_path
from .spans import COLLECTION, setup_of

CANNOT_RECORD = "sonde cannot record this test run: {}"
SERIES = "tests"
"""Of the segments of tests recorded apart, until each has the name of its test."""
MAX_NAME = 120
"""Of a file, without what makes it unique: file systems allow 255 bytes."""


def session_options(options: RunOptions) -> dict[str, Any]:
    asked = {"what": options.what, "rate": options.rate}
    return {name: value for name, value in asked.items() if value is not None}


def check_recordable(options: RunOptions) -> None:
    """A usage error if workers could not record: one sentence instead of one from each."""
    try:
        folder = options.path if options.slow is not None else os.path.dirname(options.path)
        if options.slow is not None:
            os.makedirs(folder, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".sonde-") as tried,
            Session(os.path.join(tried, "tried.sonde"), **session_options(options)),
        ):
            pass
    except (SondeError, OSError) as error:
        raise pytest.UsageError(CANNOT_RECORD.format(error)) from None


class RecordedRun:
    """Starts and stops the recording, and checks the limits of each test."""

    def __init__(self, options: RunOptions, worker: str | None) -> None:
        self._options = options
        self._worker = f"-{worker}" if worker else ""
        self._session: Session | None = None
        self._segment = ""
        """The file being written, of a run whose tests are recorded apart."""
        self._segment_test: str | None = None
        """The slow test that is in it."""
        self._limits: dict[str, Limits] = {}
        self._wrong_marks: dict[str, str] = {}
        self._names = {COLLECTION}
        self._checking = 0.0
        """Seconds that checking the limits of this test has taken."""
        self._tests = 0
        self.failure: str | None = None
        """Why there is no recording."""
        self.kept: list[str] = []
        """Recordings of single tests."""
        self.undecided: list[str] = []
        """Limits that could not be decided, each with its test."""

    @property
    def _apart(self) -> bool:
        return self._options.slow is not None

    @property
    def path(self) -> str:
        path = self._options.path
        if self._apart or not self._worker:
            return path
        stem, end = os.path.splitext(path)
        return f"{stem}{self._worker}{end}"

    # ---- the recording

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        try:
            self._start()
        except (SondeError, OSError) as error:
            self._session = None
            self.failure = str(error)
            if not self._worker:
                raise pytest.UsageError(CANNOT_RECORD.format(error)) from None
            # A worker that ended here would be started again and again.

    def _start(self) -> None:
        path, more = self.path, session_options(self._options)
        if self._apart:
            os.makedirs(self.path, exist_ok=True)
            path = os.path.join(path, f"{SERIES}{self._worker}.sonde")
            more["mode"] = "continuous"
        self._session = Session(path, **more)
        self._session.start()
        if self._apart:
            self._segment = self._session.status()["path"]

    def stop(self) -> bool:
        """Whether there was a recording to end."""
        session, self._session = self._session, None
        if session is None:
            return False
        session.stop()
        self._name_segment()
        return True

    def pytest_unconfigure(self) -> None:
        """Where pytest ended without ending its session."""
        self.stop()

    # ---- one test after the other

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._tests = len(session.items)
        for item in session.items:
            try:
                limits = limits_of(item)
            except SondeError as error:
                self._wrong_marks[item.nodeid] = str(error)
                continue
            if limits:
                self._limits[item.nodeid] = limits
            self._names |= {item.nodeid, setup_of(item.nodeid)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """A wrong mark is an error of its test: a worker of pytest-xdist must go on."""
        if item.nodeid in self._wrong_marks:
            pytest.fail(self._wrong_marks[item.nodeid], pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        session = self._session
        if self._options.slow is None or session is None:
            return (yield)
        begun = session.rotate()
        self._name_segment()
        self._segment = begun
        began, self._checking = time.monotonic(), 0.0
        done = yield
        if time.monotonic() - began - self._checking >= self._options.slow:
            self._segment_test = item.nodeid
        return done

    def _name_segment(self) -> None:
        """The segment that has ended gets the name of its slow test, or is removed."""
        if not self._segment:
            return
        if self._segment_test is None:
            os.unlink(self._segment)
        else:
            path = _free_path(self.path, self._segment_test)
            os.rename(self._segment, path)
            self.kept.append(path)
        self._segment, self._segment_test = "", None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """A limit that is exceeded fails a test that has passed."""
        yield
        limits = self._limits.get(item.nodeid)
        if limits is None:
            return
        began = time.monotonic()
        outcome = self._check(limits, item.nodeid)
        self._checking += time.monotonic() - began
        self.undecided += [f"{item.nodeid}: {sentence}" for sentence in outcome.undecided]
        if outcome.exceeded:
            lines = [f"sonde: {sentence}" for sentence in outcome.exceeded]
            if not self._apart:  # else the file has no name yet
                shown = ["sonde", "report", short_path(self.path), "tree", "--span", item.nodeid]
                lines.append(f"see: {shlex.join(shown)}")
            pytest.fail("\n".join(lines), pytrace=False)

    def _check(self, limits: Limits, nodeid: str) -> Outcome:
        from sonde.views.stacks.chained_samples import open_recording

        session = self._session
        if session is None:
            return Outcome(undecided=[f"there is no recording: {self.failure or 'it has ended'}"])
        session.flush()
        # What reading takes is no part of the run.
        session.pause()
        try:
            return check(open_recording(self._segment or session.path), nodeid, limits)
        finally:
            session.resume()

    # ---- its result

    def results(self) -> RunResults:
        """To be asked after the end."""
        if self.failure is not None:
            return RunResults(
                self._tests,
                undecided=self.undecided,
                failures=[f"a worker could not record: {self.failure}"],
            )
        from sonde.views.stacks.chained_samples import open_recording

        from .slow_tests import slow_tests

        files = self.kept if self._apart else [self.path]
        top = self._options.top
        rows = [
            row
            for path in files
            for row in slow_tests(open_recording(path), path, self._names, top)
        ]
        rows.sort(key=lambda row: -row.wall_ns)
        return RunResults(self._tests, files, rows[:top], self.undecided)


def _free_path(folder: str, nodeid: str) -> str:
    """A file name for a test that no file has yet: another worker may run one of that name."""
    name = re.sub(r"[^\w.\[\]=-]+", "-", nodeid)[-MAX_NAME:].strip("-.")
    for number in itertools.count(1):
        path = os.path.join(folder, f"{name}{f'-{number}' if number > 1 else ''}.sonde")
        try:
            # Reserved, as workers rename at the same time.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")

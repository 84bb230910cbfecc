"""The runner of other projects' tests (suites/), with small modules that behave in a known way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from launching import Interpreter
from suites import __main__ as command
from suites import comparison, known, modes
from suites.comparison import Difference
from suites.execution import Limits, run_module
from suites.outcomes import PROCESS, Outcome
from suites.subjects import Prepared

ROOT = Path(__file__).resolve().parent.parent

SAMPLE = """
import os, pathlib, sys, time, unittest

HERE = pathlib.Path(__file__).parent


def recorded():
    return "libsonde" in open("/proc/self/maps").read()


def count(name):
    file = HERE / name
    number = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(number))
    return number


class Cases(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.fail("always")

    def test_skips(self):
        self.skipTest("always")

    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(number, 1)
"""


@pytest.fixture
def prepared(any_python: Interpreter, tmp_path: Path) -> Prepared:
    """Modules that a test writes into tmp_path."""
    return Prepared(any_python.path, ["sample"], path=[str(tmp_path)])


def write_cases(folder: Path, cases: str = "") -> None:
    (folder / "sample.py").write_text(SAMPLE + textwrap.indent(textwrap.dedent(cases), "    "))


def make_run(folder: Path, *options: str, known_text: str = "") -> command.Run:
    (folder / "known.toml").write_text(known_text)
    asked = command.parse(["--what", "cpu,locks", *options])
    return command.Run(asked, folder / "build" / "suites", folder / "known.toml")


def verdicts(run: command.Run) -> dict[str, str]:
    return {d.case.rpartition(".")[2]: d.verdict for d in run.differences}


def kinds(outcomes: dict[str, Outcome]) -> dict[str, str]:
    return {case.rpartition(".")[2]: outcome.kind for case, outcome in outcomes.items()}


def outcomes(**cases: str) -> dict[str, Outcome]:
    return {PROCESS if case == "process" else case: Outcome(kind) for case, kind in cases.items()}


def test_the_outcome_of_each_case(prepared: Prepared, tmp_path: Path) -> None:
    write_cases(
        tmp_path,
        """
        def test_crashes(self):
            os.abort()

        def test_hangs(self):
            time.sleep(600)

        @unittest.expectedFailure
        def test_passes_unexpectedly(self):
            pass
        """,
    )
    found = run_module(prepared, "sample", modes.PLAIN, Limits(case_s=2))
    assert kinds(found) == {
        "test_crashes": "crash",
        "test_fails": "failed",
        "test_hangs": "timeout",
        "test_passes": "passed",
        "test_passes_unexpectedly": "unexpected success",
        "test_skips": "skipped",
        "test_subtests": "failed",
        PROCESS: "passed",
    }
    assert "signal 6" in found["sample.Cases.test_crashes"].why


def test_chosen_cases_only(prepared: Prepared, tmp_path: Path) -> None:
    write_cases(tmp_path)
    only = {"sample.Cases.test_fails"}
    found = run_module(prepared, "sample", modes.PLAIN, Limits(), only)
    assert kinds(found) == {"test_fails": "failed", PROCESS: "passed"}


def test_the_exit_of_the_process_counts(prepared: Prepared, tmp_path: Path) -> None:
    write_cases(tmp_path)
    with (tmp_path / "sample.py").open("a") as file:
        file.write("\nimport atexit\natexit.register(os._exit, 3)\n")
    found = run_module(prepared, "sample", modes.PLAIN, Limits())
    assert found[PROCESS].kind == "crash"
    assert "exit code 3" in found[PROCESS].why


def test_cases_that_a_cut_off_run_did_not_reach_are_not_compared() -> None:
    plain = outcomes(a="passed", b="passed", c="passed", process="passed")
    cut_off = outcomes(a="passed", b="failed")
    assert comparison.comparable(plain, cut_off) == ["a", "b"]
    assert comparison.differing(plain, cut_off) == ["b"]
    whole = outcomes(a="passed", b="passed", d="passed", process="passed")
    assert comparison.comparable(plain, whole) == ["a", "b", "c", PROCESS, "d"]
    assert comparison.differing(plain, whole) == ["c", "d"]


def test_the_summary_of_a_run() -> None:
    whole = outcomes(a="passed", b="passed", c="failed", process="passed")
    assert command.summary(whole) == "2 passed, 1 failed"
    assert command.summary(outcomes(a="passed", process="crash")) == "1 passed, (process) crash"
    assert command.summary(outcomes(a="passed")) == "1 passed, (process) cut off"


@pytest.mark.parametrize(
    ("plain", "recorded", "verdict"),
    [
        (["passed"] * 4, ["failed"] * 4, "difference"),
        (["passed"] * 4, ["failed", "passed", "crash", "passed"], "difference"),
        (["passed"] * 4, ["failed", "passed", "passed", "passed"], "once"),
        (["passed", "failed", "passed"], ["failed", "passed", "failed"], "flaky"),
        (["failed"] * 2, ["failed"] * 2, "equal"),
    ],
)
def test_verdicts(plain: list[str], recorded: list[str], verdict: str) -> None:
    difference = Difference("s", "3.12", "calls", "m", "c", plain, recorded)
    assert comparison.verdict(difference) == verdict


def test_differences_are_told_from_flaky_cases(
    prepared: Prepared, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real recordings: one case fails in each of them, one in the first, one now and then."""
    write_cases(
        tmp_path,
        """
        def test_fails_with_sonde(self):
            self.assertFalse(recorded())

        def test_fails_with_sonde_once(self):
            self.assertFalse(recorded() and count("once") == 1)

        def test_fails_now_and_then(self):
            self.assertTrue(count("flaky") % 3)
        """,
    )
    (tmp_path / "flaky").write_text("1")
    run = make_run(tmp_path)
    run.module("sample", "3", prepared, "sample")
    assert verdicts(run) == {
        "test_fails_with_sonde": "difference",
        "test_fails_with_sonde_once": "once",
        "test_fails_now_and_then": "flaky",
    }
    assert run.finish() == 1
    [row] = run.rows
    assert (row["cases"], row["differ"], row["flaky"]) == (7, 1, 2)
    assert (row["recordings"], row["failed"]) == (1, 0)
    assert "DIFFERENCE: sample 3 cpu,locks sample.Cases.test_fails_with_sonde" in (
        capsys.readouterr().out
    )
    saved = json.loads((tmp_path / "build" / "suites.json").read_text())
    assert saved == json.loads(run.result.read_text())
    why = {d["case"]: d["why"] for d in saved["differences"]}
    assert "assertFalse" in why["sample.Cases.test_fails_with_sonde"]


def test_only_compared_cases_are_counted(prepared: Prepared, tmp_path: Path) -> None:
    """The run without sonde is cut off in a case; the other one reaches the two behind it."""
    write_cases(
        tmp_path,
        """
        def test_takes_long_without_sonde(self):
            if not recorded():
                time.sleep(600)

        def test_unreached(self):
            pass
        """,
    )
    run = make_run(tmp_path, "--module-limit", "8")
    run.module("sample", "3", prepared, "sample")
    assert verdicts(run) == {}
    # Fewer if the machine is too busy to run four cases in that time.
    assert run.rows[0]["cases"] <= 4


KNOWN = """
[[difference]]
suite = "sample"
cases = "sample.Cases.test_fails_with_sonde"
versions = ["3"]
modes = ["cpu,locks"]
reason = "looks for sonde"
"""


@pytest.mark.parametrize(("body", "code", "stale"), [("recorded()", 0, 0), ("False", 1, 1)])
def test_known_differences(
    body: str,
    code: int,
    stale: int,
    prepared: Prepared,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A known one is no failure; one that no longer occurs is."""
    write_cases(tmp_path, f"def test_fails_with_sonde(self):\n    self.assertFalse({body})\n")
    run = make_run(tmp_path, "--times", "1", known_text=KNOWN)
    run.module("sample", "3", prepared, "sample")
    assert run.finish() == code
    assert run.rows[0]["known"] == 1 - stale
    assert run.rows[0]["differ"] == 0
    printed = capsys.readouterr().out
    assert ("stale: sample.Cases.test_fails_with_sonde of sample" in printed) == bool(stale)
    assert len(json.loads(run.result.read_text())["stale"]) == stale


@pytest.mark.parametrize(
    ("place", "compared", "verdict", "met", "occurred"),
    [
        (("sample", "3", "cpu,locks"), True, "difference", True, True),
        (("sample", "3", "cpu,locks"), True, "once", True, True),
        (("sample", "3", "cpu,locks"), True, None, True, False),
        (("sample", "3", "cpu,locks"), True, "flaky", False, False),
        (("sample", "3", "cpu,locks"), False, None, False, False),
        (("sample", "3", "calls"), True, "difference", False, False),
        (("sample", "4", "cpu,locks"), True, "difference", False, False),
        (("other", "3", "cpu,locks"), True, "difference", False, False),
    ],
)
def test_where_a_known_difference_applies(
    place: tuple[str, str, str],
    compared: bool,
    verdict: str | None,
    met: bool,
    occurred: bool,
    tmp_path: Path,
) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    every = known.KnownDifferences(tmp_path / "known.toml")
    case = "sample.Cases.test_fails_with_sonde"
    found = [Difference(*place, "sample", case, verdict=verdict)] if verdict else []
    every.note(*place, [case] if compared else ["another"], found)
    [entry] = every.entries
    assert (entry.met, entry.occurred) == (met, occurred)
    assert every.stale() == ([entry] if met and not occurred else [])
    assert [d.known for d in found] == ["looks for sonde" if occurred else ""] * len(found)


def test_a_difference_that_occurs_sometimes_is_never_stale(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN + "sometimes = true\n")
    every = known.KnownDifferences(tmp_path / "known.toml")
    every.note("sample", "3", "cpu,locks", ["sample.Cases.test_fails_with_sonde"], [])
    assert every.entries[0].met
    assert every.stale() == []


def test_chosen_cases_leave_known_differences_alone(prepared: Prepared, tmp_path: Path) -> None:
    write_cases(tmp_path, "def test_fails_with_sonde(self):\n    pass\n")
    run = make_run(tmp_path, "--cases", "*with_sonde", known_text=KNOWN)
    run.module("sample", "3", prepared, "sample")
    assert run.finish() == 0
    assert run.rows[0]["cases"] == 1


def test_every_known_difference_has_a_reason() -> None:
    for entry in known.KnownDifferences().entries:
        assert len(entry.reason) > 20, entry


def test_plain_outcomes_are_kept_for_the_same_tests_only(
    prepared: Prepared, tmp_path: Path
) -> None:
    write_cases(tmp_path, "def test_counts(self):\n    count('runs')\n")
    installed = tmp_path / "ready"
    installed.touch()
    prepared = Prepared(prepared.python, ["sample"], path=prepared.path, installed=installed)

    def plain(subject: Prepared, *options: str) -> int:
        """How often the module has run after this."""
        found = make_run(tmp_path, *options).plain("sample", "3", subject, "sample")
        assert kinds(found)["test_counts"] == "passed"
        return int((tmp_path / "runs").read_text())

    assert plain(prepared, "--reuse-plain") == 1
    assert plain(prepared, "--reuse-plain") == 1
    assert plain(prepared) == 2
    assert plain(prepared, "--reuse-plain", "--case-limit", "5") == 3
    never = Prepared(**{**vars(prepared), "without": ("*fails*",)})
    assert plain(never, "--reuse-plain") == 4
    # Another interpreter behind the same path, and tests that were installed anew.
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexec "{prepared.python}" "$@"\n')
    wrapper.chmod(0o755)
    other = Prepared(**{**vars(prepared), "python": str(wrapper)})
    assert plain(other, "--reuse-plain") == 5
    wrapper.write_text(wrapper.read_text() + "\n")
    assert plain(other, "--reuse-plain") == 6
    os.utime(installed, ns=(1, 1))
    assert plain(prepared, "--reuse-plain") == 7


def test_the_first_attach_precedes_the_tests(prepared: Prepared, tmp_path: Path) -> None:
    """So a short module is attached to as well. Half a second lets the session begin: a process
    that has the agent may still end before it is recorded, which counts as neither.
    """
    write_cases(tmp_path)
    with (tmp_path / "sample.py").open("a") as file:
        file.write("    def test_is_recorded(self):\n        self.assertTrue(recorded())\n")
        file.write("WHEN_IMPORTED = recorded()\n")
        file.write("class More(unittest.TestCase):\n")
        file.write("    def test_import(self):\n        self.assertTrue(WHEN_IMPORTED)\n")
        file.write("        __import__('time').sleep(0.5)\n")
    recordings = modes.Recordings()
    found = run_module(prepared, "sample", "attached", Limits(), (), None, recordings)
    assert kinds(found)["test_is_recorded"] == "passed"
    assert kinds(found)["test_import"] == "passed"
    assert recordings.made == 1
    assert not recordings.failures
    plain = run_module(prepared, "sample", modes.PLAIN, Limits())
    assert kinds(plain)["test_is_recorded"] == "failed"


def test_attaches_repeat(any_python: Interpreter, tmp_path: Path) -> None:
    recordings = modes.Recordings()
    words = [any_python.path, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(words) as process:
        try:
            with modes.attaching("attached", process, tmp_path, recordings):
                end = time.monotonic() + 200
                while recordings.made < 2 and time.monotonic() < end:
                    time.sleep(0.05)
        finally:
            process.kill()
    assert recordings.made >= 2
    assert not recordings.failures


def test_attaches_that_fail_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To a program that sonde has no agent for."""
    sleep = shutil.which("sleep")
    assert sleep
    recordings = modes.Recordings()
    with subprocess.Popen([sleep, "600"]) as process:
        try:
            with modes.attaching("attached", process, tmp_path, recordings):
                end = time.monotonic() + 60
                while not recordings.failures and time.monotonic() < end:
                    time.sleep(0.05)
        finally:
            process.kill()
    assert recordings.made == 0
    [(text, count)] = recordings.failures.items()
    assert "PID" in text
    assert (tmp_path / "gate").exists()
    run = make_run(tmp_path)
    run.add("sample", "3", "attached", "sample", ["a"], [], recordings, 1)
    assert f"NOT RECORDED {count} times: {text}" in capsys.readouterr().out
    assert run.rows[0]["failed"] == count
    run.finish()
    words = capsys.readouterr().out.splitlines()[2].split()
    assert words == ["sample", "3", "attached", "1", "0", "0", "0", "0", str(count)]


def test_an_attach_to_a_process_that_ended_is_no_failure() -> None:
    recordings = modes.Recordings()
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        recordings.note_attach(process, 1, "no such process")
    assert recordings == modes.Recordings(0, Counter())


def test_a_run_without_a_recording_is_reported(tmp_path: Path) -> None:
    recordings = modes.Recordings()
    recordings.note_run("calls", tmp_path / "nothing")
    assert recordings.failures.total() == 1
    recordings.note_run(modes.PLAIN, tmp_path / "nothing")
    recordings.note_run("attached", tmp_path / "nothing")
    assert recordings.failures.total() == 1
    (tmp_path / "something").write_bytes(b"recorded")
    recordings.note_run("calls", tmp_path / "something")
    assert recordings.made == 1


def test_the_command_lists_modules() -> None:
    options: dict[str, Any] = {"capture_output": True, "text": True, "cwd": ROOT, "check": False}
    words = [sys.executable, "-m", "suites", "--list", "--suites", "cpython"]
    done = subprocess.run([*words, "--modules", "*test_signal"], **options)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("not run")]
    assert all(line.endswith("test.test_signal") for line in lines)
    done = subprocess.run([*words[:-1], "nothing"], **options)
    assert done.returncode == 2
    assert "no suite nothing" in done.stderr

"""`pytest --sonde` as users run it: real runs of real tests, in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sonde
from launching import TESTS, TIMEOUT_S, clean_environment
from launching import sonde as run_sonde

ROOT = TESTS.parent

SUITE = """
import threading, time
import pytest

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))

def other(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))

@pytest.fixture
def prepared():
    other(0.2)

@pytest.mark.sonde(max_share={"test_suite.burn": 0.2})
def test_burns():
    burn(0.3)
    other(0.1)

@pytest.mark.sonde(max_share={"test_suite.burn": 0.9})
def test_keeps(prepared):
    burn(0.1)
    other(0.2)

@pytest.mark.sonde(max_share={"test_suite.burn": 0.2})
def test_quick():
    pass

@pytest.mark.sonde(max_lock_wait=0.05)
def test_waits():
    lock = threading.Lock()
    def hold():
        with lock:
            held.set()
            time.sleep(0.2)
    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with lock:
        pass
    thread.join()

@pytest.mark.sonde(max_share={"test_suite.burn": 0.2})
def test_fails():
    burn(0.1)
    assert 1 == 2

class TestMethods:
    def test_method(self):
        other(0.1)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installation of sonde declares to pytest, whether or not it is one here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    info = folder / "sonde_declared-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sonde-declared\nVersion: 0\n")
    points = project["entry-points"]["pytest11"]
    lines = [f"{name} = {module}" for name, module in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return folder


class Suite:
    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        self.environment = clean_environment(
            PYTHONPATH=f"{site}:{ROOT / 'src'}", PYTHONDONTWRITEBYTECODE="1", COLUMNS="200"
        )
        self.write(SUITE)

    def write(self, text: str) -> None:
        (self.folder / "test_suite.py").write_text(text)

    def command(self, *options: str) -> list[str]:
        # The cache would be the only file but recordings; xdist only where it is asked for.
        return ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *options]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *self.command(*options)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def recordings(self) -> list[str]:
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*.sonde"))


@pytest.fixture
def suite(tmp_path: Path, site: Path) -> Suite:
    return Suite(tmp_path, site)


def test_a_recorded_run(suite: Suite) -> None:
    done = suite.run("--sonde", "--sonde-file", "run.sonde", "--sonde-top", "20")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 failed, 3 passed" in done.stdout
    # A limit that is exceeded is a failure of the test, with what was measured.
    assert re.search(
        r"sonde: test_suite\.burn took \d\d % of the CPU time of this test \(\d\d % to \d\d % with "
        r"95 % confidence, \d{3} samples\); the limit is 20 %",
        done.stdout,
    ), done.stdout
    assert "see: sonde report run.sonde tree --span test_suite.py::test_burns" in done.stdout
    assert re.search(
        r"sonde: threads waited \d+ ms for locks in this test, .* 50\.0 ms", done.stdout
    )
    assert "FAILED test_suite.py::test_fails - assert 1 == 2" in done.stdout
    # What cannot be decided is neither a failure nor hidden.
    assert "1 limit could not be decided:" in done.stdout
    assert re.search(r"test_quick: test_suite\.burn took .* too few samples to decide", done.stdout)
    # The slowest, with their functions; the run is one file, with a span for each test.
    assert "sonde: slowest of 6 tests" in done.stdout
    assert re.search(r"\d+ m?s +\d+ ms +- +test_suite\.py::test_burns\n", done.stdout)
    assert re.search(r"\d+ m?s +\d+ ms +- +test_suite\.py::test_keeps \[setup\]", done.stdout)
    assert re.search(r"\d\d %  burn → sum  test_suite\.py:5", done.stdout)
    assert suite.recordings() == ["run.sonde"]
    recording = sonde.open(suite.folder / "run.sonde")
    names = set(recording.tables.spans.name)
    assert {"[collection]", "test_suite.py::test_keeps [setup]"} <= names
    assert "test_suite.py::TestMethods::test_method" in names
    shares = {
        row.function.name: row.total_ns
        for row in recording.flat(span="test_suite.py::test_burns").rows
    }
    assert 2 < shares["burn"] / shares["other"] < 4.5
    (command,) = re.findall(r"one test:  sonde (.*)", done.stdout)
    shown = run_sonde(*command.split(), cwd=suite.folder)
    assert shown.returncode == 0, shown.stderr
    assert "burn" in shown.stdout


def test_without_the_option_nothing_happens(suite: Suite) -> None:
    done = suite.run("--strict-markers")
    assert "1 failed, 5 passed" in done.stdout
    assert "sonde:" not in done.stdout
    assert suite.recordings() == []


def test_workers_record_and_the_controller_gathers(suite: Suite) -> None:
    done = suite.run("-n", "2", "--sonde-file", "run.sonde")
    assert done.returncode == 1
    assert "3 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "sonde: slowest of 6 tests" in done.stdout
    assert "test_suite.py::test_burns" in done.stdout.partition("slowest of")[2]
    assert "1 limit could not be decided:" in done.stdout
    assert suite.recordings() == ["run-gw0.sonde", "run-gw1.sonde"]
    names = {
        name
        for file in suite.recordings()
        for name in sonde.open(suite.folder / file).tables.spans.name
    }
    assert {"test_suite.py::test_burns", "test_suite.py::test_waits"} <= names


def test_workers_that_cannot_record_are_one_sentence(suite: Suite) -> None:
    done = suite.run("-n", "2", "--sonde-file", "/nowhere/x.sonde")
    assert done.returncode == 4
    assert done.stderr.count("sonde cannot record this test run: ") == 1
    assert "Traceback" not in done.stderr + done.stdout


def test_a_worker_that_cannot_record_says_so(suite: Suite) -> None:
    """Its file is a folder already, which the trial of the controller does not see."""
    (suite.folder / "run-gw0.sonde").mkdir()
    done = suite.run("-n", "1", "--sonde-file", "run.sonde")
    assert done.returncode == 1
    assert "1 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert "a worker could not record: " in done.stdout
    assert "4 limits could not be decided:" in done.stdout
    assert "Traceback" not in done.stderr


def test_slow_tests_have_recordings_of_their_own(suite: Suite) -> None:
    done = suite.run("--sonde-slow", "0.25", "--sonde-file", "slow.sonde")
    assert "3 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    burns = "slow/test_suite.py-test_burns.sonde"
    found = suite.recordings()
    assert burns in found
    assert "slow/test_suite.py-test_keeps.sonde" in found
    assert "slow/test_suite.py-test_quick.sonde" not in found
    assert f"recording: {burns}" in done.stdout
    recording = sonde.open(suite.folder / burns)
    assert recording.tables.warnings == []
    calls = [name for name in recording.tables.spans.name if "[setup]" not in name]
    assert calls == ["test_suite.py::test_burns"]
    assert recording.flat(span=calls[0]).total_ns > 300_000_000


def test_each_test_has_a_recording(suite: Suite) -> None:
    suite.write(
        "def test_one(): pass\nimport pytest\n"
        "@pytest.mark.parametrize('x', ['a/b', 'a-b'])\ndef test_two(x): pass\n"
    )
    done = suite.run("--sonde-each", "--sonde-file", "each")
    assert done.returncode == 0, done.stdout + done.stderr
    assert suite.recordings() == [
        "each/test_suite.py-test_one.sonde",
        "each/test_suite.py-test_two[a-b]-2.sonde",
        "each/test_suite.py-test_two[a-b].sonde",
    ]


def test_under_sonde_run_tests_are_spans(suite: Suite) -> None:
    suite.write("def test_one(): sum(range(100000))\n")

    def run(path: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *suite.command(*options)]
        return run_sonde("run", "-o", path, "--", *command, cwd=suite.folder, env=suite.environment)

    done = run("outer.sonde")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_suite.py::test_one" in sonde.open(suite.folder / "outer.sonde").tables.spans.name
    # Two recordings of one process at a time are refused.
    done = run("both.sonde", "--sonde")
    assert done.returncode == 4
    assert "sonde cannot record this test run: this process is already being" in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--sonde-top", "0"], "invalid number '0'; give a whole number above 0"),
        (["--sonde-slow", "x"], "invalid time 'x'; give a number of seconds"),
        (["--sonde-slow", "1", "--sonde-each"], "--sonde-each and --sonde-slow cannot be combined"),
        (["--sonde-what", "nonsense"], "sonde cannot record this test run: invalid"),
        (["--sonde-rate", "999999"], "sonde cannot record this test run: --rate must be"),
        (["--sonde-file", "/nowhere/x.sonde"], "sonde cannot record this test run: "),
    ],
)
def test_wrong_options_are_one_sentence(suite: Suite, options: list[str], sentence: str) -> None:
    done = suite.run(*options)
    assert done.returncode == 4
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "INTERNALERROR" not in done.stderr + done.stdout


WRONG_MARKS = [
    ("0.2", "invalid mark sonde; valid arguments: max_share="),
    ("", "invalid mark sonde; valid arguments: max_share="),
    ("max_shares={'a': 1}", "invalid mark sonde; valid arguments: max_share="),
    ("max_share=0.2", "invalid max_share 0.2; give a dict"),
    ("max_share={'a': 20}", "invalid max_share {'a': 20}; give a dict"),
    ("max_lock_wait='1s'", "invalid max_lock_wait '1s'; give a number of seconds"),
]


def test_wrong_marks_are_one_sentence(suite: Suite) -> None:
    tests = [
        f"@pytest.mark.sonde({mark})\ndef test_{number}(): pass\n"
        for number, (mark, _) in enumerate(WRONG_MARKS)
    ]
    suite.write("import pytest\n" + "".join(tests))
    done = suite.run("--sonde")
    assert done.returncode == 1
    for number, (_, sentence) in enumerate(WRONG_MARKS):
        assert f"\ntest_suite.py::test_{number}: {sentence}" in done.stdout
    assert f"{len(WRONG_MARKS)} errors" in done.stdout
    assert "Traceback" not in done.stderr + done.stdout

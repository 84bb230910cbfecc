"""`sonde diff` from two files to its words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from launching import sonde
from sonde.cli.main import main
from synthetic import MS, Maker

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys, time

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def steady():
    spin(0.3)

def slower():
    spin(float(sys.argv[1]))

steady()
slower()
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    base, new = Maker(), Maker()
    base.sample("main:3 > work:12", 30 * MS)
    base.sample("main:4", 10 * MS, thread="worker")
    new.sample("main:3 > work:12", 15 * MS)
    new.sample("main:3 > other:2", 25 * MS)
    return base.write(str(tmp_path / "base.sonde")), new.write(str(tmp_path / "new.sonde"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*args: str) -> tuple[int, str, str]:
        code = main(["diff", *args])
        return code, *capsys.readouterr()

    return call


def test_much_more_is_a_factor(run: Any, tmp_path: Path) -> None:
    base, new = Maker(), Maker()
    base.sample("main:3", MS)
    new.sample("main:3", 400 * MS)
    paths = base.write(str(tmp_path / "base.sonde")), new.write(str(tmp_path / "new.sonde"))
    first = run(*paths)[1].splitlines()[0]
    assert first == "1.00 ms of on-CPU time before, 400 ms now: 400 times as much."


def test_in_words(run: Any, files: tuple[str, str]) -> None:
    code, out, err = run(*files)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "40.0 ms of on-CPU time before, 40.0 ms now: unchanged."
    assert "overlap by 37.5 %" in out
    assert "correlation is -0.22" in " ".join(out.split())
    table = [line.split()[:4] for line in out.splitlines() if " app.py" in line or "/app" in line]
    assert table[0] == ["+25.0", "ms", "–", "25.0"]
    assert max(map(len, out.splitlines())) <= 80


def test_json_and_options(run: Any, files: tuple[str, str]) -> None:
    code, out, err = run(*files, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert set(told) == {"overlap", "hot_edge_coverage", "correlation", "rows"}
    assert [row["name"] for row in told["rows"]] == ["other", "work", "main"]
    code, out, _ = run(*files, "--json", "--top", "1", "--thread", "MainThread")
    assert [row["name"] for row in json.loads(out)["rows"]] == ["other"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--top", "0"], "invalid --top '0'; give a number of rows, an integer of at least 1"),
        (["--thread", "worker"], "no thread 'worker' in "),
        (["--wall", "--running"], "--running and --wall cannot be combined"),
        (["--from", "2", "--to", "1"], "the time range is empty"),
    ],
)
def test_wrong_calls(run: Any, files: tuple[str, str], options: list[str], sentence: str) -> None:
    code, out, err = run(*files, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"sonde: {sentence}")
    assert err.count("\n") == 1


def test_a_file_that_is_no_recording(run: Any, files: tuple[str, str], tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("nothing of the kind")
    for pair in ([files[0], str(other)], [str(other), files[1]], [files[0], "missing.sonde"]):
        code, out, err = run(*pair)
        assert (code, out) == (1, "")
        assert err.count("\n") == 1


def test_one_file_is_a_wrong_call(run: Any, files: tuple[str, str]) -> None:
    code, out, err = run(files[0])
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_nothing_to_compare(run: Any, files: tuple[str, str]) -> None:
    assert run(*files, "--waiting")[1] == "No off-CPU time in either recording.\n"


def test_two_real_recordings(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    paths = []
    for name, seconds in (("base", "0.1"), ("new", "0.4")):
        path = tmp_path / f"{name}.sonde"
        done = sonde("run", "-o", path, program, seconds)
        assert done.returncode == 0, done.stderr
        paths.append(path)
    flat = [
        {
            (row["name"], row["file"]): row["self"]
            for row in json.loads(sonde("report", path, "flat", "--json").stdout)["rows"]
        }
        for path in paths
    ]
    told = json.loads(sonde("diff", *paths, "--json").stdout)
    by_name = {(row["name"], row["file"]): row for row in told["rows"]}
    for key, row in by_name.items():
        assert row["base"] == flat[0].get(key, 0)
        assert row["new"] == flat[1].get(key, 0)
        assert row["delta"] == row["new"] - row["base"]
    own = set().union(*({key for key, ns in side.items() if ns} for side in flat))
    assert set(by_name) == own
    changes = [abs(row["delta"]) for row in told["rows"]]
    assert changes == sorted(changes, reverse=True)
    assert told["rows"][0]["name"] in ("spin", "time.thread_time")
    assert told["rows"][0]["delta"] > 0
    assert 0.3 < told["overlap"] < 0.95
    # A recording compared with itself is itself.
    same = json.loads(sonde("diff", paths[0], paths[0], "--json").stdout)
    assert same["overlap"] == pytest.approx(1)
    assert same["correlation"] == pytest.approx(1)
    assert told["correlation"] < 0.999
    assert same["hot_edge_coverage"] == {"threshold": 0.1, "base_by_new": 1.0, "new_by_base": 1.0}
    assert {row["delta"] for row in same["rows"]} == {0}


def runs(folder: Path, name: str, work: list[int]) -> str:
    """Recordings of 1,000 samples each, so many of them in work; the pattern that names them."""
    for number, samples in enumerate(work):
        make = Maker()
        for _ in range(samples):
            make.sample("main:3 > work:12", MS)
        for _ in range(1000 - samples):
            make.sample("main:4", MS)
        make.write(str(folder / f"{name}-{number}.sonde"))
    return str(folder / f"{name}-*.sonde")


def test_growth_beyond_a_limit_is_exit_code_3(run: Any, tmp_path: Path) -> None:
    base, new = runs(tmp_path, "base", [200, 205, 198]), runs(tmp_path, "new", [300, 310, 295])
    code, out, err = run(base, new, "--fail-over", "5%")
    assert (code, err) == (3, "")
    lines = out.splitlines()
    assert lines[0] == "1 function grew by more than 5 points of on-CPU time."
    assert (
        lines[1] == "Before: 3 recordings with 3,000 samples; now: 3 recordings with 3,000 samples."
    )
    assert "sampling error only" not in out
    row = next(line for line in lines if line.startswith("  self")).split()
    assert row[1:2] + row[5:] == ["+10.1", "20.1", "%", "30.2", "%", "603", "→", "905"]
    assert max(map(len, lines)) <= 80
    code, out, _ = run(base, new, "--fail-over", "15")
    assert code == 0
    assert out.startswith("No function is known to have grown by more than 15 points")


def test_growth_as_json(run: Any, tmp_path: Path) -> None:
    base, new = runs(tmp_path, "base", [200]), runs(tmp_path, "new", [300])
    code, out, err = run(base, new, "--fail-over", "5%", "--json")
    assert (code, err) == (3, "")
    told = json.loads(out)
    assert {key: told[key] for key in ("failed", "limit", "compares", "base_runs", "tested")} == {
        "failed": True, "limit": 0.05, "compares": "samples", "base_runs": 1, "tested": 2,
    }  # fmt: skip
    first = told["rows"][0]
    assert (first["name"], first["verdict"], first["base_samples"]) == ("work", "grew", 200)
    low, high = first["interval"]
    assert first["delta"] == pytest.approx(0.1)
    assert 0 < low < first["delta"] < high
    # Standing at 0 points, nothing is decided that is not significant.
    code, out, _ = run(base, base, "--fail-over", "0%", "--json")
    assert (code, json.loads(out)["failed"]) == (0, False)


def test_too_few_samples_are_reported(run: Any, tmp_path: Path) -> None:
    paths = []
    for name, samples in (("base", 5), ("new", 12)):
        make = Maker()
        for i in range(40):
            make.sample("main:3 > work:12" if i < samples else "main:4", MS)
        paths.append(make.write(str(tmp_path / f"{name}.sonde")))
    code, out, _ = run(*paths, "--fail-over", "5%")
    assert code == 0
    text = " ".join(out.split())
    assert "With one recording on a side, the test covers the sampling error only" in text
    assert "Too few samples to decide about 1 function" in text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--fail-over", "much"], "invalid --fail-over 'much'; give points of on-CPU time below"),
        (["--fail-over", "-1%"], "invalid --fail-over '-1%'"),
        (["--fail-over", "100%"], "invalid --fail-over '100%'"),
        (["--objects", "--calls"], "--objects compares bytes; leave out --running, "),
        (["--fail-over", "5%", "--objects"], "--fail-over compares on-CPU time; leave out "),
        (["--fail-over", "5%", "--wall"], "--fail-over compares on-CPU time; leave out "),
        (["--fail-over", "5%", "--calls"], "--fail-over compares on-CPU time; leave out "),
    ],
)
def test_wrong_limits(run: Any, files: tuple[str, str], options: list[str], sentence: str) -> None:
    code, out, err = run(*files, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"sonde: {sentence}")
    assert err.count("\n") == 1


def test_segments_of_a_session_are_one_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    for side, seconds in (("base", "0.1"), ("new", "0.9")):
        (tmp_path / side).mkdir()
        for number in range(2):
            done = sonde(
                "run", "--mode", "continuous", "--rotate", "200ms",
                "-o", tmp_path / side / f"{number}.sonde", program, seconds,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "new").iterdir())) > 2
    done = sonde("diff", tmp_path / "base", tmp_path / "new", "--fail-over", "5%", "--json")
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    assert (told["base_runs"], told["new_runs"], told["compares"]) == (2, 2, "runs")
    assert ("slower", "grew") in {(row["name"], row["verdict"]) for row in told["rows"]}

"""`sonde report` from a file to its words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sonde.cli.main import main
from synthetic import MS, Maker
from views.test_quality import GOOD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> str:
    make = Maker()
    make.quality = dict(GOOD)
    make.sample("main:3 > work:12", 30 * MS)
    make.sample("main:3 > work:13", 10 * MS, thread="worker")
    make.sample("main:4 > time.sleep", 60 * MS, state=1)
    return make.write(str(tmp_path / "app.sonde"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*args: str) -> tuple[int, str, str]:
        code = main(["report", *args])
        return code, *capsys.readouterr()

    return call


def loaded(run: Any, *args: str) -> Any:
    code, out, err = run(*args, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_summary_is_the_default(run: Any, file: str) -> None:
    code, out, err = run(file)
    assert (code, err) == (0, "")
    assert out.startswith("app.py (pid 100) was recorded for 1.00 s under CPython 3.12.1")
    assert loaded(run, file) == loaded(run, file, "summary")
    assert loaded(run, file)["duration_ns"] == 1_000 * MS


@pytest.mark.parametrize("view", ["summary", "tree", "flat", "lines", "threads", "quality"])
def test_every_view_in_text_and_json(run: Any, file: str, view: str) -> None:
    code, out, err = run(file, view)
    assert (code, err) == (0, "")
    assert out
    # A command to copy is never cut.
    wrapped = [line for line in out.splitlines() if "sonde report " not in line]
    assert max(map(len, wrapped)) <= 80
    assert isinstance(loaded(run, file, view), dict)


def test_times_may_have_a_unit(run: Any, file: str) -> None:
    for unit, bare in [("20ms", "0.02"), ("0.0001m", "0.006"), ("1s", "1"), ("-1", "-1")]:
        assert loaded(run, file, "tree", "--until", unit) == loaded(run, file, "tree", "--to", bare)
    code, out, err = run(file, "tree", "--from", "10m")
    assert (code, out) == (2, "")
    assert err == "sonde: --from 10m is beyond the end of the recording, which lasts 1 s\n"


def test_options_reach_the_view(run: Any, file: str) -> None:
    assert loaded(run, file, "tree")["total"] == 40 * MS
    assert loaded(run, file, "tree", "--running")["total"] == 40 * MS
    assert loaded(run, file, "tree", "--waiting")["total"] == 60 * MS
    assert loaded(run, file, "tree", "--wall")["total"] == 100 * MS
    assert len(loaded(run, file, "tree")["nodes"]) == 3
    assert len(loaded(run, file, "tree", "--merge-lines")["nodes"]) == 2
    assert loaded(run, file, "flat", "--thread", "worker")["total"] == 10 * MS
    assert loaded(run, file, "flat", "--thread", "1000")["total"] == 30 * MS
    assert loaded(run, file, "flat", "--process", "100")["total"] == 40 * MS
    assert len(loaded(run, file, "flat", "--top", "1")["rows"]) == 1
    assert loaded(run, file, "flat", "--from", "0.02")["total"] == 30 * MS
    assert loaded(run, file, "flat", "--to", "0.02")["total"] == 10 * MS
    assert loaded(run, file, "flat", "--wall", "--from", ".05", "--to", "0.07")["total"] == 20 * MS


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["treee"], "invalid view 'treee' (did you mean tree?); valid views: summary, tree, "),
        (["tree", "--top", "many"], "invalid --top 'many'; give a number of rows, an integer of "),
        (
            ["tree", "--top", "0"],
            "invalid --top '0'; give a number of rows, an integer of at least 1",
        ),
        (["tree", "--top", "-3"], "invalid --top '-3'; give a number of rows, an integer of "),
        (["tree", "--top", "²"], "invalid --top '²'; give a number of rows, an integer of "),
        (
            ["tree", "--process", "me"],
            "invalid --process 'me'; give a PID, an integer of at least 1",
        ),
        (["tree", "--from", "soon"], "invalid --from 'soon'; give a time in seconds"),
        (["tree", "--to", "1x"], "invalid --to '1x'; give a time in seconds, or with a unit such "),
        (["tree", "--from", "inf"], "invalid time inf; give a time range in seconds"),
        (["tree", "--from", "2", "--to", "1"], "the time range is empty: its end, 1 s, must be "),
        (["tree", "--wall", "--waiting"], "--waiting and --wall cannot be combined"),
        (["locks", "--mine"], "--mine does not apply to locks; valid views: tree, flat, lines"),
        (["lines", "--vm-frames"], "--vm-frames does not apply to lines; valid views: tree, flat"),
        (["flat", "--mine", "--vm-frames"], "--vm-frames does not apply to flat --mine; valid "),
        (["flat", "--from", "1", "--skip-startup"], "--from and --skip-startup cannot be combined"),
        (
            ["waits", "--skip-startup"],
            "waits shows one moment; give --at instead of --skip-startup",
        ),
        (["quality", "--skip-startup"], "quality describes the whole recording; leave out the "),
        (["hot", "--skip-startup"], "hot describes the whole session; leave out the options "),
        (["flat", "--merge-lines"], "--merge-lines does not apply to flat; valid view: tree"),
        (["flat", "--growth"], "--growth does not apply to flat; valid view: objects"),
        (["objects", "--at", "1", "--high-water"], "--at and --high-water cannot be combined"),
        (["objects", "--at", "1", "--to", "2"], "--at shows one moment; leave out --from and --to"),
        (["objects", "--span", "x"], "objects are in no span; leave out --span, --attribute and "),
        (["tree", "--memory", "freed"], "invalid --memory 'freed'; valid values: allocated, alive"),
        (["locks", "--memory", "alive"], "--memory does not apply to locks; valid views: tree, "),
        (["tree", "--memory", "alive", "--wall"], "--memory and --wall cannot be combined"),
        (["summary", "--wall"], "--wall does not apply to summary; valid views: tree, flat, lines"),
        (
            ["quality", "--thread", "x"],
            "quality describes the whole recording; leave out the options ",
        ),
        (
            ["quality", "--top", "3"],
            "quality describes the whole recording; leave out the options ",
        ),
    ],
)
def test_a_wrong_call_is_answered_in_a_sentence(
    run: Any, tmp_path: Path, args: list[str], said: str
) -> None:
    """Before the file is even looked at: it need not exist."""
    code, out, err = run(str(tmp_path / "none.sonde"), *args)
    assert (code, out) == (2, "")
    assert err.startswith(f"sonde: {said}")
    assert err.count("\n") == 1


def test_own_code(run: Any, tmp_path: Path) -> None:
    make = Maker()
    make.define("count", "/venv/lib/python3.12/site-packages/orm/query.py", 20)
    make.sample("main:3 > books:7 > count:21", 30 * MS)
    make.sample("main:3 > books:8", 10 * MS)
    make.sample(None, 10 * MS)
    file = make.write(str(tmp_path / "own.sonde"))
    row = loaded(run, file, "flat", "--mine")["rows"][0]
    assert (row["name"], row["self"], row["calls"][0]["name"]) == ("books", 40 * MS, "count")
    assert loaded(run, file)["mine"][0] == row
    assert loaded(run, file, "tree", "--mine")["nodes"][2]["library"] is True
    assert loaded(run, file, "lines", "--mine")["rows"][0]["self"] == 30 * MS
    text = run(file)[1]
    assert "Your top functions, with the libraries they call" in text
    assert "books → count" in text
    text = run(file, "flat", "--mine")[1]
    assert "→ count" in text
    assert "[no code of yours]" in text
    assert "→ count" in run(file, "tree", "--mine")[1]


def test_skip_startup(run: Any, tmp_path: Path) -> None:
    make = Maker()
    make.threads["MainThread"] = [0, 100, 0, -1, -1]
    make.define("load", "<frozen importlib._bootstrap>", 1349)
    for _ in range(10):
        make.sample("main:1 > load:1360")
    for _ in range(30):
        make.sample("main:2")
    file = make.write(str(tmp_path / "start.sonde"))
    assert loaded(run, file, "flat", "--skip-startup")["total"] == 30 * MS
    assert loaded(run, file, "--skip-startup")["start_up"] is None
    said = "Start-up: 10.0 ms (25 % of the on-CPU time, mostly imports); --skip-startup"
    assert said in " ".join(run(file)[1].split())
    for view in ("tree", "lines", "locks", "lock-table", "threads", "spans", "objects", "calls"):
        assert run(file, view, "--skip-startup")[0] == 0
    code, out, err = run(file, "flat", "--skip-startup", "--to", "0.005")
    assert (code, out) == (2, "")
    assert err == "sonde: the time range is empty: the start-up ends at 0.01 s\n"


def test_a_recording_without_a_start_up(run: Any, file: str) -> None:
    code, out, err = run(file, "flat", "--skip-startup")
    assert (code, out) == (2, "")
    assert err == f"sonde: {file} has no start-up; leave out --skip-startup\n"


def test_an_unknown_thread_or_process(run: Any, file: str) -> None:
    code, _, err = run(file, "tree", "--thread", "nobody")
    assert code == 2
    assert err == f"sonde: no thread 'nobody' in {file}; it has MainThread, worker\n"
    code, _, err = run(file, "tree", "--process", "7")
    assert code == 2
    assert err == f"sonde: no process 7 in {file}; it has 100\n"


def test_a_file_that_is_not_there(run: Any, tmp_path: Path) -> None:
    missing = tmp_path / "none.sonde"
    code, out, err = run(str(missing))
    assert (code, out) == (1, "")
    assert str(missing) in err
    assert err.count("\n") == 1


def test_a_file_that_is_no_recording(run: Any, tmp_path: Path) -> None:
    other = tmp_path / "other.sonde"
    other.write_text("hello")
    code, out, err = run(str(other), "tree", "--json")
    assert (code, out) == (1, "")
    assert err.startswith("sonde: ")
    assert err.count("\n") == 1


def test_a_recording_cut_off_is_shown_with_a_word(run: Any, file: str) -> None:
    with open(file, "rb") as whole:
        data = whole.read()
    with open(file, "wb") as torn:
        torn.write(data[:-10])
    code, out, err = run(file, "flat")
    assert code == 0
    assert "work" in out
    assert err.startswith(f"sonde: {file} is cut off after ")


def test_nothing_to_show_says_why(run: Any, tmp_path: Path) -> None:
    make = Maker()
    make.sample("main:3")
    file = make.write(str(tmp_path / "app.sonde"))
    code, out, _ = run(file, "tree", "--waiting")
    assert code == 0
    assert out == "No off-CPU time was recorded; record it with: sonde run --what +waits …\n"
    assert (
        run(file, "tree", "--from", "0.5")[1] == "No on-CPU time in this part of the recording.\n"
    )
    assert loaded(run, file, "tree", "--waiting") == {"unit": "ns", "total": 0, "nodes": []}


def test_json_survives_half_characters(run: Any, tmp_path: Path) -> None:
    make = Maker()
    make.define("f", "/app/\udcff.py", 1)
    make.sample("f:3")
    file = make.write(str(tmp_path / "app.sonde"))
    assert len(loaded(run, file, "tree")["nodes"]) == 1


@pytest.mark.parametrize(
    "asked", [("flat", "--from", "99"), ("waits", "--at", "99"), ("tree", "--from", "1.5")]
)
def test_a_moment_after_the_end(run: Any, file: str, asked: tuple[str, ...]) -> None:
    code, out, err = run(file, *asked)
    assert (code, out) == (2, "")
    assert "is beyond the end of the recording, which lasts 1 s" in err


def test_wall_time_without_waits_says_so(run: Any, tmp_path: Path) -> None:
    make = Maker(what=["cpu"])
    make.sample("main:3 > work:12", 30 * MS)
    lacking = make.write(str(tmp_path / "cpu.sonde"))
    code, out, _ = run(lacking, "tree", "--wall")
    assert code == 0
    assert out.startswith("Waits were not recorded")


def test_wall_time_with_waits_needs_no_word(run: Any, file: str) -> None:
    assert "not recorded" not in run(file, "tree", "--wall")[1]


def test_a_suggested_command_is_whole(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 20)
    folder.mkdir()
    make = Maker()
    make.quality = dict(GOOD)
    for _ in range(300):
        make.sample("main:3 > work:12")
    path = make.write(str(folder / "app.sonde"))
    _, out, _ = run(path)
    assert f"     sonde report {path} flat --top 10\n" in out


def test_samples_on_cpu_and_waits_are_told_apart(run: Any, file: str) -> None:
    taken = GOOD["taken"]
    _, out, _ = run(file)
    assert "2 CPU samples" in out
    assert f"{taken:,} samples taken" in out


def test_chained_stacks_have_no_addresses(run: Any, tmp_path: Path) -> None:
    from sonde.recording.write.writer import Writer

    path = tmp_path / "chained.sonde"
    writer = Writer(path, {"pid": 1})
    writer.append("processes", 1, 0, "cpython", "3.12.1", "/usr/bin/python3", ["a"], 0)
    writer.append("threads", 0, 1, "main", 0)
    writer.append("functions", "work", "/a.py", 1, "cpython")
    writer.append("chain_nodes", 0, 0)
    writer.append("links", 0, -1, 0)
    writer.append("events", "page-faults", 1)
    writer.append("chained", 0, 1, 0, 1, 1, 0)
    writer.close({})
    code, _, err = run(str(path), "data")
    assert code == 1
    assert "--stacks whole" in err

"""Verbs without a recording take the newest of the working directory, and say which."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sonde.cli.main import main
from sonde.cli.shared.newest_recording import recordings, stem
from synthetic import MS, Maker


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*args: str) -> tuple[int, str, str]:
        code = main(args)
        return code, *capsys.readouterr()

    return call


def recorded(name: str, function: str, age: int) -> None:
    """A recording that is so many seconds old."""
    make = Maker()
    make.sample(f"main:3 > {function}:12", 30 * MS)
    make.write(name)
    os.utime(name, (1_800_000_000 - age,) * 2)


@pytest.fixture
def two(folder: Path) -> None:
    # By name the older one comes last.
    recorded("z.sonde", "older", 60)
    recorded("a.sonde", "newer", 0)
    # Neither of these is a recording, and both are newer.
    (folder / "notes.sonde").write_text("not a recording")
    (folder / "folder.sonde").mkdir()


@pytest.mark.usefixtures("two")
def test_report_takes_the_newest(run: Any) -> None:
    code, out, err = run("report")
    assert (code, err) == (0, "sonde: reading a.sonde, the newest recording here\n")
    assert "newer" in out
    code, out, err = run("report", "flat", "--json")
    assert "newer" in {row["name"] for row in json.loads(out)["rows"]}
    assert err.count("\n") == 1


@pytest.mark.usefixtures("two")
def test_a_folder_of_the_program_is_not_taken_for_recordings(run: Any, folder: Path) -> None:
    (folder / "tree").mkdir()
    assert run("report", "tree")[2] == "sonde: reading a.sonde, the newest recording here\n"
    Path("a.sonde").rename("tree/a.sonde")
    assert run("report", "tree")[2] == ""


@pytest.mark.usefixtures("two")
def test_what_is_neither_a_recording_nor_a_view(run: Any) -> None:
    code, out, err = run("report", "nonsense")
    assert (code, out) == (2, "")
    assert err.startswith("sonde: nonsense is neither a recording nor a view; valid views: summary")
    assert run("report", "c.sonde") == (1, "", "sonde: c.sonde does not exist\n")


@pytest.mark.usefixtures("two")
def test_view_and_export_take_the_newest(run: Any, folder: Path) -> None:
    says = "sonde: reading a.sonde, the newest recording here\nsonde: wrote "
    assert run("export", "--to", "collapsed") == (0, "", f"{says}a.collapsed.txt\n")
    assert "newer" in (folder / "a.collapsed.txt").read_text()
    assert run("view", "--html", "out.html") == (0, "", f"{says}out.html\n")


@pytest.mark.usefixtures("two")
def test_diff_compares_the_newest_two_the_older_first(run: Any) -> None:
    code, out, err = run("diff", "--json")
    assert (code, err) == (0, "sonde: comparing z.sonde with the newer a.sonde\n")
    change = {row["name"]: row["delta"] for row in json.loads(out)["rows"]}
    assert (change["older"], change["newer"]) == (-30 * MS, 30 * MS)


@pytest.mark.usefixtures("two")
def test_diff_compares_one_file_with_the_newest_other(run: Any) -> None:
    assert run("diff", "z.sonde")[2] == "sonde: reading a.sonde, the newest recording here\n"
    assert run("diff", "./a.sonde")[2] == "sonde: reading z.sonde, the newest recording here\n"


def test_segments_are_one_recording(run: Any, folder: Path) -> None:
    for number in (1, 2):
        recorded(f"app[1].{number:04d}.sonde", "work", 60 - number)
    recorded("single.0001.sonde", "work", 50)
    assert recordings() == ["single.0001.sonde", "app[[]1].*.sonde"]
    Path("single.0001.sonde").unlink()
    assert run("diff", "app[1].0001.sonde")[0] == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["report"], "no recording given, and the working directory has none; record a program"),
        (["report", "tree"], "no recording given, and the working directory has none"),
        (["view"], "no recording given, and the working directory has none"),
        (["export", "--to", "pprof"], "no recording given, and the working directory has none"),
        (["diff"], "the working directory has no recording; give two: sonde diff BASE NEW"),
        (["diff", "b.sonde"], "the working directory has no recording to compare b.sonde with"),
    ],
)
def test_there_is_none(run: Any, folder: Path, args: list[str], says: str) -> None:
    code, out, err = run(*args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"sonde: {says}")


def test_there_is_only_one(run: Any, folder: Path) -> None:
    recorded("a.sonde", "work", 0)
    assert "has one recording only; give two" in run("diff")[2]
    assert "no recording to compare a.sonde with" in run("diff", "a.sonde")[2]


def test_a_file_made_of_segments_is_named_after_them() -> None:
    names = {"x/app.sonde": "app", "app.*.sonde": "app", "profiles/": "profiles", "a.b": "a.b"}
    assert {name: stem(name) for name in names} == names

"""`sonde heap` and `sonde report FILE heap`, with heap dumps put together here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from heap.made_up import small
from sonde.cli.main import main
from sonde.heap import hprof, snapshot_file


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "app.hprof"
    path.write_bytes(small().bytes())
    return str(path)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], "app.Node[]"),
        (["--path", "app.Node"], ".all app.Node[]"),
        (["--dominators"], "class app.Node"),
        (["--duplicates"], "Equal values take"),
        (["--find", "type=Node,size>1"], "2 objects, 48 B"),
        (["--find", "Nothing"], "No object that is alive matches"),
    ],
)
def test_each_question(
    dump: str, options: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", dump, "heap", *options]) == 0
    assert shown in capsys.readouterr().out
    assert main(["report", dump, "heap", "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)


def test_a_dump_needs_no_view(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", dump, "--json"]) == 0
    keys = {"objects", "bytes", "unreachable_objects", "unreachable_bytes", "rows"}
    assert json.loads(capsys.readouterr().out).keys() == keys


def test_the_command_that_is_suggested_runs(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", dump]) == 0
    suggested = capsys.readouterr().out.splitlines()[-1].split()
    assert suggested[:2] == ["sonde", "report"]
    assert main(suggested[1:]) == 0
    assert "2 objects of app.Node keep" in capsys.readouterr().out


def test_top_bounds_the_dominators(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    def rows(*options: str) -> int:
        assert main(["report", dump, "heap", "--dominators", "--json", *options]) == 0
        return len(json.loads(capsys.readouterr().out)["rows"])

    assert rows() == 4
    # The largest object, and the largest type of the others.
    assert rows("--top", "1") == 2


def test_diff(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = small()
    more.instance(0x500, 0x20, more.id(0x100) + bytes(4))
    more.root(0x500)
    later = tmp_path / "later.hprof"
    later.write_bytes(more.bytes())
    assert main(["heap", "diff", dump, str(later), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["count_delta"], result["bytes_delta"]) == (1, 24)
    added = {"type": "app.Node", "holder": "unknown root", "count_delta": 1, "bytes_delta": 24}
    assert added in result["rows"]
    assert main(["heap", "diff", dump, dump]) == 0
    assert "Both heaps hold the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["heap", "--thread", "main"], "--thread does not apply to heap"),
        (["heap", "--path", "x", "--dominators"], "--path and --dominators cannot be combined"),
        (["flat"], "is a heap snapshot; its only view is heap"),
        (["heap", "--path", "Mode"], "no type 'Mode'"),
        (["heap", "--find", "size=x"], "invalid --find size 'x'"),
        (["heap", "--find", "size>"], "valid conditions: type=GLOB"),
        (["heap", "--find", "a,,b"], "valid conditions: type=GLOB"),
        (["heap", "--find", "type>a"], "type cannot be compared by >"),
        (["heap", "--find", "a", "--duplicates"], "cannot be combined"),
    ],
)
def test_what_does_not_apply(
    dump: str, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", dump, *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_what_is_no_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.sonde"
    path.write_bytes(b"anything")
    assert main(["report", str(path), "heap"]) == 2
    assert "has no heap" in capsys.readouterr().err
    assert main(["report", str(path), "flat", "--dominators"]) == 2
    assert "--dominators does not apply to flat" in capsys.readouterr().err
    missing = str(tmp_path / "missing.hprof")
    for words in (["report", missing, "heap"], ["heap", "diff", missing, missing]):
        assert main(words) == 1
        assert capsys.readouterr().err == f"sonde: {missing}: no such file or directory\n"


def test_without_a_file_the_newest_snapshot_is_taken(
    dump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(["report", "heap"]) == 2
    assert "no heap snapshot given, and the working directory has none" in capsys.readouterr().err
    for age, name in enumerate(("new", "old")):
        snapshot_file.write(hprof.read(dump), f"{name}.sonde")
        os.utime(f"{name}.sonde", (10**9 - age, 10**9 - age))
    assert main(["report", "heap", "--top", "1"]) == 0
    out, errors = capsys.readouterr()
    assert "7 objects" in out
    assert errors == "sonde: reading new.sonde, the newest heap snapshot here\n"
    # It is no recording.
    assert main(["report"]) == 2
    assert "no recording given" in capsys.readouterr().err


def test_other_commands_say_that_it_is_a_heap(
    dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "heap.sonde")
    snapshot_file.write(hprof.read(dump), path)
    out = str(tmp_path / "out")
    for words in (["export", path, "--to", "collapsed", "-o", out], ["diff", path, path]):
        assert main(words) == 1
        assert f"show it with: sonde report {path} heap" in capsys.readouterr().err
    assert main(["report", path, "quality"]) == 2
    assert "its only view is heap" in capsys.readouterr().err
    assert main(["heap", "diff", path, dump]) == 0
    assert "Both heaps hold the same" in capsys.readouterr().out

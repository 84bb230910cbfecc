"""`sonde export` from a file to a file."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from exports.made import everything
from sonde.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "recordings").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return everything().write(str(tmp_path / "recordings" / "app.sonde"))


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    def call(*args: str) -> tuple[int, bytes, str]:
        code = main(["export", *args])
        out, err = capsysbinary.readouterr()
        return code, out, err.decode()

    return call


@pytest.mark.parametrize(
    ("to", "name"),
    [
        ("collapsed", "app.collapsed.txt"),
        ("speedscope", "app.speedscope.json"),
        ("pprof", "app.pb.gz"),
        ("firefox", "app.firefox.json.gz"),
    ],
)
def test_a_name_is_found_in_the_working_directory(
    run: Any, file: str, tmp_path: Path, to: str, name: str
) -> None:
    assert run(file, "--to", to) == (0, b"", f"sonde: wrote {name}\n")
    assert os.listdir(tmp_path / "here") == [name]
    assert (tmp_path / "here" / name).stat().st_size > 0


def test_a_name_of_ones_own(run: Any, file: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert run(file, "--to", "speedscope", "-o", str(out))[0] == 0
    assert json.loads(out.read_text())["exporter"] == "sonde"


def test_stdout(run: Any, file: str, tmp_path: Path) -> None:
    code, out, err = run(file, "--to", "collapsed", "-o", "-", "--thread", "worker")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith(b"fib (/app/app.py:2)")
    code, out, err = run(file, "--to", "firefox", "-o", "-")
    assert json.loads(gzip.decompress(out))["meta"]["product"] == "app.py"
    assert os.listdir(tmp_path / "here") == []


def test_the_part_and_the_time_are_chosen_as_in_reports(run: Any, file: str) -> None:
    def lines(*args: str) -> list[bytes]:
        code, out, _ = run(file, "--to", "collapsed", "-o", "-", *args)
        assert code == 0
        return out.splitlines()

    assert len(lines()) == 4
    assert len(lines("--waiting")) == 2
    assert len(lines("--wall")) == 6
    assert len(lines("--process", "200")) == 1
    assert len(lines("--from", "0.0045", "--until", "0.0055")) == 2


def test_files_appear_whole_or_not_at_all(run: Any, file: str, monkeypatch: Any) -> None:
    from sonde.exports import collapsed

    def fail(recording: Any, selection: Any, out: Any) -> None:
        out.write(b"half of it")
        raise OSError(28, "No space left on device")

    with open("app.collapsed.txt", "w") as old:
        old.write("the old one")
    monkeypatch.setattr(collapsed, "write", fail)
    code, _, err = run(file, "--to", "collapsed")
    assert (code, err) == (
        1,
        "sonde: cannot write app.collapsed.txt: no space left on device\n",
    )
    assert os.listdir(".") == ["app.collapsed.txt"]
    with open("app.collapsed.txt") as kept:
        assert kept.read() == "the old one"


def test_files_have_the_users_usual_rights(run: Any, file: str) -> None:
    old = os.umask(0o027)
    try:
        run(file, "--to", "collapsed")
    finally:
        os.umask(old)
    assert os.stat("app.collapsed.txt").st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "formats",
    [
        ("-f", "collapsed,speedscope,pprof"),
        ("--format", "collapsed", "--to", "speedscope", "-f", "pprof"),
        ("-f", "collapsed, speedscope", "-f", "pprof,collapsed"),
    ],
)
def test_several_formats_at_once(run: Any, file: str, formats: tuple[str, ...]) -> None:
    names = ["app.collapsed.txt", "app.speedscope.json", "app.pb.gz"]
    assert run(file, *formats) == (0, b"", "".join(f"sonde: wrote {name}\n" for name in names))
    assert sorted(os.listdir(".")) == sorted(names)
    alone = run(file, "-f", "collapsed", "-o", "-")[1]
    with open("app.collapsed.txt", "rb") as written:
        assert written.read() == alone


def test_several_formats_into_a_folder(run: Any, file: str) -> None:
    for _ in range(2):  # the second time it is there
        code, _, err = run(file, "-f", "collapsed,pprof", "-o", "new/exported", "--wall")
        assert (code, err) == (
            0,
            "sonde: wrote new/exported/app.collapsed.txt\nsonde: wrote new/exported/app.pb.gz\n",
        )
    assert sorted(os.listdir("new/exported")) == ["app.collapsed.txt", "app.pb.gz"]


def test_a_device_is_written_to(run: Any, file: str) -> None:
    assert run(file, "--to", "pprof", "-o", "/dev/null")[0] == 0
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--to", "pdf"], 2, "invalid format 'pdf'; valid formats: collapsed, speedscope, "),
        (["--to", ","], 2, "no format given; give one with -f FORMAT"),
        (["-f", "pprof,pdf"], 2, "invalid format 'pdf'; valid formats: collapsed, speedscope, "),
        (["-f", "pprof,otlp", "-o", "-"], 2, "stdout takes one format; give a directory for "),
        (["-f", "pprof,otlp", "-o", "/dev/null"], 2, "/dev/null is no directory; several formats"),
        (["-f", "pprof,parquet", "--wall"], 2, "parquet exports the whole recording; leave out "),
        (["--to", "pprof", "-o", "/none/x"], 1, "cannot write /none/x: no such file or "),
        (["--to", "pprof", "-o", "."], 1, "cannot write .: is a directory"),
        (["--to", "pprof", "--thread", "x"], 2, "no thread 'x' in "),
        (["--to", "pprof", "--wall", "--running"], 2, "--running and --wall cannot be combined"),
        (["--to", "pprof", "--until", "x"], 2, "invalid --until 'x'; give a time in seconds"),
    ],
)
def test_errors_are_one_sentence(
    run: Any, file: str, args: list[str], code: int, said: str
) -> None:
    got, out, err = run(file, *args)
    assert (got, out) == (code, b"")
    assert err.startswith(f"sonde: {said}")
    assert err.count("\n") == 1
    assert os.listdir(".") == []


def test_the_recording_is_not_overwritten(run: Any, file: str) -> None:
    with open(file, "rb") as recording:
        before = recording.read()
    code, _, err = run(file, "--to", "pprof", "-o", file)
    assert (code, err) == (
        2,
        f"sonde: {file} is the recording itself; give another file with -o OUT\n",
    )
    with open(file, "rb") as recording:
        assert recording.read() == before

"""`sonde report` of locks: its options, and what they refuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sonde.cli.main import main
from synthetic import MS, Maker
from views.locks.test_locks import products
from views.test_quality import GOOD

if TYPE_CHECKING:
    from pathlib import Path

VIEWS = ["locks", "lock-table", "waits", "summary", "threads"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    make = products()
    make.quality = dict(GOOD)
    make.sample("main:3 > work:12", 30 * MS)
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


@pytest.mark.parametrize("view", VIEWS)
def test_text_and_json(run: Any, file: str, view: str) -> None:
    code, out, err = run(file, view)
    assert (code, err) == (0, "")
    # Commands to copy are whole; everything else fits.
    prose = [line for line in out.splitlines() if file not in line]
    assert max(map(len, prose)) <= 80
    assert isinstance(loaded(run, file, view), dict)


def test_locks_by_aspects(run: Any, file: str) -> None:
    found = loaded(run, file, "locks", "--by", "owner_thread,kind")
    assert found["by"] == ["owner_thread", "kind"]
    assert sum(row["wait_ns"] for row in found["rows"]) == found["total_ns"] == 99 * MS
    assert found["rows"][0]["key"] == {"owner_thread": "w2"}
    assert found["rows"][0]["children"][0]["key"] == {"kind": "lock"}


def test_a_part_of_the_recording(run: Any, file: str) -> None:
    found = loaded(run, file, "locks", "--thread", "w3", "--from", "0.07", "--to", "0.08")
    assert found["total_ns"] == 10 * MS
    assert loaded(run, file, "lock-table", "--top", "1")["rows"][0]["kind"] == "lock"


def test_waits_at_a_moment(run: Any, file: str) -> None:
    found = loaded(run, file, "waits", "--at", "0.02")
    assert found["at_ns"] == 20 * MS
    (wait,) = found["waits"]
    assert (wait["thread"], wait["owner_thread"], wait["kind"]) == ("w1", "w2", "lock")
    assert wait["owner_chain"][-2]["name"] == "query_by_name"


def test_waiting_is_in_the_summary(run: Any, file: str) -> None:
    assert loaded(run, file)["wait_ns"] == {"gil": 4 * MS, "lock": 95 * MS}
    assert "waited 95.0 ms for locks and 4.00 ms for the GIL." in run(file)[1].replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("locks", "--by", "colour"), "owner_chain"),
        (("locks", "--by", ""), "at least one"),
        (("locks", "--by", "kind,kind"), "only once"),
        (("tree", "--by", "kind"), "--by does not apply to tree; valid views: locks"),
        (("locks", "--at", "1"), "--at does not apply to locks; valid views: waits, objects"),
        (("waits", "--at", "soon"), "seconds"),
        (("waits", "--at", "-1"), "--at"),
        (("waits", "--at", "nan"), "--at"),
        (("waits", "--from", "1"), "--at"),
        (("locks", "--waiting"), "--waiting"),
        (("locks", "--thread", "nobody"), "no thread"),
    ],
)
def test_wrong_calls(run: Any, file: str, options: tuple[str, ...], word: str) -> None:
    code, out, err = run(file, *options)
    assert (code, out) == (2, "")
    assert err.startswith("sonde: ")
    assert word in err
    assert err.count("\n") == 1


def test_a_recording_without_locks_says_so(run: Any, tmp_path: Path) -> None:
    make = Maker(what=["cpu"])
    make.sample("main:3", MS)
    file = make.write(str(tmp_path / "app.sonde"))
    for view in ("locks", "lock-table", "waits"):
        assert "--what +locks" in run(file, view)[1]
    assert loaded(run, file, "locks")["rows"] == []


def test_a_recording_in_which_nobody_waited(run: Any, tmp_path: Path) -> None:
    make = Maker(what=["cpu", "locks"])
    make.sample("main:3", MS)
    file = make.write(str(tmp_path / "app.sonde"))
    assert run(file, "locks")[1].startswith("No thread waited for a lock")

"""Flat, lines and threads on a page of 80 columns."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reports.page import printed
from sonde.reports import threads as threads_report
from sonde.reports.stacks import flat as flat_report
from sonde.reports.stacks import lines as lines_report
from sonde.reports.stacks.lines import Sources
from sonde.views.stacks.flat import flat
from sonde.views.stacks.lines import lines
from sonde.views.threads import threads
from synthetic import MS, Maker

if TYPE_CHECKING:
    from pathlib import Path


def test_flat() -> None:
    make = Maker()
    make.sample("main:3 > work:12", 1_500 * MS)
    make.sample("main:3 > len", 500 * MS)
    result = flat(make.recording())
    assert printed(lambda out: flat_report.render(result, out)) == [
        "     self             total          function",
        "   1.50 s  75.0 %    1.50 s  75.0 %  work  /app/app.py:1",
        "   500 ms  25.0 %    500 ms  25.0 %  len  <built-in>",
        "      0 s   0.0 %    2.00 s 100.0 %  main  /app/app.py:1",
    ]


def test_flat_shows_twenty_rows_unless_told() -> None:
    make = Maker()
    for i in range(30):
        make.sample(f"f{i}:1")
    result = flat(make.recording())
    found = printed(lambda out: flat_report.render(result, out))
    assert len(found) == 1 + 20 + 1
    assert found[-1].strip() == "… 10 more functions"
    assert len(printed(lambda out: flat_report.render(result, out, top=30))) == 31


def test_lines_with_their_source(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_text("def work():\n    return sum(range(10))\n")
    make = Maker()
    make.define("work", str(source), 1)
    make.sample("work:2", 1_500 * MS)
    make.sample("work:1", 500 * MS)
    make.sample("gone:7", 1_000 * MS)
    result = lines(make.recording())
    previous = os.getcwd()
    os.chdir(tmp_path)
    try:
        found = printed(lambda out: lines_report.render(result, out))
    finally:
        os.chdir(previous)
    assert found == [
        "     self             total  line           source",
        "   1.50 s  50.0 %    1.50 s  app.py:2       return sum(range(10))",
        "   1.00 s  33.3 %    1.00 s  /app/app.py:7",
        "   500 ms  16.7 %    500 ms  app.py:1       def work():",
    ]


def test_source_changed_since_is_not_shown(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_text("x = 1\n")
    os.utime(source, (2_000, 2_000))
    assert Sources(None).line(str(source), 1) == "x = 1"
    assert Sources(3_000.0).line(str(source), 1) == "x = 1"
    assert Sources(1_000.0).line(str(source), 1) == ""


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    sources = Sources(None)
    for file in (str(pipe), str(tmp_path), "/dev/zero", "", "a\0b", "<string>"):
        assert sources.line(file, 1) == ""


def test_source_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_bytes(b"x = '\x1b[2J\xff'\n")
    assert Sources(None).line(str(source), 1) == "x = '\\x1b[2J\ufffd'"


def test_lines_beyond_the_end_are_empty(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_text("x = 1\n")
    assert Sources(None).line(str(source), 0) == ""
    assert Sources(None).line(str(source), 99) == ""


def test_threads() -> None:
    make = Maker(duration_ns=2_000 * MS)
    make.thread("MainThread", cpu=1_000 * MS)
    make.sample("a:1", 300 * MS)
    make.sample("a:1", 500 * MS, state=1)
    make.sample("b:1", 40 * MS, thread="worker with a name that is longer than its room")
    result = threads(make.recording())
    assert printed(lambda out: threads_report.render(result, out)) == [
        "  process      tid      life       cpu   off-CPU  thread",
        "      100     1000    2.00 s    1.00 s    500 ms  MainThread",
        "      100     1001    2.00 s   40.0 ms            worker with a n… than its room",
    ]


def test_columns_of_threads_stay_apart() -> None:
    minute = 60_000 * MS
    make = Maker(duration_ns=130 * minute)
    make.thread("slow", end=127 * minute, cpu=60 * minute)
    make.threads["slow"][1] = 2_233_667_001
    make.sample("main:1", 60 * minute, thread="slow", time=60 * minute)
    make.sample("main:1", 66 * minute + 40_000 * MS, thread="slow", state=1)
    result = threads(make.recording())
    _, row = printed(lambda out: threads_report.render(result, out))[:2]
    words = row.split()
    assert words[:2] == ["100", "2233667001"]
    assert words[2:] == ["127", "min", "60", "min", "67", "min", "slow"]

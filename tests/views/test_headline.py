"""The first answer of a recording: its top function, its top blocker, its quality."""

from __future__ import annotations

from sonde.reports.headline import lines
from sonde.views.headline import headline
from synthetic import MS, Maker
from views.test_quality import GOOD

LIBRARY = "/usr/lib/python3.12/site-packages/library.py"


def test_libraries_count_for_the_function_that_calls_them() -> None:
    make = Maker()
    make.define("parse", LIBRARY, 1)
    make.sample("main:3 > load:5 > parse:12", 60 * MS)
    make.sample("main:3 > other:7", 40 * MS)
    found = headline(make.recording())
    assert found.function is not None
    assert (found.function.function.name, found.function.share) == ("load", 0.6)
    assert lines(found)[0] == "top function: load (/app/app.py:1), 60 % of the CPU time"


def test_who_holds_what_others_wait_for() -> None:
    make = Maker(what=["cpu", "locks"])
    make.quality = dict(GOOD)
    make.thread("MainThread")
    make.thread("worker")
    make.sample("main:3", 40 * MS)
    make.wait("a", "worker", "MainThread", start=100 * MS, end=400 * MS, holds="main:3 > keep:5")
    found = headline(make.recording())
    assert found.blocker is not None
    assert found.blocker.wait_ns == 300 * MS
    assert lines(found)[1] == (
        "top blocker: keep (/app/app.py:1) held a lock, others waited 300 ms"
    )


def test_a_short_wait_blocks_nobody() -> None:
    make = Maker(what=["cpu", "locks"])
    make.thread("MainThread")
    make.thread("worker")
    make.sample("main:3", 40 * MS)
    make.wait("a", "worker", "MainThread", start=100 * MS, end=101 * MS, holds="main:3 > keep:5")
    found = headline(make.recording())
    assert found.blocker is None
    assert lines(found)[1] == "top blocker: none; threads hardly waited for locks or the GIL"


def test_locks_that_were_not_recorded() -> None:
    make = Maker(what=["cpu"])
    make.sample("main:3", 40 * MS)
    said = lines(headline(make.recording()))
    assert said[1] == "top blocker: locks were not recorded; record them with --what +locks"


def test_the_quality_names_the_worst_problem() -> None:
    make = Maker()
    make.quality = dict(GOOD)
    for _ in range(400):
        make.sample("main:3", MS)
    sure = "quality: 400 CPU samples, a share of 50 % is accurate to ±5.0 points; "
    assert lines(headline(make.recording()))[2] == f"{sure}no problems found"
    make.quality["lost"] = 100
    said = lines(headline(make.recording()))[2]
    assert said.startswith(f"{sure}1.0 % of the samples were lost: record at a lower --rate")


def test_nothing_of_the_programs_own() -> None:
    make = Maker()
    make.define("parse", LIBRARY, 1)
    make.sample("parse:12", 60 * MS)
    assert lines(headline(make.recording()))[0] == (
        "top function: none of the program's own code was sampled"
    )

"""The tree on a page of 80 columns."""

from __future__ import annotations

from reports.page import printed
from sonde.reports.stacks.tree import render
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.tree import tree
from synthetic import MS, Maker


def lines(make: Maker, selection: Selection | None = None, width: int = 80) -> list[str]:
    result = tree(make.recording(), selection)
    return printed(lambda out: render(result, out), width)


def test_bars_shares_and_indentation() -> None:
    make = Maker()
    make.sample("main:3 > work:12", 50 * MS)
    make.sample("main:3 > other:9", 25 * MS)
    make.sample("main:3", 25 * MS)
    assert lines(make) == [
        "   total              self  function",
        " 100.0 % ████████  25.0 ms  main  /app/app.py:3",
        "  50.0 % ████      50.0 ms   work  /app/app.py:12",
        "  25.0 % ██        25.0 ms   other  /app/app.py:9",
    ]


def test_small_branches_are_folded_and_counted() -> None:
    make = Maker()
    for _ in range(1_000):
        make.sample("main:3 > work:12", MS)
    for i in range(12):
        make.sample(f"main:3 > small{i}:1", MS)
    assert lines(make)[1:] == [
        " 100.0 % ████████           main  /app/app.py:3",
        "  98.8 % ███████▉   1.00 s   work  /app/app.py:12",
        "                             … 12 more below 0.5 %",
    ]


def test_a_long_chain_is_cut_in_its_middle() -> None:
    make = Maker()
    make.sample(" > ".join(f"f{i}:{i + 1}" for i in range(100)), MS)
    found = lines(make)
    assert len(found) == 1 + 6 + 1 + 6
    assert found[7].strip() == "… 88 frames without a branch"
    assert found[-1].endswith("99 f99  /app/app.py:100")


def test_a_chain_of_allowed_length_is_whole() -> None:
    make = Maker()
    make.sample(" > ".join(f"f{i}:1" for i in range(16)), MS)
    assert len(lines(make)) == 17


def test_deeper_than_pythons_recursion() -> None:
    make = Maker()
    make.sample(" > ".join(f"f{i % 7}:{1 + i % 7}" for i in range(3_000)), MS)
    for i in range(0, 3_000, 100):
        make.sample(" > ".join(f"f{j % 7}:{1 + j % 7}" for j in range(i + 1)), MS)
    assert len(lines(make)) > 100


def test_what_rests_on_few_samples_is_folded() -> None:
    make = Maker()
    for _ in range(495):
        make.sample("main:3 > work:12")
    for i in range(5):
        make.sample(f"main:3 > chance:{i + 1}")
    assert [line[28:] for line in lines(make)[1:]] == [
        "main  /app/app.py:3",
        " work  /app/app.py:12",
        " … 5 more below 1.0 %",
    ]


def test_a_wait_is_no_chance() -> None:
    make = Maker()
    make.sample("main:3 > wait:1", 990 * MS, state=1)
    make.sample("main:3 > wait:2", 10 * MS, state=1)
    assert len(lines(make, Selection("waiting"))) == 5


def test_the_import_machinery_is_left_out() -> None:
    make = Maker()
    make.define("_find_and_load", "<frozen importlib._bootstrap>", 1)
    make.define("_call", "<frozen importlib._bootstrap_external>", 1)
    importing = "_find_and_load:5 > _call:6 > exec"
    make.sample(f"main:3 > {importing} > heavy:1 > {importing} > heavier:2", 600 * MS)
    make.sample(f"main:3 > {importing} > light:1", 300 * MS)
    make.sample("main:3 > _find_and_load:5 > _call:6", 100 * MS)
    make.sample("main:3 > exec > run:1", 2_000 * MS)
    make.samples *= 5
    *shown, note = lines(make)[1:]
    assert note == "Frames of the import system are hidden; --json has them."
    assert [line[28:] for line in shown] == [
        "main  /app/app.py:3",
        " exec  <built-in>",
        "  run  /app/app.py:1",
        " _call  <frozen importlib._bootstrap_external>:6",
        "  heavy  /app/app.py:1",
        "   heavier  /app/app.py:2",
        "  light  /app/app.py:1",
    ]


def test_waiting_is_told_by_texture() -> None:
    make = Maker()
    make.sample("main:3 > work:12", 50 * MS)
    make.sample("main:3 > time.sleep", 50 * MS, state=1)
    found = lines(make, Selection("wall"))
    assert found[2:] == [
        "  50.0 % ░░░░      50.0 ms   time.sleep  <built-in>",
        "  50.0 % ████      50.0 ms   work  /app/app.py:12",
        "Bars: █ on-CPU, ░ off-CPU.",
    ]


def test_long_names_do_not_wrap() -> None:
    make = Maker()
    name = "package.module.Class.method.<locals>.inner." + "x" * 100
    make.define(name, "/a/very/long/path/" + "y" * 100 + ".py", 1)
    make.sample(f"{name}:5", MS)
    for width in (60, 80, 120):
        found = lines(make, width=width)
        assert len(found) == 2
        assert "…" in found[1]
        assert "package" in found[1]


def test_names_are_text_and_nothing_else() -> None:
    make = Maker()
    make.define("[bold]x[/bold]\x1b[2J", "/app/[red].py", 1)
    make.sample("[bold]x[/bold]\x1b[2J:5", MS)
    assert lines(make)[1].endswith("[bold]x[/bold]\\x1b[2J  /app/[red].py:5")

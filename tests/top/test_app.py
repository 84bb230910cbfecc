"""`sonde top` as it is used: keys are pressed, and what shows is held against the views."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from attaching import Target, attach, begun, has_agent, until
from launching import TARGETS, TIMEOUT_S, Interpreter
from matrix import OWN
from sonde.record.targets import session_registry
from sonde.recording.reader import read
from sonde.recording.write.writer import Writer
from sonde.top import watched as watched_module
from sonde.top.app import Top
from sonde.top.rows import Rows
from sonde.top.screens import Keys, Processes
from sonde.top.watched import Watched
from sonde.views.locks.lock_table import lock_table
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from sonde.views.threads import threads
from truth.stacks import PROGRAMS

WHAT = ["cpu", "locks"]
SIZE = (80, 24)
IDLE = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is left behind would be found here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextlib.contextmanager
def watching(pid: int, rate: int = 1000) -> Iterator[Watched]:
    seen = Watched(pid, WHAT, rate)
    try:
        yield seen
    finally:
        seen.close()


@contextlib.asynccontextmanager
async def shown(
    seen: Watched, size: tuple[int, int] = SIZE
) -> AsyncIterator[tuple[Top, Pilot[None]]]:
    app = Top(seen, 15)
    async with app.run_test(size=size) as pilot:
        yield app, pilot


async def eventually(pilot: Pilot[None], condition: Callable[[], Any], what: str) -> Any:
    end = asyncio.get_running_loop().time() + TIMEOUT_S
    while not (found := condition()):
        assert asyncio.get_running_loop().time() < end, f"never: {what}"
        await pilot.pause(0.05)
    return found


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def lines(app: Top, table: str) -> list[str]:
    return app.query_one(f"#{table}", Rows).lines


def enough(app: Top) -> bool:
    seen = app.picture
    return seen is not None and seen.flat.samples > 60 and len(seen.locks.rows) > 1


def text_of(app: Top, widget: str) -> str:
    return str(app.query_one(widget).render())


def test_numbers_are_those_of_the_views(any_python: Interpreter, tmp_path: Path) -> None:
    """A process that is recorded already is watched through that recording."""
    path = tmp_path / "x.sonde"
    with Target(any_python, TARGETS / "attached.py", "0") as target:
        recorder = attach(target.pid, path, "--rate", "1000")
        until(lambda: begun(path), "samples", recorder)

        async def test() -> None:
            with watching(target.pid) as seen:
                assert not seen.own
                async with shown(seen) as (app, pilot):
                    await eventually(pilot, lambda: enough(app), "enough samples")
                    await pilot.press("space")
                    frozen, rows = app.picture, lines(app, "functions")
                    assert frozen is not None
                    assert "FROZEN" in app.title_line(80)
                    pictures = app.pictures
                    await pilot.pause(1.2)
                    assert app.picture is frozen
                    assert app.pictures == pictures
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(TIMEOUT_S) == 0
            whole = read(path)
            window = Selection("running", None, target.pid, frozen.start_ns, frozen.end_ns)
            expected = flat(whole, window)
            assert frozen.flat.to_json() == expected.to_json()
            cpu = {row.tid: row.cpu_ns for row in threads(whole, window).rows}
            assert {row.tid: row.cpu_ns for row in frozen.threads.rows} == {
                tid: ns for tid, ns in cpu.items() if tid in {r.tid for r in frozen.threads.rows}
            }
            told = {row.address: (row.waits, row.wait_ns) for row in frozen.locks.rows}
            kept = {r.address: (r.waits, r.wait_ns) for r in lock_table(whole, window).rows}
            lasting = [address for address in told if address is not None]
            assert lasting
            assert {a: told[a] for a in lasting} == {a: kept[a] for a in lasting}
            # And they are what stands on the screen, in the same order.
            for row, line in zip(expected.rows, rows[1:], strict=True):
                share = f"{100 * row.self_ns / expected.total_ns:.1f} %" if row.self_ns else ""
                assert line[:8].strip() in (share, "< 0.1 %")
                assert row.function.name[:6] in line

        run(test)
        assert target.alive


def test_keys(any_python: Interpreter, folder: Path) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:

        async def test() -> None:
            with watching(target.pid) as seen:
                assert seen.own
                async with shown(seen) as (app, pilot):
                    await eventually(pilot, lambda: enough(app), "enough samples")
                    await pilot.press("space")
                    await press_them_all(app, pilot)
                    await pilot.press("q")
                    await pilot.pause()

        run(test)
        until(lambda: not has_agent(target.pid), "the agent has left")
        assert target.alive
        assert list(folder.glob("sonde-*")) == []


async def press_them_all(app: Top, pilot: Pilot[None]) -> None:
    by_self = lines(app, "functions")
    assert "▼self" in by_self[0]
    await pilot.press("s")
    by_total = lines(app, "functions")
    assert "▼total" in by_total[0]
    assert sorted(by_total[1:]) == sorted(by_self[1:])
    await pilot.press("s")
    assert "▼function" in lines(app, "functions")[0]
    await pilot.press("s")
    assert lines(app, "functions") == by_self

    await pilot.press("tab", "s")
    assert "▼waiting" in lines(app, "threads")[0]
    await pilot.press("tab", "s")
    assert "▼waits" in lines(app, "locks")[0]

    await pilot.press("slash", *"LONG_p")
    found = lines(app, "functions")[1:]
    assert found
    assert all("long_part" in line for line in found)
    await pilot.press("enter")
    assert app.search == "LONG_p"
    assert "search" in app.title_line(80)
    await pilot.press("escape")
    assert lines(app, "functions") == by_self

    await pilot.press("l")
    assert any("attached.py:" in line and "range" in line for line in lines(app, "functions"))
    await pilot.press("l")
    assert lines(app, "functions") == by_self

    await pilot.press("z")
    await pilot.pause()
    assert [rows.id for rows in app.query(Rows) if rows.display] == ["functions"]
    await pilot.press("z")
    # The program has no tasks.
    displayed = [rows.id for rows in app.query(Rows) if rows.display]
    assert displayed == ["functions", "threads", "locks"]

    await pilot.press("question_mark")
    assert isinstance(app.screen, Keys)
    await pilot.press("escape")
    assert not isinstance(app.screen, Keys)

    window = app.window_s
    await pilot.press("w")
    assert app.window_s > window
    await pilot.press("space")
    assert "live" in app.title_line(80)


def test_everything_fits_a_small_terminal(any_python: Interpreter) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:

        async def test() -> None:
            with watching(target.pid) as seen:
                async with shown(seen) as (app, pilot):
                    await eventually(pilot, lambda: enough(app), "enough samples")
                    displayed = [rows for rows in app.query(Rows) if rows.display]
                    assert min(rows.size.height for rows in displayed) >= 5
                    for table in ("functions", "threads", "locks"):
                        room = app.query_one(f"#{table}", Rows).room
                        assert all(cell_len(line) <= room for line in lines(app, table)), table
                    said = lambda: " ".join(lines(app, "threads"))  # noqa: E731
                    await eventually(pilot, lambda: "sleeps" in said(), "the dozer sleeps")
                    assert "MainThread" in said()
                    head = text_of(app, "#head")
                    assert "cores" in head
                    assert "none lost" in head
                    await pilot.resize_terminal(50, 12)
                    await pilot.pause(0.2)
                    assert [line for line in lines(app, "functions") if cell_len(line) > 50] == []

        run(test)


def test_the_last_picture_stays_when_the_target_dies(any_python: Interpreter) -> None:
    with Target(any_python, TARGETS / "attached.py", "0") as target:

        async def test() -> None:
            with watching(target.pid) as seen:
                async with shown(seen) as (app, pilot):
                    await eventually(pilot, lambda: enough(app), "enough samples")
                    target.process.kill()
                    await eventually(pilot, lambda: seen.ended, "the end is seen")
                    await pilot.pause(0.8)
                    assert f"process {target.pid} has exited" in text_of(app, "#status")
                    assert "ENDED" in app.title_line(80)
                    assert any("long_part" in line for line in lines(app, "functions"))
                    await pilot.press("l", "s", "space", "space", "w")
                    assert any("attached.py" in line for line in lines(app, "functions"))

        run(test)


def test_another_process(any_python: Interpreter) -> None:
    with (
        Target(any_python, TARGETS / "attached.py", "0") as first,
        Target(any_python, TARGETS / "attached.py", "0") as second,
    ):

        async def test() -> None:
            app = Top(Watched(first.pid, WHAT, 1000), 15)
            try:
                async with app.run_test(size=SIZE) as pilot:
                    await eventually(pilot, lambda: enough(app), "enough samples")
                    await pilot.press("p")
                    await eventually(
                        pilot, lambda: isinstance(app.screen, Processes), "a list of processes"
                    )
                    listed = [pid for pid, _ in app.screen._entries]  # type: ignore[attr-defined]
                    assert listed[0] == first.pid
                    await pilot.press(*["down"] * listed.index(second.pid), "enter")
                    await eventually(pilot, lambda: app.watched.pid == second.pid, "the switch")
                    await eventually(pilot, lambda: enough(app), "samples of the second")
                    assert not has_agent(first.pid)
                    app.switch_to(os.getpid())
                    await pilot.pause()
                    assert "is that of sonde itself" in text_of(app, "#status")
                    assert app.watched.pid == second.pid
            finally:
                app.watched.close()

        run(test)
        assert first.alive
        assert second.alive
        assert not has_agent(second.pid)


def test_nothing_is_made_anew_if_nothing_came(any_python: Interpreter, tmp_path: Path) -> None:
    script = tmp_path / "idle.py"
    script.write_text(IDLE)
    with Target(any_python, script) as target:

        async def test() -> None:
            with watching(target.pid) as seen:
                async with shown(seen) as (app, pilot):
                    await eventually(pilot, lambda: app.picture, "a picture")
                    app.window_s = 1
                    quiet = lambda: app.picture and not app.picture.flat.samples  # noqa: E731
                    await eventually(pilot, lambda: quiet() and not app._pending, "quiet")
                    await pilot.pause(1.5)
                    pictures, at = app.pictures, seen.end_ns
                    await eventually(pilot, lambda: seen.end_ns > at + 3 * 10**9, "time passes")
                    # Old threads may leave the window once; the file has grown twelve times.
                    assert app.pictures - pictures <= 2
                    assert any("waits for I/O" in line for line in lines(app, "threads"))

        run(test)


def test_a_long_watch_fills_no_disk(
    any_python: Interpreter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_module, "MAX_SIZE", 20_000)
    with (
        Target(any_python, TARGETS / "attached.py", "0") as target,
        watching(target.pid) as seen,
    ):
        first = seen.path

        def begun_anew() -> bool:
            seen.poll()
            return seen.path != first

        until(begun_anew, "a new recording")
        monkeypatch.setattr(watched_module, "MAX_SIZE", 1 << 30)
        assert not Path(first).exists()
        until(lambda: seen.poll() and seen.look(10**10).flat.samples, "samples in the new one")
        assert not seen.ended
        seen.close()
        assert not has_agent(target.pid)
        assert target.alive
    assert list(folder.glob("sonde-*")) == []


def test_the_next_part_of_a_recording_is_followed(folder: Path) -> None:
    """A recorder that goes on in another file is this very process, for once."""
    session = folder / "sonde-session"
    session.mkdir()

    def part(number: int) -> Writer:
        path = folder / f"part-{number}.sonde"
        writer = Writer(path, {"duration_ns": number * 10**9})
        writer.append("processes", os.getpid(), 0, "cpython", "3.12", "/p", [], 0)
        writer.flush()
        session_registry.announce(str(session), str(path), [os.getpid()], WHAT)
        return writer

    first = part(1)
    with watching(os.getpid()) as seen:
        assert not seen.own
        assert seen.poll()
        first.close({})
        second = part(2)
        assert seen.poll()
        assert seen.path.endswith("part-2.sonde")
        assert not seen.ended
        second.close({})
        (session / session_registry.FILE).unlink()
        assert not seen.poll()
        assert seen.ended == f"the recording of process {os.getpid()} ended"


@pytest.mark.versions(*OWN)
def test_tasks_of_event_loops(python: Interpreter, folder: Path) -> None:
    async def test() -> None:
        with (
            Target(python, PROGRAMS / "awaiting.py", "waiting") as target,
            watching(target.pid) as seen,
        ):
            async with shown(seen, (100, 40)) as (app, pilot):

                def stuck() -> list[str]:
                    return [line for line in lines(app, "tasks") if "DEADLOCK" in line]

                await eventually(pilot, lambda: len(stuck()) == 4, "two deadlocks")
                assert app.query_one("#tasks", Rows).display
                assert any(
                    "one" in line and "awaits a lock held by two" in line for line in stuck()
                )
                app.search = "awaits a queue"
                app._draw()
                (row,) = lines(app, "tasks")[1:]
                assert "suspended" in row
                assert "consumer" in row
            assert target.alive

    run(test)


def test_a_program_without_tasks_has_no_table_of_them(python: Interpreter, folder: Path) -> None:
    async def test() -> None:
        with Target(python, "-c", IDLE) as target, watching(target.pid) as seen:
            async with shown(seen) as (app, pilot):
                await eventually(pilot, lambda: app.now, "threads")
                assert not app.query_one("#tasks", Rows).display

    run(test)

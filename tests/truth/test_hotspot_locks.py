"""Java programs that keep books of their waits, and of what they make, on every JDK found."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from java import Jdk, compiled
from launching import Run, clean_environment, must_run, sonde
from shared import run_folder

from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection

from truth.conftest import ATTEMPTS
from truth.locks.books import Books

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
RECORDED = 0.97
CHARGED = 0.95
# Of sampled objects: standard errors that an estimate may be off.
SIGMAS = 5
FIRST_WITH_VIRTUAL_THREADS = 21
# Who lets a lock go to a virtual thread does not tell. Where one takes it again at once, elsewhere,
# that is known only when the next one begins to wait; seen were 90 to 99 %.
CHARGED_UNSEEN = 0.85

Record = Callable[..., Run]


@pytest.fixture(scope="session")
def record(
    jdk: Jdk, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Record:
    """The truth program of that name, recorded at the first call."""
    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    done: dict[str, Run] = {}

    def get(name: str, *options: str, again: bool = False) -> Run:
        if again or name not in done:
            command = [jdk.java, "-Xmx256m", "-cp", classes, name]
            done[name] = must_run(keep(f"{name}-{jdk}"), command, *options)
        return done[name]

    return get


@pytest.fixture(scope="session")
def books(record: Record) -> Books:
    run = record("Contention", "--what", "cpu,locks")
    return Books(run.recording, run.told)


@pytest.mark.parametrize("scenario", ["monitor", "crowd", "lock", "read", "semaphore"])
def test_owners_are_charged(books: Books, scenario: str) -> None:
    assert not books.compare(scenario, RECORDED, CHARGED)


@pytest.mark.parametrize("scenario", ["notify", "condition", "queue", "latch", "future"])
def test_signals(books: Books, scenario: str) -> None:
    assert not books.compare(scenario, RECORDED, CHARGED)
    mine = [row for row in books.view["rows"] if row["key"]["kind"] == books.truth(scenario).kind]
    assert mine
    assert all(row["signalling"] for row in mine)


def test_rows_add_up(books: Books) -> None:
    assert books.view["total_ns"] == sum(part.ns for part in books.parts) > 0
    assert books.view["undecided"] == 0
    assert books.recording.quality["events_lost"] == 0


def test_locks_have_their_class(books: Books) -> None:
    locks = books.recording.locks
    types = set(zip(locks.made_of, locks.type, strict=True))
    assert ("monitor", "java.lang.Object") in types
    assert ("park", "java.util.concurrent.locks.ReentrantLock$NonfairSync") in types


def test_objects(record: Record) -> None:
    from sonde.views.objects.objects import objects

    run = record("Allocates", "--what", "cpu,objects")
    found = objects(run.recording, by="site")
    for type_, made in run.told.items():
        rows = [row for row in found.rows if row.type == type_]
        site = max(rows, key=lambda row: row.estimated_bytes).site
        assert site is not None
        assert site[0].name.startswith("Allocates.make")
        count, seen = sum(row.estimated_count for row in rows), sum(row.count for row in rows)
        assert abs(count - made) < SIGMAS * made / seen**0.5, type_
    assert found.estimated_bytes == pytest.approx(
        sum(row.estimated_bytes for row in found.rows), abs=len(found.rows)
    )


# ---- virtual threads


@pytest.fixture(scope="session")
def virtual_books(jdk: Jdk, record: Record) -> Books:
    if jdk.major < FIRST_WITH_VIRTUAL_THREADS:
        pytest.skip(f"Java {jdk.major} has no virtual threads")
    # Who holds a lock that a virtual thread waits for is asked, and answers when it has a processor:
    # where others take the whole machine, it has let go by then.
    for _ in range(ATTEMPTS):
        run = record("Virtual", "--what", "cpu,locks", again=True)
        books = Books(run.recording, run.told)
        if not books.compare("lock", RECORDED, CHARGED_UNSEEN):
            break
    return books


@pytest.mark.parametrize(
    "scenario", ["monitor", "carried", "kernel", "pinned", "one", "crowd", "lock"]
)
def test_owners_of_what_virtual_threads_wait_for(virtual_books: Books, scenario: str) -> None:
    charged = CHARGED_UNSEEN if scenario == "lock" else CHARGED
    assert not virtual_books.compare(scenario, RECORDED, charged)


RLOCK = "java.util.concurrent.locks.ReentrantLock$NonfairSync"


def test_virtual_threads_have_their_own_names(virtual_books: Books) -> None:
    """Both as waiters and as owners, and not those of the threads that carry them."""
    aspects = ("lock_class", "waiter_thread", "owner_thread")
    view = locks(virtual_books.recording, by=aspects).to_json()
    blamed: dict[tuple[str, str | None], int] = {}
    for class_ in view["rows"]:
        # The program's own: in the library the main thread and the cleaner wait, too.
        if class_["key"]["lock_class"] not in ("java.lang.Object", RLOCK):
            continue
        for waiter in class_["children"]:
            for owner in waiter["children"]:
                pair = tuple(
                    (row["key"][key] or "").partition(" (")[0]
                    for row, key in ((waiter, "waiter_thread"), (owner, "owner_thread"))
                )
                blamed[pair] = blamed.get(pair, 0) + owner["wait_ns"]
    known = {"waiter", "owner", "crowd-0", "crowd-1", "crowd-2", ""}
    assert {name for pair in blamed for name in pair} <= known
    total = sum(blamed.values())
    assert sum(ns for (_, owner), ns in blamed.items() if owner) > CHARGED * total


def test_deadlocks_of_a_running_program(jdk: Jdk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of two monitors and of two ReentrantLocks, and the program's output stays its own."""
    import json

    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    with subprocess.Popen(
        [jdk.java, "-cp", classes, "Deadlock", "60000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
    ) as target:
        try:
            assert target.stdout is not None
            assert target.stdout.readline() == "ready\n"
            done = sonde("waits", str(target.pid), "--json")
            assert done.returncode == 0, done.stderr
        finally:
            target.kill()
        assert target.stdout.read() == ""
    told = json.loads(done.stdout)
    stuck = [{told["waits"][i]["thread"] for i in cycle} for cycle in told["deadlocks"]]
    assert sorted(map(sorted, stuck)) == [
        ["first-second", "second-first"],
        ["left-right", "right-left"],
    ]
    owners = {wait["thread"]: wait["owner_chain"] for wait in told["waits"] if wait["owner_chain"]}
    assert any(f["name"] == "Deadlock.secondThenFirst" for f in owners["first-second"])
    assert any(f["name"] == "Deadlock.rightThenLeft" for f in owners["left-right"])


# ---- several that wait for one notification

ROUNDS = "20"
WAITERS = 4
NOTIFIED = ["monitor", "one-by-one", "rlock"]


@pytest.fixture(scope="session")
def notified(
    jdk: Jdk, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    command = [jdk.java, "-Xmx256m", "-cp", classes, "Notified", ROUNDS]
    return must_run(keep(f"notified-{jdk}"), command, "--what", "cpu,locks")


def of_scenario(run: Run, scenario: str, *by: str) -> list[dict[str, Any]]:
    """The waits of the scenario's waiters, split by the kind and what else is asked."""
    rows: list[dict[str, Any]] = []
    for i in range(WAITERS):
        selection = Selection(thread=f"{scenario}-{i}")
        rows += locks(run.recording, selection, by=("kind", *by), chains=False).to_json()["rows"]
    return rows


@pytest.mark.parametrize("scenario", NOTIFIED)
def test_who_notified_is_charged_and_not_a_fellow_waiter(notified: Run, scenario: str) -> None:
    rows = of_scenario(notified, scenario, "owner_thread")
    conditions = [row for row in rows if row["key"]["kind"] == "condition"]
    waited = sum(row["wait_ns"] for row in conditions)
    told = notified.told["spent"][f"{scenario} condition"]
    assert waited == pytest.approx(told, rel=1 - CHARGED)
    by_main = sum(
        child["wait_ns"]
        for row in conditions
        for child in row["children"]
        if child["key"]["owner_thread"] == "main"
    )
    assert by_main >= CHARGED * waited
    assert all(row["signalling"] and not row["after_notification"] for row in conditions)


@pytest.mark.parametrize("scenario", NOTIFIED)
def test_after_the_notification_the_holders_are_charged(notified: Run, scenario: str) -> None:
    kind = "rlock" if scenario == "rlock" else "monitor"
    rows = of_scenario(notified, scenario, "owner_thread")
    # Each thread enters the monitor once before it waits for the first time.
    after = [row for row in rows if row["key"]["kind"] == kind]
    ns = sum(row["after_notification_ns"] for row in after)
    told = notified.told["spent"][f"{scenario} after"]
    # The program's clock ends when the thread runs again, and so does the last part of a wait.
    assert ns == pytest.approx(told, rel=0.1)
    assert ns >= 0.9 * sum(row["wait_ns"] for row in after)
    by_fellows = sum(
        child["wait_ns"]
        for row in after
        for child in row["children"]
        if (child["key"]["owner_thread"] or "").startswith(scenario)
    )
    assert by_fellows >= 0.9 * ns

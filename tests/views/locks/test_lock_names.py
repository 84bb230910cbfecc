"""Names of locks, from the source where it can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sonde.views.locks.lock_names import MAX_LENGTH, LockSite, named, parse_acquire
from sonde.views.locks.locks import locks
from sonde.views.selecting.sources import Sources
from synthetic import MS, Maker

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("source", "expression", "thing"),
    [
        ("with self._lock:", "with self._lock", "self._lock"),
        ("    with self._lock: return 1", "with self._lock", "self._lock"),
        ("with a.lock, b.lock as x:  # both", "with a.lock, b.lock", "a.lock, b.lock"),
        ("async with pool.lock():", "with pool.lock()", "pool.lock()"),
        ("with open('a:b') as f, self.lock:", "with open('a:b'), self.lock", None),
        ("self._lock.acquire()", "self._lock.acquire()", "self._lock"),
        ("if not lock.acquire(timeout=1):", "lock.acquire(timeout=1)", "lock"),
        ("elif lock.acquire(False):", "lock.acquire(False)", "lock"),
        ("elements.get()", "elements.get()", "elements"),
        ("item = self.queues[i].get(block=True)", "self.queues[i].get(block=True)", None),
        ("[t.start() for t in ts]; [t.join() for t in ts]", "t.join()", "t"),
        ("return pool.submit(f, 1).result(timeout=3)", None, "pool.submit(f, 1)"),
        ("while not ready.wait(0.1):", "ready.wait(0.1)", "ready"),
        ("for f in as_completed(futures):", "as_completed(futures)", "as_completed(futures)"),
        ("import slow", "import slow", "import slow"),
        ("value = function(", "value = function(", None),
        ("x = '\\d'; lock.acquire()", "lock.acquire()", "lock"),
        ("", "", ""),
    ],
)
def test_what_takes_the_lock(source: str, expression: str | None, thing: str | None) -> None:
    found = parse_acquire(source)
    if expression is not None:
        assert found.expression == expression
    if thing is not None:
        assert found.thing == thing


def test_whatever_a_line_holds_is_cut_and_does_no_harm() -> None:
    for source in ("x" * 10_000, "(" * 5_000, "with " + "a" * 500 + ":", "\0", "with \udc80:"):
        assert len(parse_acquire(source).expression) <= MAX_LENGTH


def test_a_name_is_the_expression_and_its_place(tmp_path: Path) -> None:
    source = tmp_path / "cache.py"
    source.write_text("def get(self):\n    with self._lock:\n        pass\n")
    sources = Sources(None)
    place = LockSite("Cache.get", str(source), 2)
    assert named(place, sources) == ("`with self._lock` in cache.py:2", "self._lock (cache.py:2)")
    assert named(place, sources, 1)[0].endswith("cache.py:2 and 1 more place")
    assert named(place, sources, 2)[0].endswith("cache.py:2 and 2 more places")


def test_without_source_the_function_is_the_name() -> None:
    sources = Sources(None)
    assert named(LockSite("Cache.get", "/gone/cache.py", 2), sources) == (
        "Cache.get in cache.py:2",
        "Cache.get (cache.py:2)",
    )
    assert named(LockSite("Handler.handle", "/gone/logging/__init__.py", 9), sources)[0] == (
        "Handler.handle in logging/__init__.py:9"
    )
    assert (
        named(LockSite("[no Python frames]", "<built-in>", 0), sources)[0] == "[no Python frames]"
    )


def test_source_changed_since_the_recording_is_not_believed(tmp_path: Path) -> None:
    source = tmp_path / "cache.py"
    source.write_text("with lock: pass\n")
    make = Maker(started=0.0)
    make.define("get", str(source), 1)
    make.wait("l", "t", "a", 0, MS, "get:1 > _thread.lock.__enter__")
    (row,) = locks(make.recording(), by=("lock",)).rows
    assert row.value == "get in cache.py:1"


def test_a_recording_names_its_locks_by_source(tmp_path: Path) -> None:
    source = tmp_path / "cache.py"
    source.write_text("with lock: pass\n")
    make = Maker()
    make.define("get", str(source), 1)
    make.wait("l", "t", "a", 0, MS, "get:1 > _thread.lock.__enter__")
    (row,) = locks(make.recording(), by=("lock",)).rows
    assert row.value == "`with lock` in cache.py:1"

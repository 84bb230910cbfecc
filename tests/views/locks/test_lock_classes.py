"""Classes of locks: what holds them, by the source, and what they are together."""

from __future__ import annotations

from pathlib import Path

from sonde.views.findings.findings import findings
from sonde.views.locks.lock_classes import LockClasses
from sonde.views.locks.lock_names import LockSite
from sonde.views.locks.lock_table import lock_table
from sonde.views.locks.locks import locks
from sonde.views.selecting.sources import Sources
from synthetic import MS, Maker

SOURCE = """\
class Row:
    def __init__(self):
        self.lock = threading.Lock()

    def update(self):
        with self.lock:
            pass

    def acquire_all(self):
        self.acquire()

@dataclass
class Session:
    guard: Lock = field(default_factory=threading.RLock)

class Left:
    def __init__(self):
        self.twice = Lock()

class Right:
    def __init__(self):
        self.twice = Lock()

def work(row, locks, session):
    with row.lock:
        pass
    with locks[3]:
        pass
    with session.guard:
        pass
    with row.twice:
        pass
    with row.unheard_of:
        pass
"""


def name(tmp_path: Path, function: str, text: str) -> str:
    file = tmp_path / "rows.py"
    file.write_text(SOURCE)
    line = SOURCE.split("\n").index(text) + 1
    classes = LockClasses(Sources(None), [str(file), "/usr/lib/python3.12/threading.py"])
    return classes.name(LockSite(function, str(file), line))


def test_the_method_tells_the_class(tmp_path: Path) -> None:
    assert name(tmp_path, "Row.update", "        with self.lock:") == "Row.lock"
    inner = "Row.update.<locals>.inner"
    assert name(tmp_path, inner, "        with self.lock:") == "Row.lock"
    assert name(tmp_path, "Row.acquire_all", "        self.acquire()") == "Row"


def test_the_one_class_that_assigns_the_attribute(tmp_path: Path) -> None:
    assert name(tmp_path, "work", "    with row.lock:") == "Row.lock"
    assert name(tmp_path, "work", "    with session.guard:") == "Session.guard"


def test_else_the_acquiring_site(tmp_path: Path) -> None:
    assert name(tmp_path, "work", "    with locks[3]:") == "`with locks[3]` in rows.py:27"
    assert name(tmp_path, "work", "    with row.twice:") == "`with row.twice` in rows.py:31"
    assert name(tmp_path, "work", "    with row.unheard_of:").startswith("`with row.unheard_of`")


def many(rows: int = 100, ms: int = 5) -> Maker:
    """Many locks that one place acquires, each contended for a moment."""
    make = Maker()
    make.sample("main:1", 100 * MS)
    for row in range(rows):
        at = row * ms * MS
        make.wait(f"row {row}", "a", "b", at, at + ms * MS, "work:4 > _thread.lock.__enter__")
    return make


def test_many_locks_of_one_class_are_one_row() -> None:
    found = locks(many().recording(), by=("lock_class",))
    (row,) = found.rows
    assert (row.value, row.wait_ns, row.count) == ("work in app.py:4", 500 * MS, 100)


def test_a_class_is_a_finding_where_no_single_lock_is() -> None:
    (finding,) = (f for f in findings(many().recording()) if "contention for" in f.title)
    assert finding.title == "contention for work in app.py:4 (100 locks)"
    assert "--by lock_class,owner_chain,waiter_chain" in finding.view
    # Of a few locks each is contended by itself.
    few = many(5, 100).recording()
    titles = [f.title for f in findings(few) if "contention for" in f.title]
    assert len(titles) == 3
    assert not any("locks)" in title for title in titles)


def test_the_lock_table_has_classes() -> None:
    table = lock_table(many().recording())
    (row,) = table.classes
    assert (row.locks, row.waits, row.wait_ns) == (100, 100, 500 * MS)
    assert row.owner_function is not None
    assert row.owner_function["name"] == "hold"
    assert table.is_spread
    assert table.to_json()["classes"][0]["lock_class"] == "work in app.py:4"
    assert not lock_table(many(10).recording()).is_spread

"""A Django service in terms of its author's code: views, and what of Django they called."""

from __future__ import annotations

from pathlib import Path

import pytest

from attaching import until
from environments import wheels
from launching import Interpreter
from matrix import OLDEST_AND_NEWEST
from programs.support import APPS, Keep, Program, check_quality
from programs.test_gunicorn_django import PACKAGES
from programs.web import get
from serving import free_port
from sonde.recording.tables import Recording
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.start_up import after_start_up
from sonde.views.stacks.flat import flat
from sonde.views.stacks.own_flat import OwnRow, own_flat
from sonde.views.summary import summary

PYTHONS = OLDEST_AND_NEWEST
REQUESTS = 60


@pytest.fixture
def recording(python: Interpreter, keep: Keep, tmp_path: Path) -> Recording:
    """A few requests; packages are where an environment has them."""
    packages = tmp_path / "site-packages"
    packages.symlink_to(wheels("django", PACKAGES, python))
    port = free_port()
    command = [python.path, APPS / "django_books.py", str(port)]
    with Program(
        command, tmp_path / "run", (), keep("books"), env={"PYTHONPATH": str(packages)}
    ) as site:
        until(lambda: answers(port), "the first answer", site.process)
        for _ in range(REQUESTS):
            assert get(port, "/books")[0] == get(port, "/slugs")[0] == 200
        get(port, "/stop")
        assert site.wait() == 0, site.err
    return site.recording


def answers(port: int) -> bool:
    try:
        return get(port, "/books")[0] == 200
    except OSError:
        return False


def test_a_service_in_terms_of_its_own_code(recording: Recording) -> None:
    check_quality(recording)
    found = own_flat(recording)
    rows = {row.function.name: row for row in found.rows if isinstance(row, OwnRow)}
    called = rows["books"].main_call
    assert called is not None
    assert called.function.name == "QuerySet.count"
    assert called.function.file.endswith("/site-packages/django/db/models/query.py")
    # Nothing of Django or the standard library is a row.
    assert {Path(row.function.file).name for row in found.rows} <= {"django_books.py", ""}
    assert sum(row.self_ns for row in found.rows) == found.total_ns == flat(recording).total_ns
    assert rows["slow_slug"].main_call is None, "its own code"
    top = [row.function.name for row in summary(recording, top=3).mine.rows]
    assert "slow_slug" in top


def test_its_start_up_can_be_left_out(recording: Recording) -> None:
    found = summary(recording).start_up
    assert found is not None
    assert found.import_ns * 2 >= found.cpu_ns * 0.8
    later = after_start_up(recording, Selection())
    assert flat(recording, later).total_ns == found.total_ns - found.cpu_ns
    before = own_flat(recording, Selection(end_ns=found.end_ns))
    assert "books" not in {row.function.name for row in before.rows}

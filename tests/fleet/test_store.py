"""The store itself: who writes, who is killed writing, what is full, merged and thrown away."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from fleet.conftest import Fleet
from fleet.recorded import added, answered, asked
from launching import clean_environment
from sonde.errors import SondeError
from sonde.fleet.sending.push import destination, push
from sonde.fleet.store.compaction import compact, prune
from sonde.fleet.store.location import located
from sonde.fleet.store.parts import open_store
from sonde.fleet.store.schema import TABLES, VERSION
from synthetic import MS, Maker

ROOT = Path(__file__).parents[2]
SONDE = [sys.executable, "-c", "import sys; from sonde.cli.main import main; sys.exit(main())"]
ENVIRONMENT = clean_environment(PYTHONPATH=str(ROOT / "src"))


def made(folder: Path, number: int, samples: int = 50, started: float = 1_790_000_000.0) -> Path:
    """A recording of its own kind: `number` is in its figures."""
    make = Maker(started=started + number, program=f"app{number % 3}.py")
    random = Random(number)
    for i in range(samples):
        ns = MS + random.randrange(100_000)
        make.sample(f"main:3 > work:{i % 7} > step{number % 5}:{i % 11}", ns)
    make.wait("lock", "w1", "w2", 10 * MS, (20 + number) * MS)
    return Path(make.write(str(folder / f"{number}.sonde")))


def total(store: Path) -> int:
    return int(answered("fleet", "report", store, "flat")["total"])


def spent(files: list[Path]) -> int:
    return sum(int(answered("report", file, "flat")["total"]) for file in files)


def test_it_is_plain_parquet_by_service_and_day(tmp_path: Path) -> None:
    added(tmp_path / "store", [made(tmp_path, 1)], service="my shop/eu", version="7")
    (file,) = (tmp_path / "store" / "samples").rglob("*.parquet")
    assert file.relative_to(tmp_path / "store").parts[1:3] == (
        "service=my%20shop%2Feu",
        "day=2026-09-21",
    )
    table = pq.read_table(file, partitioning=None)
    assert table.num_rows == 50
    assert table.schema.metadata[b"sonde.schema"] == str(VERSION).encode()
    assert {path.name for path in (tmp_path / "store").iterdir()} == {*TABLES, "parts"}


def test_the_same_chain_of_two_processes_is_one_row(tmp_path: Path) -> None:
    files = [made(tmp_path, number) for number in (0, 15)]
    for file in files:
        added(tmp_path / "store", [file], service="s")
    rows = [
        pq.read_table(path, partitioning=None)["context"].to_pylist()
        for path in sorted((tmp_path / "store" / "contexts").rglob("*.parquet"))
    ]
    assert len(rows) == 2
    assert sorted(rows[0]) == sorted(rows[1])
    compact(located(str(tmp_path / "store")))
    store = open_store(located(str(tmp_path / "store")))
    (part,) = store.parts
    whole = pq.read_table(store.location.path(part.file("contexts")), partitioning=None)
    assert sorted(whole["context"].to_pylist()) == sorted(rows[0])


def test_a_recording_is_not_put_in_twice(tmp_path: Path) -> None:
    file, store = made(tmp_path, 1), tmp_path / "store"
    added(store, [file])
    copy = tmp_path / "copy.sonde"
    copy.write_bytes(file.read_bytes())
    code, _, err = asked("fleet", "add", store, copy, "--label", "service=other")
    assert (code, err) == (0, f"sonde: {copy}: is in the store already\n")
    assert total(store) == spent([file])
    # Nor after it became a part of another part, which then is all there is.
    added(store, [made(tmp_path, 4)])
    compact(located(str(store)), grace_s=0)
    compact(located(str(store)), grace_s=0)
    assert len(open_store(located(str(store))).all) == 1
    assert "is in the store already" in asked("fleet", "add", store, file)[2]


def test_writers_and_readers_do_not_know_of_each_other(tmp_path: Path) -> None:
    files = [made(tmp_path, number) for number in range(12)]
    store = tmp_path / "store"
    added(store, files[:1], service="s")
    writers = [
        subprocess.Popen([*SONDE, "fleet", "add", store, *files[i::3], "--label", "service=s"],
                         env=ENVIRONMENT, stderr=subprocess.PIPE)
        for i in range(3)
    ]  # fmt: skip
    possible = {spent([file]) for file in files}
    while any(writer.poll() is None for writer in writers):
        # Whatever is there is whole: a sum of recordings, never of a piece of one.
        seen = answered("fleet", "report", store, "recordings")["rows"]
        assert len(seen) >= 1
        found = answered("fleet", "report", store, "flat", "--where", "service=s")["total"]
        assert found >= min(possible)
        time.sleep(0.3)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert total(store) == spent(files)


@pytest.mark.parametrize("files_written", [0, 1, 5, len(TABLES)])
def test_a_killed_writer_leaves_nothing_that_counts(tmp_path: Path, files_written: int) -> None:
    """Killed when so many files of its part are there; the last one is the part's own word."""
    before, killed = made(tmp_path, 1), made(tmp_path, 2, samples=2000)
    store = tmp_path / "store"
    added(store, [before], service="s")
    known = set(store.rglob("*"))
    # Stopped again and again by the kernel, it is caught between any two of its files.
    writer = subprocess.Popen(
        [*SONDE, "fleet", "add", store, killed, "--label", "service=s"], env=ENVIRONMENT,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while writer.poll() is None:
        new = [path for path in set(store.rglob("*")) - known if path.is_file()]
        if len(new) >= files_written:
            writer.send_signal(signal.SIGKILL)
            break
    code = writer.wait()
    parts = open_store(located(str(store))).parts
    whole = len(parts) == 2
    assert code in (0, -signal.SIGKILL)
    assert total(store) == spent([before, killed] if whole else [before])
    # Whoever comes later neither sees nor trips over what is left.
    added(store, [killed], service="s")
    assert total(store) == spent([before, killed])
    compact(located(str(store)), grace_s=0)
    compact(located(str(store)), grace_s=0)
    left = [path for path in store.rglob("*") if path.is_file()]
    assert len(left) == len(TABLES) + 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system with little room, where that may be had."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("a small disk can be made by root only")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_loses_the_unfinished_part_and_says_so(
    tmp_path: Path, small_disk: Path
) -> None:
    small, large = made(tmp_path, 1), made(tmp_path, 2, samples=60_000)
    store = small_disk / "store"
    code, _, err = asked("fleet", "add", store, small, large)
    assert code == 1
    assert err.splitlines()[1:] == [
        f"sonde: cannot write {large} into {store}: no space left on device; "
        "the store is unchanged by it; the first 1 are in the store"
    ]
    assert total(store) == spent([small])
    assert not list(store.rglob("*.unfinished"))


def test_a_full_disk_stops_merging_and_sending(tmp_path: Path, small_disk: Path) -> None:
    """What is there stays whole and readable; what could not be written is said."""
    files = [made(tmp_path, number) for number in range(3)]
    store = small_disk / "store"
    added(store, files[:2], service="s")
    (small_disk / "filler").write_bytes(bytes(free(small_disk)))
    code, _, err = asked("fleet", "compact", store)
    assert (code, err) == (1, f"sonde: cannot write the store {store}: No space left on device\n")
    with pytest.raises(SondeError, match=r"did not accept .* within 0 s: No space left on device"):
        push(destination(str(store)), str(files[2]), {"service": "s"}, timeout_s=0)
    assert total(store) == spent(files[:2])
    assert not list(store.rglob("*.unfinished"))


def free(folder: Path) -> int:
    told = os.statvfs(folder)
    return told.f_bavail * told.f_bsize


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    large = made(tmp_path, 2, samples=60_000)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = subprocess.run(
        [*SONDE, "fleet", "add", tmp_path / "store", large], env=ENVIRONMENT, preexec_fn=limited,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "file too large; the store is unchanged by it" in done.stderr
    assert asked("fleet", "report", tmp_path / "store", "flat")[0] == 1


def test_merged_parts_answer_the_same(fleet: Fleet, tmp_path: Path) -> None:
    store = tmp_path / "store"
    subprocess.run(["cp", "-r", fleet.store, store], check=True)
    views = [("tree", "--wall"), ("locks",), ("threads",), ("blockers",), ("recordings",)]
    before = [answered("fleet", "report", store, *view) for view in views]
    done = compact(located(str(store)))
    assert (done.merged, done.made) == (6, 1)
    assert [answered("fleet", "report", store, *view) for view in views] == before
    # What was replaced is still there for who reads it, and goes later.
    assert len(open_store(located(str(store))).all) == 7
    assert compact(located(str(store)), grace_s=0).removed_parts == 6
    assert [answered("fleet", "report", store, *view) for view in views] == before


def test_two_who_merge_at_once_count_once(tmp_path: Path) -> None:
    files = [made(tmp_path, number) for number in range(6)]
    store = tmp_path / "store"
    added(store, files, service="s")
    expected = spent(files)
    runs = [
        subprocess.Popen(
            [*SONDE, "fleet", "compact", store], env=ENVIRONMENT, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    while any(run.poll() is None for run in runs):
        assert total(store) == expected
        time.sleep(0.2)
    assert [run.wait() for run in runs] == [0, 0, 0]
    for _ in range(2):
        compact(located(str(store)), grace_s=0)
        assert total(store) == expected
    assert len(open_store(located(str(store))).all) == 1


def test_old_ones_are_thrown_away(tmp_path: Path) -> None:
    old = made(tmp_path, 1, started=time.time() - 40 * 86400)
    new = made(tmp_path, 2, started=time.time() - 86400)
    store = tmp_path / "store"
    added(store, [old, new])
    code, _, err = asked("fleet", "prune", store, "--older", "30d")
    assert (code, err) == (0, "sonde: removed 1 segment\n")
    assert total(store) == spent([new])
    assert len([path for path in store.rglob("*") if path.is_file()]) == len(TABLES) + 1
    prune(located(str(store)), timedelta(hours=1))
    assert asked("fleet", "report", store)[0] == 1


def test_what_a_newer_sonde_wrote_is_refused_by_name(tmp_path: Path) -> None:
    store = tmp_path / "store"
    added(store, [made(tmp_path, 1)])
    (part,) = (store / "parts").rglob("*.json")
    newer = VERSION + 1
    part.rename(part.with_name(part.name.replace(f".v{VERSION}", f".v{newer}")))
    code, _, err = asked("fleet", "report", store)
    assert code == 1
    assert err == (
        f"sonde: {store} was written by a newer sonde (schema {newer}, this one reads up to "
        f"{VERSION}); "
        "update sonde to read it\n"
    )


@pytest.mark.parametrize("all_old", [True, False])
def test_parts_of_the_first_schema_are_read(tmp_path: Path, all_old: bool) -> None:
    """It had no column for what follows a notification."""
    store = tmp_path / "store"
    added(store, [made(tmp_path, 1)])
    before = answered("fleet", "report", store, "locks")
    (file,) = (store / "blames").rglob("*.parquet")
    table = pq.read_table(file, partitioning=None)
    pq.write_table(table.drop_columns(["after_notification"]), file)
    for part in store.rglob(f"*.v{VERSION}.*"):
        part.rename(part.with_name(part.name.replace(f".v{VERSION}", ".v1")))
    assert answered("fleet", "report", store, "locks") == before
    if not all_old:
        added(store, [made(tmp_path, 2)])
        both = answered("fleet", "report", store, "locks")
        assert both["total_ns"] > before["total_ns"] > 0


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    store = tmp_path / "store"
    added(store, [made(tmp_path, 1)])
    (store / "parts" / "README").write_text("ours")
    (store / "notes.txt").write_text("ours")
    compact(located(str(store)), grace_s=0)
    assert total(store) > 0
    assert (store / "notes.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["report", "EMPTY"], 1, "has no recordings; add some with: sonde fleet add"),
        (["report", "STORE", "nonsense"], 2, "invalid view 'nonsense'"),
        (["report", "STORE", "--where", "version"], 2, "invalid --where 'version'; give LABEL="),
        (["report", "STORE", "--where", "version=9"], 1, "has no recordings with version=9"),
        (["report", "STORE", "--from", "soon"], 2, "invalid --from 'soon'; give a time such as"),
        (["report", "STORE", "--from", "1h", "--to", "2h"], 2, "the time range is empty"),
        (["report", "STORE", "diff"], 2, "--base and --new apply to the views diff and slower"),
        (["report", "STORE", "--engine", "oracle"], 2, "invalid --engine 'oracle'; give duckdb"),
        (["report", "STORE", "flat", "--by", "kind"], 2, "valid views: locks, calls"),
        (["report", "STORE", "threads", "--wall"], 2, "--wall does not apply to threads"),
        (["add", "STORE", "missing.sonde"], 1, "missing.sonde does not exist"),
        (["add", "STORE", "FILE", "--label", "x"], 2, "invalid --label 'x'; give NAME=VALUE"),
        (["prune", "STORE", "--older", "long"], 2, "invalid time 'long'; give one such as"),
        (["add", "nowhere://x/y", "FILE"], 1, "cannot open the store nowhere://x/y"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, arguments: list[str], code: int, sentence: str) -> None:
    file = made(tmp_path, 1)
    added(tmp_path / "store", [file])
    (tmp_path / "empty").mkdir()
    places: dict[str, Any] = {
        "STORE": tmp_path / "store", "EMPTY": tmp_path / "empty", "FILE": file,
    }  # fmt: skip
    found, out, err = asked("fleet", *(places.get(word, word) for word in arguments))
    assert (found, out) == (code, ""), err
    assert err.startswith("sonde: ")
    assert sentence in err
    assert err.count("\n") == 1


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    """With every library of the extra made unfindable, as where it is not installed."""
    hidden = "import sys; sys.modules.update(dict.fromkeys(('pyarrow', 'ibis', 'duckdb')))\n"
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('pyarrow', 'ibis', 'duckdb') "
        "else find(name, *a)\n" + hidden
    )
    environment = ENVIRONMENT | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"}
    file = made(tmp_path, 1)
    for command, code in (
        (["fleet", "report", "store"], 1),
        (["export", file, "--to", "parquet", "-o", tmp_path / "out"], 1),
        (["report", file], 0),
    ):
        done = subprocess.run(
            [*SONDE, *command], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        if code:
            assert "install with: pip install 'sonde[fleet]'" in done.stderr
            assert done.stderr.count("\n") == 1


def test_tables_as_they_are(fleet: Fleet, tmp_path: Path) -> None:
    file = fleet.files["1-a"]
    out = tmp_path / "tables"
    assert asked("export", file, "--to", "parquet", "-o", out)[0] == 0
    samples = pq.read_table(out / "samples.parquet")
    assert sum(samples["weight"].to_pylist()) > 0
    import sonde

    opened = sonde.open(file)
    assert opened.to_arrow()["samples"].num_rows == samples.num_rows == len(opened.tables.samples)
    assert asked("export", file, "--to", "parquet", "-o", out)[0] == 2
    assert asked("export", file, "--to", "parquet", "--wall", "-o", tmp_path / "x")[0] == 2


def test_a_part_says_what_it_holds(tmp_path: Path) -> None:
    added(tmp_path / "store", [made(tmp_path, 1)])
    (part,) = (tmp_path / "store" / "parts").rglob("*.json")
    told = json.loads(part.read_text())
    assert told["rows"]["samples"] == 50
    assert told["schema"] == VERSION
    with pytest.raises(SondeError):
        open_store(located(str(tmp_path / "elsewhere")))

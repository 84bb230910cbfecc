"""Questions of many recordings, with answers that are known."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fleet.conftest import HOSTS, Fleet
from fleet.recorded import added, answered, asked
from sonde.fleet.queries.views import VIEWS
from sonde.model.group_comparison import LEVEL, Measured, verdicts
from synthetic import MS, Maker


def test_all_of_them_add_up(fleet: Fleet) -> None:
    whole = answered("fleet", "report", fleet.store, "flat")
    alone = [answered("report", file, "flat") for file in fleet.files.values()]
    assert whole["total"] == sum(one["total"] for one in alone)
    by_name = {row["name"]: row["self"] for row in whole["rows"] if row["name"] == "price"}
    assert by_name["price"] == sum(
        row["self"] for one in alone for row in one["rows"] if row["name"] == "price"
    )
    tree = answered("fleet", "report", fleet.store, "tree")
    assert tree["total"] == whole["total"] == sum(node["self"] for node in tree["nodes"])


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["version=1"], ["1-a", "1-b", "1-c"]),
        (["version=1", "host=a,b"], ["1-a", "1-b"]),
        (["version!=1", "region=e*"], ["2-c"]),
        (["team=green", "host!=a,b"], ["1-c", "2-c"]),
        (["team!=red"], ["1-a", "1-b", "1-c", "2-a", "2-b", "2-c"]),
        (["service=s*p", "version=2"], ["2-a", "2-b", "2-c"]),
    ],
)
def test_labels_choose(fleet: Fleet, where: list[str], expected: list[str]) -> None:
    options = [part for one in where for part in ("--where", one)]
    found = answered("fleet", "report", fleet.store, "recordings", *options)["rows"]
    names = sorted(f"{row['labels']['version']}-{row['labels']['host']}" for row in found)
    assert names == expected
    total = answered("fleet", "report", fleet.store, "flat", *options)["total"]
    assert total == sum(answered("report", fleet.files[n], "flat")["total"] for n in expected)


def test_diff_of_versions_is_that_of_their_recordings(fleet: Fleet) -> None:
    found = answered(
        "fleet", "report", fleet.store, "diff", "--where", "host=a",
        "--base", "version=1", "--new", "version=2",
    )  # fmt: skip
    assert found == answered("diff", fleet.files["1-a"], fleet.files["2-a"])


def test_locks_of_one_name_are_one(fleet: Fleet) -> None:
    found = answered("fleet", "report", fleet.store, "locks", "--by", "kind,lock,waiter_thread")
    (lock,) = (row for row in found["rows"] if row["key"] == {"kind": "lock"})
    stock = lock["children"][0]
    assert "with stock" in stock["key"]["lock"]
    assert {child["key"]["waiter_thread"] for child in stock["children"]} >= {
        "server-0", "server-1", "server-2",
    }  # fmt: skip
    alone = [answered("report", file, "locks") for file in fleet.files.values()]
    for figure in ("total_ns", "signalling_ns", "unknown_ns", "count", "undecided"):
        assert found[figure] == sum(one[figure] for one in alone)


def test_what_became_slower(fleet: Fleet) -> None:
    found = answered(
        "fleet", "report", fleet.store, "slower", "--base", "version=1", "--new", "version=2"
    )
    assert (found["base_processes"], found["new_processes"]) == (3, 3)
    first = found["rows"][0]
    assert first["name"] in ("price", "price.<locals>.<genexpr>")
    assert first["significant"]
    assert first["new"] > first["base"] + 0.2
    same = answered(
        "fleet", "report", fleet.store, "slower", "--where", "version=1",
        "--base", "host=a,b", "--new", "host=b,c",
    )  # fmt: skip
    assert not any(row["significant"] and abs(row["delta"]) > 0.2 for row in same["rows"])


def test_significance_by_hand(tmp_path: Path) -> None:
    """Four processes each: one function surely slower, one only in one process."""
    shares = {
        "1": [(50, 5), (51, 5), (49, 5), (50, 5)],
        "2": [(70, 5), (71, 5), (69, 5), (70, 45)],
    }
    for version, processes in shares.items():
        for i, (sure, unsure) in enumerate(processes):
            make = Maker(started=float(i), version=version)
            for name, share in (("sure", sure), ("unsure", unsure), ("rest", 150 - sure - unsure)):
                for _ in range(40 * share):
                    make.sample(f"main:1 > {name}:1", MS)
            file = make.write(str(tmp_path / f"{version}-{i}.sonde"))
            added(tmp_path / "store", [Path(file)], version=version, host=f"h{i}")
    found = answered(
        "fleet", "report", tmp_path / "store", "slower", "--base", "version=1", "--new", "version=2"
    )
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["sure"]["significant"]
    assert rows["sure"]["delta"] == pytest.approx(20 / 150)
    assert not rows["unsure"]["significant"]
    assert rows["unsure"]["p"] > 0.2
    # As SciPy has it for the same numbers; in the first group only counting scatters.
    share = (4 * 5 + 3 * 5 + 45) / 8 / 150
    scatter = math.sqrt(share * (1 - share) / (40 * 150))
    after = [5 / 150] * 3 + [45 / 150]
    expected = stats.ttest_ind_from_stats(
        5 / 150, scatter, 4, statistics.mean(after), statistics.stdev(after), 4, equal_var=False
    ).pvalue
    assert rows["unsure"]["p"] == pytest.approx(expected)
    few = answered(
        "fleet", "report", tmp_path / "store", "slower", "--where", "host=h0",
        "--base", "version=1", "--new", "version=2",
    )  # fmt: skip
    assert all(row["p"] is None and not row["significant"] for row in few["rows"])


def processes(random: np.random.Generator, shares: Any, count: int) -> Measured:
    """A group whose processes differ a little, each known by some thousand samples."""
    sums: dict[int, tuple[float, float]] = {}
    taken = random.integers(1000, 3000, count)
    for samples in taken:
        own = shares * np.exp(random.normal(0, 0.05, len(shares)))
        for function, share in enumerate(random.multinomial(samples, own / own.sum()) / samples):
            one, squares = sums.get(function, (0.0, 0.0))
            sums[function] = (one + share, squares + share * share)
    return Measured(sums, count, int(taken.sum()), float(np.mean(1 / taken)))


def test_how_often_slower_is_wrong_and_right() -> None:
    random = np.random.default_rng(1)
    shares = random.pareto(1, 25)
    shares /= shares.sum()
    changed = int(np.argsort(shares)[-4])
    after = shares.copy()
    after[changed] *= 1.5
    after /= after.sum()
    wrong = right = 0
    for _ in range(100):
        base, same, new = (processes(random, of, 8) for of in (shares, shares, after))
        wrong += any(one.adjusted <= LEVEL for one in verdicts(base, same) if one.adjusted)
        right += any(
            one.adjusted <= LEVEL and one.function == changed and one.new.mean > one.base.mean
            for one in verdicts(base, new)
            if one.adjusted is not None
        )
    # One in twenty may be wrong, and in a hundred comparisons that scatters.
    assert wrong <= 11
    assert right >= 80


def test_who_blocks_the_fleet(fleet: Fleet) -> None:
    found = answered("fleet", "report", fleet.store, "blockers")
    (row,) = (row for row in found["rows"] if row["kind"] == "lock" and row["owner_function"]
              and row["owner_function"]["name"] == "checkout")  # fmt: skip
    assert "with stock" in row["lock"]
    assert (row["processes"], row["hosts"]) == (6, len(HOSTS))
    locks = answered("fleet", "report", fleet.store, "locks", "--by", "kind")
    assert found["total_ns"] == locks["total_ns"] - locks["signalling_ns"]


def test_the_host_that_is_not_like_the_others(tmp_path: Path) -> None:
    for i in range(7):
        make = Maker(started=float(i))
        odd = 40 if i == 3 else 0
        make.sample("main:1 > usual:1", (80 - odd + i) * MS)
        make.sample("main:1 > retry:1", (5 + odd) * MS)
        file = make.write(str(tmp_path / f"{i}.sonde"))
        added(tmp_path / "store", [Path(file)], host=f"h{i}")
    found = answered("fleet", "report", tmp_path / "store", "outliers")
    assert [row["host"] for row in found["rows"] if row["outlier"]] == ["h3"]
    assert found["rows"][0]["function"]["name"] in ("retry", "usual")
    assert found["rows"][0]["overlap"] < 0.7 < found["rows"][1]["overlap"]


def test_threads_of_parts_are_one_thread(tmp_path: Path) -> None:
    """A continuous recording comes as many; its threads have one row."""
    for i in range(3):
        make = Maker(started=100.0 + i)
        make.sample("main:1", (10 + i) * MS)
        file = make.write(str(tmp_path / f"{i}.sonde"))
        added(tmp_path / "store", [Path(file)], host="h")
    (row,) = answered("fleet", "report", tmp_path / "store", "threads")["rows"]
    assert row["cpu_ns"] == 33 * MS
    assert row["wall_ns"] == 3000 * MS


def test_every_view_as_text(fleet: Fleet) -> None:
    views = set(VIEWS) - {"diff", "slower"}
    for view in sorted(views):
        code, out, err = asked("fleet", "report", fleet.store, view)
        assert (code, err) == (0, ""), view
        assert out.startswith("6 recordings of 3 hosts, ")
        assert max(map(len, out.splitlines())) <= 80
    for view in ("diff", "slower"):
        code, out, _ = asked(
            "fleet", "report", fleet.store, view, "--base", "version=1", "--new", "version=2"
        )
        assert code == 0
        assert "price" in out

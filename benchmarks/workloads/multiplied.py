"""A store of many processes, made of a few real recordings.

    multiplied.py STORE SAMPLES PROCESSES FILE...

Every process made has the threads, contexts, waits and steps of a real one. Its samples are drawn
from those of the real one: contexts in blocks of neighbours, as programs stay where they are for a
while, and weights and distances each for itself, so that no compressor finds a recording twice.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sonde.fleet.store import parts
from sonde.fleet.store.labels import labels_of
from sonde.fleet.store.location import located
from sonde.fleet.store.rows import Rows, rows_of
from sonde.fleet.store.schema import TABLES
from sonde.recording.reader import read

NEIGHBOURS = 64
PART = 2_000_000
"""Samples in a part: what `sonde fleet compact` makes of small ones."""
DAY_S = 86_400
BEGIN_NS = 1_790_000_000_000_000_000


@dataclass(frozen=True)
class Seed:
    """A real recording as rows, and what its samples are drawn from."""

    rows: Rows
    thread: NDArray[np.int64]
    context: NDArray[np.int64]
    state: NDArray[np.int8]
    explained: NDArray[np.int64]
    weights: dict[int, NDArray[np.int64]]
    distances: NDArray[np.int64]


def seed(file: Path) -> Seed:
    recording = read(str(file))
    rows = rows_of(recording, labels_of(recording, {"service": "shop"}))
    samples = rows.tables["samples"]
    column = {name: samples[name].to_numpy() for name in samples.column_names}
    ordinal = {one: i for i, one in enumerate(rows.tables["threads"]["thread"].to_pylist())}
    thread = np.array([ordinal[one] for one in column["thread"].tolist()], dtype=np.int64)
    distances = np.diff(column["time"])[np.diff(thread) == 0]
    return Seed(
        rows,
        thread,
        column["context"],
        column["state"],
        column["explained"],
        {
            state: column["weight"][column["state"] == state]
            for state in np.unique(column["state"]).tolist()
        },
        np.maximum(distances, 1),
    )


def multiply(store: Path, files: Sequence[Path], samples: int, processes: int) -> int:
    """Writes the store and returns the bytes it takes."""
    random = np.random.default_rng(1)
    seeds = [seed(file) for file in files]
    location = located(str(store))
    each = samples // processes
    made: list[dict[str, pa.Table]] = []
    count = size = number = 0
    for process in range(processes):
        made.append(_process(random, seeds[process % len(seeds)], each, process))
        count += each
        if count >= PART or process == processes - 1:
            number += 1
            tables = {
                name: pa.concat_tables([one[name] for one in made]).combine_chunks()
                for name in TABLES
            }
            for name, key in (("functions", "function"), ("contexts", "context")):
                first = {one: i for i, one in enumerate(tables[name][key].to_pylist())}
                tables[name] = tables[name].take(pa.array(sorted(first.values())))
            part = parts.part_of("shop", BEGIN_NS, BEGIN_NS + DAY_S * 10**9, 1000 + number)
            size += parts.write(location, part, tables)
            made, count = [], 0
    return size


def _process(random: np.random.Generator, of: Seed, count: int, number: int) -> dict[str, pa.Table]:
    id_ = int(random.integers(1 << 40, 1 << 62))
    base = BEGIN_NS + int(random.integers(0, DAY_S // 2)) * 10**9
    shift = base - of.rows.begin_ns
    tables = dict(of.rows.tables)
    tables["samples"] = _samples(random, of, count, id_, base)
    recordings = tables["recordings"].to_pylist()
    recordings[0] |= {
        "recording": id_, "base_ns": base, "host": f"host-{number % 500}", "taken": count,
        "version": "1" if number % 2 else "2", "region": ("eu", "us", "asia")[number % 3],
    }  # fmt: skip
    tables["recordings"] = pa.Table.from_pylist(recordings, schema=TABLES["recordings"])
    for name in ("processes", "threads", "blames", "steps", "chains", "windows", "calls"):
        by = (id_ >> 1) - (of.rows.recording >> 1)
        tables[name] = _moved(tables[name], name, by, id_, shift)
    return tables


def _samples(random: np.random.Generator, of: Seed, count: int, id_: int, base: int) -> pa.Table:
    starts = random.integers(0, max(len(of.thread) - NEIGHBOURS, 1), -(-count // NEIGHBOURS))
    rows = (starts[:, None] + np.arange(NEIGHBOURS)).ravel()[:count] % len(of.thread)
    rows = rows[np.argsort(of.thread[rows], kind="stable")]
    thread, state = of.thread[rows], of.state[rows]
    weight = np.empty(len(rows), dtype=np.int64)
    for one, known in of.weights.items():
        mine = state == one
        weight[mine] = random.choice(known, int(mine.sum()))
    distance = random.choice(of.distances, len(rows))
    elapsed = np.cumsum(distance)
    first = np.flatnonzero(np.diff(thread, prepend=-1))
    began = np.repeat(elapsed[first] - distance[first], np.diff(np.append(first, len(rows))))
    columns: dict[str, Any] = {
        "thread": np.int64(id_ >> 1) + thread,
        "time": base + elapsed - began,
        "context": of.context[rows],
        "weight": weight,
        "state": state,
        "explained": np.minimum(of.explained[rows], weight),  # or ALL, which is less
    }
    return pa.table(columns, schema=TABLES["samples"])


def _moved(table: pa.Table, name: str, by: int, id_: int, shift: int) -> pa.Table:
    """The same rows of another process at another time."""
    for i, column in enumerate(TABLES[name].names):
        if column == "recording":
            values: Any = np.full(table.num_rows, id_, dtype=np.int64)
        elif column in ("thread", "process", "wait", "window"):
            values = table[column].to_numpy() + by
        elif column in ("start", "time", "start_ns", "end_ns") and name != "chains":
            values = pa.array(
                [None if value is None else value + shift for value in table[column].to_pylist()],
                pa.int64(),
            )
        else:
            continue
        table = table.set_column(i, TABLES[name].field(column), pa.array(values))
    return table


if __name__ == "__main__":
    store, samples, processes, *files = sys.argv[1:]
    print(multiply(Path(store), [Path(file) for file in files], int(samples), int(processes)))

"""The tables of a recording as they are, a folder with one Parquet file each.

For whoever wants to ask what no view answers, with DuckDB, Polars, pandas or Spark. A store of many
recordings is something else: `sonde fleet add`.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sonde import optional_packages

if TYPE_CHECKING:
    from pathlib import Path

    from sonde.recording.tables import Recording

SUFFIX = ".parquet"
TEXT = False
FOLDER = True

TABLES = (
    "processes", "threads", "functions", "contexts", "spans", "samples", "locks", "lock_events",
    "marks", "pauses", "metrics", "machine", "processors", "types", "objects", "tasks",
    "task_times", "task_waits", "task_steps", "task_resumptions", "task_awaiters", "loop_times",
    "loop_lags",
    "lock_samples", "lock_counts",
)  # fmt: skip


def arrow_tables(recording: Recording) -> dict[str, Any]:
    """By name, with a column `id` that other tables refer to."""
    optional_packages.check("pyarrow")
    import pyarrow as pa

    made = {}
    for name in TABLES:
        table = getattr(recording, name)
        if isinstance(table, list):
            rows = [asdict(row) for row in table]
            columns = {key: [row[key] for row in rows] for key in rows[0]} if rows else {}
        else:
            columns = {
                column.name: values
                for column in fields(table)
                if len(values := getattr(table, column.name)) == len(table)
            }
        ids = pa.array(range(len(table)), pa.int64())
        made[name] = pa.table({"id": ids, **{key: _column(of) for key, of in columns.items()}})
    return made


def _column(values: Any) -> Any:
    import pyarrow as pa

    if len(values) and isinstance(values[0], dict):
        # A map: as a struct, each key would be a field of every row.
        return pa.array([[*row.items()] for row in values], pa.map_(pa.string(), pa.string()))
    return pa.array(values)


def write_folder(recording: Recording, folder: Path) -> None:
    tables = arrow_tables(recording)
    import pyarrow.parquet as pq

    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")

"""The tables of a store, and how each column is packed.

Ids are 64-bit: those of functions and contexts are hashes of what they are, the same in every
process; those of recordings, threads and waits are hashes of the recording they come from. 0 stands
for none. Times are nanoseconds since 1970. No unsigned types, since Spark has none.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sonde.fleet.store.labels import LABELS
from sonde.model.cpu_loss import CPU_LOSS_CAUSES

VERSION = 2
"""Stands in the name of every part and in the metadata of every file."""

_METRICS = (
    "run_delay_ns", "voluntary", "involuntary", "migrations", "minor_faults", "major_faults",
    "cycles", "instructions", "cache_misses", "branch_misses",
)  # fmt: skip
ALL = -1
"""In `explained`, of a wait that samples saw: lock events cover all of it."""

TABLES: dict[str, Any] = {
    "recordings": pa.schema(
        [("recording", pa.int64())]
        + [(label, pa.string()) for label in LABELS]
        + [
            ("labels", pa.map_(pa.string(), pa.string())),
            ("program", pa.string()),
            ("base_ns", pa.int64()),
            ("duration_ns", pa.int64()),
            ("pauses", pa.list_(pa.int64())),
            ("undecided", pa.int64()),
            ("counted", pa.bool_()),
            ("stepped", pa.bool_()),
            ("steal_in_cpu", pa.bool_()),
            ("taken", pa.int64()),
            ("lost", pa.int64()),
            ("undecodable", pa.int64()),
            ("truncated", pa.int64()),
        ]
    ),
    "processes": pa.schema(
        [
            ("process", pa.int64()),
            ("recording", pa.int64()),
            ("pid", pa.int64()),
            ("ppid", pa.int64()),
            ("runtime", pa.string()),
            ("runtime_version", pa.string()),
            ("executable", pa.string()),
            ("argv", pa.list_(pa.string())),
            ("start_ns", pa.int64()),
            ("end_ns", pa.int64()),
            ("exit", pa.string()),
        ]
    ),
    "threads": pa.schema(
        [
            ("thread", pa.int64()),
            ("process", pa.int64()),
            ("recording", pa.int64()),
            ("number", pa.int64()),
            ("pid", pa.int64()),
            ("tid", pa.int64()),
            ("name", pa.string()),
            ("interpreter", pa.int64()),
            ("start_ns", pa.int64()),
            ("end_ns", pa.int64()),
            ("cpu_ns", pa.int64()),
        ]
    ),
    "functions": pa.schema(
        [
            ("function", pa.int64()),
            ("name", pa.string()),
            ("file", pa.string()),
            ("line", pa.int64()),
            ("runtime", pa.string()),
            ("instructions", pa.int64()),
        ]
    ),
    "contexts": pa.schema(
        [
            ("context", pa.int64()),
            ("parent", pa.int64()),
            ("function", pa.int64()),
            ("line", pa.int64()),
            ("depth", pa.int64()),
        ]
    ),
    "samples": pa.schema(
        [
            ("thread", pa.int64()),
            ("time", pa.int64()),
            ("context", pa.int64()),
            ("weight", pa.int64()),
            ("state", pa.int8()),
            ("explained", pa.int64()),
        ]
    ),
    "blames": pa.schema(
        [
            ("wait", pa.int64()),
            ("thread", pa.int64()),
            ("start", pa.int64()),
            ("ns", pa.int64()),
            ("kind", pa.string()),
            ("signalling", pa.bool_()),
            ("after_notification", pa.bool_()),
            ("lock", pa.string()),
            ("lock_shared", pa.string()),
            ("waiter_thread", pa.string()),
            ("waiter_name", pa.string()),
            ("waiter_function", pa.int64()),
            ("waiter_chain", pa.int64()),
            ("owner_thread", pa.string()),
            ("owner_name", pa.string()),
            ("owner_function", pa.int64()),
            ("owner_own", pa.int64()),
            ("owner_chain", pa.int64()),
        ]
    ),
    "chains": pa.schema(
        [
            ("recording", pa.int64()),
            ("links", pa.string()),
            ("links_shared", pa.string()),
            ("wait_ns", pa.int64()),
        ]
    ),
    "steps": pa.schema(
        [("thread", pa.int64()), ("time", pa.int64())]
        + [(name, pa.int64()) for name in (*_METRICS, *CPU_LOSS_CAUSES)]
    ),
}
TABLES["windows"] = pa.schema(
    [
        ("window", pa.int64()),
        ("thread", pa.int64()),
        ("time", pa.int64()),
        ("cut", pa.bool_()),
    ]
)
TABLES["calls"] = pa.schema(
    [
        ("window", pa.int64()),
        ("thread", pa.int64()),
        ("time", pa.int64()),
        ("context", pa.int64()),
        ("site", pa.int64()),
        ("weight", pa.float64()),
    ]
)
METRICS = _METRICS

KEYS = {
    "recordings": "recording",
    "processes": "process",
    "threads": "thread",
    "functions": "function",
    "contexts": "context",
}
"""What a row is known by in tables that may hold it more than once, in several parts."""

ORDER = {
    "samples": ("thread", "time"),
    "blames": ("thread", "start"),
    "steps": ("thread", "time"),
    "windows": ("thread", "time"),
    "calls": ("thread", "time"),
}
"""Rows of one thread lie together: its id then takes no room, and times are small differences."""

_DELTAS = {"samples": ("time", "explained"), "blames": ("start", "wait"),
           "steps": ("time", *_METRICS, *CPU_LOSS_CAUSES)}  # fmt: skip
# Lengths of time, which have much in common in their upper bytes and nothing in the lowest: bytes
# of the same rank lie together, and a few long ones among many of a length cost nothing.
_SPLIT = {"samples": ("weight",), "blames": ("ns",)}


def packing(table: str) -> dict[str, Any]:
    """Options of the Parquet writer for a table."""
    deltas, split = _DELTAS.get(table, ()), _SPLIT.get(table, ())
    names = [name for name in TABLES[table].names if name not in (*deltas, *split)]
    return {
        "use_dictionary": [
            name for name in names if not pa.types.is_nested(TABLES[table].field(name).type)
        ],
        "column_encoding": dict.fromkeys(deltas, "DELTA_BINARY_PACKED") or None,
        "use_byte_stream_split": list(split),
        "compression": "zstd",
        "compression_level": 3,
        "row_group_size": 1 << 20,
        "data_page_version": "2.0",
    }

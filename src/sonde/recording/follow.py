"""Reads a recording while it grows, and keeps the last minutes of it.

What samples and waits point at is kept from the beginning; samples and lock events only as long as
they may be asked for. What comes out is an ordinary `Recording`, so that every view shows the last
seconds as it shows a whole file.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.recording.format.framing import FILE_HEAD_SIZE, MAX_RAW, ROWS
from sonde.recording.format.schema import TABLES
from sonde.recording.read.assemble import apply_updates, put_together
from sonde.recording.read.block_reader import BlockReader
from sonde.recording.read.facts import Facts
from sonde.recording.read.recovery import NO_BLOCKS, Blocks, find_blocks
from sonde.recording.read.row_refs import NO_RANGES, Columns, Ranges, RowMap, runs
from sonde.recording.reader import check_file_head, open_file
from sonde.recording.tables import Recording
from sonde.row_values import OWNER_OBSERVED, PREEXISTING, RELEASED, WAIT_BEGIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.recording.read.declared import Declared

SECOND = 1_000_000_000
KEEP_NS = 120 * SECOND
MAX_ROWS = {"samples": 1 << 19, "lock_events": 1 << 17}
"""What may be kept of each table that is cut, however much comes in that time."""
UNFOLLOWED = (
    "spans", "span_ends", "span_attributes", "sizes", "windows", "calls", "objects", "object_ends",
    "probes", "probe_values",
    "flow_runs", "flow", "flow_events",
    "tasks", "task_times", "task_waits", "task_steps", "task_resumptions",
    "task_awaiters", "loop_times", "loop_lags",
    "lock_samples", "lock_counts",
    "step_traces", "step_codes", "step_lines", "step_words",
)  # fmt: skip
"""Tables that only grow and that nobody who looks live asks for."""
# Cutting copies what stays, so it is done now and then.
_SLACK_NS = 5 * SECOND
_CHUNK = 4 << 20
# Of a file that was there before us only this much of its end is looked at for samples.
_TAIL = 64 << 20

_COUNTS = (
    "taken", "running_samples", "lost", "undecodable", "undecodable_waits", "truncated",
    "agent_cpu_ns", "events_lost",
    "lock_events", "lock_events_lost", "waits", "duplicate_signals", "late_signals", "faults",
    "unnamed_code", "garbled_rings", "unsampled_cpu_ns", "recorder_cpu_ns", "steal_ns",
)  # fmt: skip
"""What a recording counts from its beginning on."""


class Follower:
    """A file that somebody else writes, as far as it is written."""

    def __init__(self, path: str, keep_ns: int = KEEP_NS) -> None:
        self.path = path
        self._keep_ns = keep_ns
        self._file = open_file(path)
        try:
            head = check_file_head(os.pread(self._file, FILE_HEAD_SIZE, 0), path)
        except BaseException:
            os.close(self._file)
            raise
        self._nonce = head.nonce
        self.size = FILE_HEAD_SIZE
        """Bytes understood so far."""
        self.ended = False
        """The recorder said that the recording is complete."""
        self.damaged = 0
        self._declared: list[Declared | None] = []
        self._next_row: dict[str, int] = {}
        nothing = BlockReader(NO_BLOCKS, 0, path)
        self._tables: dict[str, Columns] = {t.name: nothing.decode(t)[0] for t in TABLES}
        self._ranges: dict[str, Ranges] = {table.name: NO_RANGES for table in TABLES}
        self._facts = Facts()
        self._counted: list[tuple[int, dict[str, Any]]] = []
        self._cut_at = 0

    @property
    def written_ns(self) -> int:
        """How long the recording has lasted, in the recorder's last words."""
        return int(self._facts.target.get("duration_ns", 0))

    @property
    def kept_from_ns(self) -> int:
        """Since when samples are kept; everything since the beginning is 0."""
        return self._cut_at

    def close(self) -> None:
        os.close(self._file)

    def poll(self) -> bool:
        """Reads what was written since; whether any row was among it."""
        came = False
        while not self.ended:
            data = os.pread(self._file, _CHUNK, self.size)
            blocks = find_blocks(data, self._nonce, 0)
            if len(blocks):
                self.size += len(data) - blocks.torn
                came |= self._take(blocks, len(data))
                self.ended = blocks.ended
            elif len(data) == _CHUNK:  # nothing but damage: it goes on behind
                self.size += _CHUNK - 2 * MAX_RAW
                self.damaged += 1
            if len(data) < _CHUNK:
                break
        return came

    def _take(self, blocks: Blocks, size: int) -> bool:
        if os.fstat(self._file).st_size - self.size > _TAIL:
            blocks = self._without_samples(blocks)
        reader = BlockReader(blocks, size, self.path, self._declared, self._next_row)
        reader.collect()
        self._declared = reader.declared
        came = False
        for table in TABLES:
            if table.name in UNFOLLOWED:
                continue
            if len(reader.rows[table.name]):
                self._append(table.name, *reader.decode(table))
                came = True
        self.damaged += reader.damaged
        for facts in reader.facts:
            self._facts.merge(facts)
        if reader.facts:
            self._counted.append((self.written_ns, dict(self._facts.quality)))
        if reader.updates:
            self._update(reader.updates)
        self._cut()
        return came

    def _without_samples(self, blocks: Blocks) -> Blocks:
        unwanted = {
            number
            for number, entry in enumerate(self._declared)
            if entry is not None and entry.table.name == "samples"
        }
        heads = blocks.heads
        samples = (heads["kind"] == ROWS) & np.isin(heads["table"], list(unwanted))
        return blocks.only(~samples)

    def _append(self, name: str, columns: Columns, ranges: Ranges) -> None:
        kept = self._tables[name]
        for column, values in columns.items():
            if isinstance(values, list):
                kept[column] = kept[column] + values
            else:
                kept[column] = np.concatenate([kept[column], values])
        if len(ranges):
            first, end = runs(np.concatenate([self._ranges[name], ranges]))
            self._ranges[name] = np.column_stack((first, end - first))

    def _update(self, updates: list[Any]) -> None:
        # Columns handed out before stay as they were.
        for name in ("processes", "threads"):
            self._tables[name] = {key: old.copy() for key, old in self._tables[name].items()}
        maps = {
            name: RowMap(ranges if name in ("processes", "threads") else NO_RANGES)
            for name, ranges in self._ranges.items()
        }
        apply_updates(updates, self._tables, maps)

    # ---- forgetting

    def _cut(self) -> None:
        cut = self.written_ns - self._keep_ns
        for name, most in MAX_ROWS.items():
            time = self._tables[name]["time"]
            if len(time) > most:
                cut = max(cut, int(np.partition(time, len(time) - most // 2)[-most // 2]))
        if cut < self._cut_at + _SLACK_NS and all(
            len(self._tables[name]["time"]) <= most for name, most in MAX_ROWS.items()
        ):
            return
        self._cut_at = max(cut, self._cut_at)
        for name in MAX_ROWS:
            self._tables[name] = _since(name, self._tables[name], self._cut_at)
        del self._counted[: max(0, self._place(self._cut_at))]

    def _place(self, at_ns: int) -> int:
        """Which of the counts recorded were the last before a moment; -1: none."""
        return bisect_right([time for time, _ in self._counted], at_ns) - 1

    # ---- the last part as a recording

    def recording(self, since_ns: int = 0, waits_since_ns: int | None = None) -> Recording:
        """What was recorded since a moment; of lock events, since one that may be later.

        Counts of quality are those of the same time. Waits that were under way then are included.
        """
        since = {"samples": since_ns, "lock_events": waits_since_ns or since_ns}
        tables: dict[str, Columns] = {}
        maps: dict[str, RowMap] = {}
        for name, columns in self._tables.items():
            if name in since:
                tables[name] = _since(name, columns, since[name])
                maps[name] = RowMap(np.array([[0, len(tables[name]["time"])]]))
            else:
                tables[name] = {
                    key: list(values) if isinstance(values, list) else values
                    for key, values in columns.items()
                }
                maps[name] = RowMap(self._ranges[name])
        facts = self._facts.copy()
        facts.quality = self._counts_since(since_ns)
        return put_together(self.path, tables, maps, facts, self.damaged, self._declared)

    def _counts_since(self, since_ns: int) -> dict[str, Any]:
        counts = dict(self._facts.quality)
        place = self._place(since_ns)
        if since_ns <= 0 or place < 0:
            return counts
        before = self._counted[place][1]
        for key in _COUNTS:
            now, then = counts.get(key), before.get(key)
            if isinstance(now, int) and isinstance(then, int):
                counts[key] = max(0, now - then)
        return counts


def _since(name: str, columns: Columns, cut: int) -> Columns:
    time = columns["time"]
    if not len(time) or int(time.min()) >= cut:
        return dict(columns)
    keep = time >= cut
    if name == "lock_events":
        keep |= _under_way(columns, ~keep)
    return {key: values[keep] for key, values in columns.items()}


def _under_way(columns: Columns, early: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which early events began a wait that did not end among them, or state who held the lock.

    A thread waits for one thing at a time: its next word of waiting shows when that was over.
    """
    thread, time, lock, kind = (columns[key] for key in ("thread", "time", "lock", "type"))
    kept = np.zeros(len(time), dtype=bool)
    telling = np.flatnonzero((kind != RELEASED) & (kind != OWNER_OBSERVED))
    order = telling[np.lexsort((telling, time[telling], thread[telling]))]
    if not len(order):
        return kept
    begins = ((kind == WAIT_BEGIN) | (kind == PREEXISTING))[order]
    another = thread[order[1:]] != thread[order[:-1]]
    goes_on = np.append(another | ~early[order[1:]], True)
    begun = order[begins & goes_on & early[order]]
    kept[begun] = True
    since: dict[int, int] = {}
    for row, at in zip(lock[begun].tolist(), time[begun].tolist(), strict=True):
        since[row] = min(at, since.get(row, at))
    for place in np.flatnonzero(early & (kind == OWNER_OBSERVED)).tolist():
        began = since.get(int(lock[place]))
        kept[place] = began is not None and int(time[place]) >= began
    return kept

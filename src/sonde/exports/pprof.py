"""pprof's gzipped protocol buffer."""

from __future__ import annotations

import gzip
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sonde.exports.messages import message_class
from sonde.model.trees.context_tree import sums
from sonde.row_values import RUNNING
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.profile import profile
from sonde.views.selecting.selection import ALIVE, ALLOCATED, chosen

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

SUFFIX = ".pb.gz"
TEXT = False
MEMORY = True
LOGICAL = True

# Field numbers and types of perftools.profiles, as pprof publishes them; * is repeated.
SCHEMA = {
    "ValueType": "1 type int64, 2 unit int64",
    "Label": "1 key int64, 2 str int64, 3 num int64, 4 num_unit int64",
    "Sample": "1 location_id *uint64, 2 value *int64, 3 label *Label",
    "Mapping": (
        "1 id uint64, 2 memory_start uint64, 3 memory_limit uint64, 4 file_offset uint64, "
        "5 filename int64, 6 build_id int64, 7 has_functions bool, 8 has_filenames bool, "
        "9 has_line_numbers bool, 10 has_inline_frames bool"
    ),
    "Line": "1 function_id uint64, 2 line int64",
    "Location": (
        "1 id uint64, 2 mapping_id uint64, 3 address uint64, 4 line *Line, 5 is_folded bool"
    ),
    "Function": (
        "1 id uint64, 2 name int64, 3 system_name int64, 4 filename int64, 5 start_line int64"
    ),
    "Profile": (
        "1 sample_type *ValueType, 2 sample *Sample, 3 mapping *Mapping, 4 location *Location, "
        "5 function *Function, 6 string_table *string, 7 drop_frames int64, 8 keep_frames int64, "
        "9 time_nanos int64, 10 duration_nanos int64, 11 period_type ValueType, 12 period int64, "
        "13 comment *int64, 14 default_sample_type int64"
    ),
}


SPACE = {ALLOCATED: "alloc_space", ALIVE: "inuse_space"}
"""What pprof calls bytes of objects."""


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
        packed.write(_encode(recording, selection))


def _encode(recording: Recording, selection: Selection) -> bytes:
    message = _message_class()()
    strings = Strings()
    target = recording.target
    types = [("samples", "count"), ("cpu", "nanoseconds"), ("wait", "nanoseconds")]
    if selection.memory is not None:
        types[1:] = [(SPACE[selection.memory], "bytes")]
    elif selection.time == "running":
        types.pop()
    for kind, unit in types:
        message.sample_type.add(type=strings[kind], unit=strings[unit])
    main = types[1] if selection.time != "waiting" else types[2]
    message.default_sample_type = strings[main[0]]
    rate = recording.quality.get("rate_asked") or target.get("rate")
    if rate and selection.memory is None:
        message.period_type.type, message.period_type.unit = strings["cpu"], strings["nanoseconds"]
        message.period = round(1e9 / rate)
    started = target.get("started")
    if isinstance(started, int | float):
        message.time_nanos = round(started * 1e9)
    message.duration_nanos = duration_ns(recording)
    # Says that names, files and lines are all there, or pprof would look for symbols itself.
    message.mapping.add(
        id=1,
        filename=strings[str(target.get("program") or "python")],
        has_functions=True,
        has_filenames=True,
        has_line_numbers=True,
    )
    _add_samples(message, strings, recording, selection, waits=len(types) > 2)
    message.string_table.extend(strings.all)
    return bytes(message.SerializeToString())


def _add_samples(
    message: Any, strings: Strings, recording: Recording, selection: Selection, *, waits: bool
) -> None:
    found = profile(recording, selection)
    for number, (name, file, line, _) in enumerate(found.functions, 1):
        message.function.add(
            id=number,
            # Without a system_name: pprof takes an equal one for a name of C++ and strips
            # what stands in angle brackets, such as <module> and <lambda>.
            name=strings[name],
            filename=strings[file],
            start_line=line,
        )
    span = int(found.line.max()) + 1 if len(found.line) else 1
    frames, frame = np.unique(found.function * span + found.line, return_inverse=True)
    for number, key in enumerate(frames.tolist(), 1):
        location = message.location.add(id=number, mapping_id=1)
        location.line.add(function_id=key // span + 1, line=key % span)

    rows, weight = chosen(recording, selection)
    size = max(len(found.tree), 1)
    node = found.node[recording.samples.context[rows]]
    keys, place = np.unique(
        recording.samples.thread[rows].astype(np.int64) * size + node, return_inverse=True
    )
    running = recording.samples.state[rows] == RUNNING
    values = [
        sums(place, np.ones_like(weight), len(keys)),
        sums(place, np.where(running, weight, 0), len(keys)),
    ]
    if waits:
        values.append(sums(place, np.where(running, 0, weight), len(keys)))

    location_of = (frame + 1).tolist()
    ends = set((keys % size).tolist())
    stacks = {
        at: [location_of[i] for i in reversed(path)]
        for at, path in found.tree.paths()
        if at in ends
    }
    labels = [_labels(recording, strings, i) for i in range(len(recording.threads))]
    for key, *counted in zip(keys.tolist(), *(column.tolist() for column in values), strict=True):
        sample = message.sample.add(location_id=stacks[key % size], value=counted)
        for label in labels[key // size]:
            sample.label.add(**label)


def _labels(recording: Recording, strings: Strings, thread: int) -> list[dict[str, int]]:
    threads = recording.threads
    process = recording.processes[int(threads.process[thread])]
    tid = int(threads.tid[thread])
    return [
        {"key": strings["thread"], "str": strings[threads.name[thread] or str(tid)]},
        {"key": strings["thread_id"], "num": tid},
        {"key": strings["process"], "num": process.pid},
    ]


class Strings:
    """pprof's table of texts: each once, the empty one first."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        # Names from a file system may hold half characters, which UTF-8 cannot.
        whole = text.encode("utf-8", "replace").decode()
        return self._numbers.setdefault(whole, len(self._numbers))

    @property
    def all(self) -> list[str]:
        return list(self._numbers)


@cache
def _message_class() -> Any:
    return message_class("perftools.profiles", SCHEMA, "Profile")

"""OpenTelemetry's profiles, as a collector takes them over OTLP.

The signal is in development and changes between versions of the protocol: what is written here is
package `profiles.v1development` as version 1.45 of the Python package opentelemetry-proto has it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

import numpy as np

from sonde._version import version
from sonde.exports.messages import message_class
from sonde.exports.pprof import SPACE, Strings
from sonde.model.trees.context_tree import ContextTree, sums
from sonde.row_values import RUNNING
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.profile import profile
from sonde.views.selecting.selection import chosen
from sonde.views.selecting.span_filter import SPAN_ID, TRACE_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Profile
    from sonde.views.selecting.selection import Selection

SUFFIX = ".otlp.pb"
TEXT = False
MEMORY = True
PATH = "/v1development/profiles"
"""Where a collector takes them over HTTP."""

# Field numbers and types as published; * is repeated. Fields that are not used are left out.
SCHEMA = {
    "AnyValue": "1 string_value string, 3 int_value int64",
    "KeyValue": "1 key string, 2 value AnyValue",
    "Resource": "1 attributes *KeyValue",
    "InstrumentationScope": "1 name string, 2 version string",
    "ValueType": "1 type_strindex int32, 2 unit_strindex int32",
    "Link": "1 trace_id bytes, 2 span_id bytes",
    "KeyValueAndUnit": "1 key_strindex int32, 2 value AnyValue, 3 unit_strindex int32",
    "Mapping": "1 memory_start uint64, 4 filename_strindex int32",
    "Function": (
        "1 name_strindex int32, 2 system_name_strindex int32, 3 filename_strindex int32, "
        "4 start_line int64"
    ),
    "Line": "1 function_index int32, 2 line int64",
    "Location": "1 mapping_index int32, 2 address uint64, 3 lines *Line",
    "Stack": "1 location_indices *int32",
    "Sample": (
        "1 stack_index int32, 2 attribute_indices *int32, 3 link_index int32, 4 values *int64"
    ),
    "Profile": (
        "1 sample_type ValueType, 2 samples *Sample, 3 time_unix_nano fixed64, "
        "4 duration_nano uint64, 5 period_type ValueType, 6 period int64, 7 profile_id bytes"
    ),
    "ScopeProfiles": "1 scope InstrumentationScope, 2 profiles *Profile",
    "ResourceProfiles": "1 resource Resource, 2 scope_profiles *ScopeProfiles",
    "ProfilesDictionary": (
        "1 mapping_table *Mapping, 2 location_table *Location, 3 function_table *Function, "
        "4 link_table *Link, 5 string_table *string, 6 attribute_table *KeyValueAndUnit, "
        "7 stack_table *Stack"
    ),
    "ProfilesData": "1 resource_profiles *ResourceProfiles, 2 dictionary ProfilesDictionary",
}

RESOURCE = {
    "service": "service.name",
    "version": "service.version",
    "host": "host.name",
    "container": "container.id",
    "region": "cloud.region",
}
"""What OpenTelemetry calls our labels; those of the user keep their names."""


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    target = recording.target
    labels = {"service": str(target.get("program") or "unknown")}
    if target.get("host"):
        labels["host"] = str(target["host"])
    out.write(request(recording, selection, labels))


def request(recording: Recording, selection: Selection, labels: Mapping[str, str]) -> bytes:
    """What is sent to a collector; the same bytes are a file of profiles."""
    message = _message_class()()
    strings = Strings()
    of = message.resource_profiles.add()
    for name, value in labels.items():
        key = of.resource.attributes.add(key=RESOURCE.get(name, name))
        key.value.string_value = _whole(value)
    scope = of.scope_profiles.add()
    scope.scope.name, scope.scope.version = "sonde", version()

    found = profile(recording, selection)
    _add_stacks(message.dictionary, strings, found)
    _add_samples(message.dictionary, strings, scope, recording, selection, found)
    message.dictionary.string_table.extend(strings.all)
    return bytes(message.SerializeToString())


def _add_stacks(tables: Any, strings: Strings, found: Profile) -> None:
    """Of every table the first row is empty: 0 stands for none."""
    tables.mapping_table.add()
    tables.link_table.add()
    tables.attribute_table.add()
    tables.function_table.add()
    tables.location_table.add()
    tables.stack_table.add()
    for function in found.functions:
        tables.function_table.add(
            name_strindex=strings[function.name],
            filename_strindex=strings[function.file],
            start_line=function.line,
        )
    span = int(found.line.max()) + 1 if len(found.line) else 1
    frames, frame = np.unique(found.function * span + found.line, return_inverse=True)
    for key in frames.tolist():
        location = tables.location_table.add()
        location.lines.add(function_index=key // span + 1, line=key % span)
    location_of = (frame + 1).tolist()
    stacks: dict[int, list[int]] = {
        node: [location_of[i] for i in reversed(path)] for node, path in found.tree.paths()
    }
    for node in range(len(found.tree)):
        tables.stack_table.add(location_indices=stacks[node])


def _add_samples(
    tables: Any,
    strings: Strings,
    scope: Any,
    recording: Recording,
    selection: Selection,
    found: Profile,
) -> None:
    """A profile of time on a processor and one of time off it: each has one kind of value."""
    samples = recording.samples
    rows, weight = chosen(recording, selection)
    size = max(len(found.tree), 1)
    node = found.node[samples.context[rows]]
    links, link_of_span = _links(tables, recording)
    link = link_of_span[samples.span[rows]]
    key = (samples.thread[rows].astype(np.int64) * size + node) * links + link
    running = samples.state[rows] == RUNNING
    unit = "nanoseconds" if selection.memory is None else "bytes"
    attributes = [_attributes(tables, strings, recording, i) for i in range(len(recording.threads))]
    started = recording.target.get("started")
    rate = recording.quality.get("rate_asked") or recording.target.get("rate")
    kinds = (("cpu", running), ("off_cpu", ~running))
    if selection.memory is not None:
        kinds = ((SPACE[selection.memory], running), ("", ~running))
    for name, mask in kinds:
        if not mask.any():
            continue
        added = scope.profiles.add(duration_nano=duration_ns(recording), profile_id=uuid4().bytes)
        added.sample_type.type_strindex = strings[name]
        added.sample_type.unit_strindex = strings[unit]
        if isinstance(started, int | float):
            added.time_unix_nano = round(started * 1e9)
        if rate and name == "cpu":
            added.period_type.CopyFrom(added.sample_type)
            added.period = round(1e9 / rate)
        keys, place = np.unique(key[mask], return_inverse=True)
        spent = sums(place, weight[mask], len(keys))
        for one, ns in zip(keys.tolist(), spent.tolist(), strict=True):
            place, link_index = divmod(one, links)
            added.samples.add(
                stack_index=place % size + 1,
                attribute_indices=attributes[place // size],
                link_index=link_index,
                values=[ns],
            )


def _links(tables: Any, recording: Recording) -> tuple[int, NDArray[np.int64]]:
    """The size of the table of links, and by span, and last for none, which one it has.

    A link names the span of a trace, that of the innermost span around a sample which has one.
    """
    spans = recording.spans
    places: dict[tuple[bytes, bytes], int] = {}
    own = np.zeros(len(spans), dtype=np.int64)
    for row, attributes in enumerate(spans.attributes):
        ids = _ids(attributes)
        if ids is None:
            continue
        if ids not in places:
            tables.link_table.add(trace_id=ids[0], span_id=ids[1])
            places[ids] = len(places) + 1
        own[row] = places[ids]
    nearest = ContextTree(spans.parent).nearest(own > 0)
    return len(places) + 1, np.append(np.where(nearest >= 0, own[nearest], 0), 0)


def _ids(attributes: Mapping[str, str]) -> tuple[bytes, bytes] | None:
    try:
        trace, span = (bytes.fromhex(attributes[key]) for key in (TRACE_ID, SPAN_ID))
    except (KeyError, ValueError):
        return None
    return (trace, span) if (len(trace), len(span)) == (16, 8) else None


def _attributes(tables: Any, strings: Strings, recording: Recording, thread: int) -> list[int]:
    threads = recording.threads
    tid = int(threads.tid[thread])
    pid = recording.processes[int(threads.process[thread])].pid
    indices = []
    for name, value in (
        ("thread.name", threads.name[thread] or str(tid)), ("thread.id", tid), ("process.pid", pid),
    ):  # fmt: skip
        added = tables.attribute_table.add(key_strindex=strings[name])
        if isinstance(value, str):
            added.value.string_value = _whole(value)
        else:
            added.value.int_value = value
        indices.append(len(tables.attribute_table) - 1)
    return indices


def _whole(text: str) -> str:
    """Without half characters, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


@cache
def _message_class() -> Any:
    return message_class("sonde.otlp", SCHEMA, "ProfilesData")

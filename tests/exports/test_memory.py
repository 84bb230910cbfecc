"""Bytes of objects in every format that has a unit for them."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import jsonschema
import pytest

from allocations import Allocation, recording_of
from exports.readers import node, package
from exports.test_pprof import DECODE, samples
from sonde.exports import FORMATS, format_named
from sonde.views.objects.memory_samples import memory_samples
from sonde.views.objects.objects import objects
from sonde.views.selecting.selection import ALIVE, ALLOCATED, MEMORY, Selection

WITH_BYTES = [name for name in FORMATS if getattr(format_named(name), "MEMORY", False)]
RECORDING = recording_of(
    [
        Allocation(-5, "main:1 > keep:5", size=300),
        Allocation(10, "main:1 > keep:5", size=500),
        Allocation(20, "main:2 > drop:6", size=700, freed=30),
        Allocation(25, "main:2 > drop:6", size=700, freed=31, thread="worker"),
    ]
)


def expected(memory: str) -> int:
    found = objects(RECORDING)
    assert found.survival is not None
    return found.estimated_bytes if memory == ALLOCATED else found.survival.live_bytes


def exported(to: str, memory: str) -> bytes:
    selection, out = Selection(memory=memory), io.BytesIO()
    format_named(to).write(memory_samples(RECORDING, selection), selection, out)
    return out.getvalue()


def test_formats_with_bytes() -> None:
    assert WITH_BYTES == ["collapsed", "speedscope", "pprof", "firefox", "otlp"]


@pytest.mark.parametrize("memory", MEMORY)
def test_collapsed(memory: str) -> None:
    lines = exported("collapsed", memory).decode().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == pytest.approx(
        expected(memory), abs=4
    )
    assert any("keep (/app/app.py:5)" in line for line in lines)
    assert any("drop" in line for line in lines) == (memory == ALLOCATED)


@pytest.mark.parametrize("memory", MEMORY)
def test_speedscope(memory: str) -> None:
    found = json.loads(exported("speedscope", memory))
    schema = package("speedscope") / "dist/release/file-format-schema.json"
    jsonschema.validate(found, json.loads(schema.read_text()))
    assert {profile["unit"] for profile in found["profiles"]} == {"bytes"}
    sums = [sum(profile["weights"]) for profile in found["profiles"]]
    assert sum(sums) == pytest.approx(expected(memory), abs=4)
    assert [profile["endValue"] for profile in found["profiles"]] == sums


@pytest.mark.parametrize(("memory", "kind"), [(ALLOCATED, "alloc_space"), (ALIVE, "inuse_space")])
def test_pprof(tmp_path: Path, memory: str, kind: str) -> None:
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(exported("pprof", memory))
    read = json.loads(node(DECODE, str(package("pprof-format")), str(path)))
    text = read["stringTable"]
    types = [(text[t["type"]], text[t["unit"]]) for t in read["sampleType"]]
    assert types == [("samples", "count"), (kind, "bytes")]
    assert text[read["defaultSampleType"]] == kind
    values = [value for _, value, _ in samples(read)]
    assert sum(int(size) for _, size in values) == pytest.approx(expected(memory), abs=4)


@pytest.mark.parametrize("memory", MEMORY)
def test_firefox(memory: str) -> None:
    found = json.loads(gzip.decompress(exported("firefox", memory)))
    tables = [thread["samples"] for thread in found["threads"]]
    assert {table["weightType"] for table in tables} == {"bytes"}
    assert sum(sum(table["weight"]) for table in tables) == pytest.approx(expected(memory), abs=4)
    assert min(time for table in tables for time in table["time"]) >= 0

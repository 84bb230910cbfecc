"""Which part of the Java heap a page fault was in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from java import Jdk, compiled
from launching import must_run, sonde
from shared import run_folder

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
# What a heap of this size has of each: 120 MB for new objects.
HEAP = ("-Xms320m", "-Xmx320m", "-Xmn120m", "-XX:-UseTransparentHugePages")


@pytest.mark.parametrize(
    ("collector", "large"),
    [
        # The young generation has room for all of them.
        (("-XX:+UseSerialGC",), "eden"),
        (("-XX:+UseParallelGC",), "eden"),
        (("-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m"), "humongous"),
    ],
    ids=lambda value: value[0].lstrip("-X:+") if isinstance(value, tuple) else None,
)
def test_a_fault_lies_where_the_collector_puts_new_objects(
    jdk: Jdk,
    keep: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    collector: tuple[str, ...],
    large: str,
) -> None:
    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    command = [jdk.java, *HEAP, *collector, "-cp", classes, "Touches"]
    run = must_run(keep("touches"), command, "--what", "+event:page-faults")
    done = sonde("report", run.path, "data", "--by", "context,memory", "--json")
    found: dict[str, Counter[str]] = {"small": Counter(), "large": Counter()}
    for row in json.loads(done.stdout)["rows"]:
        names = json.dumps(row["key"]["context"])
        for name, counts in found.items():
            if f"Touches.{name}" in names:
                counts[row["key"]["memory"]] += row["samples"]
    for name, memory in (("small", "eden"), ("large", large)):
        total = found[name].total()
        assert total > 1000, found
        # G1 may have freed or not yet named a region at the moment it is asked about.
        assert found[name][memory] >= 0.97 * total, found

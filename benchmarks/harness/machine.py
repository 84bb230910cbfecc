"""The machine the figures are of, without its name."""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
from pathlib import Path

from harness import source_state


def describe(pythons: dict[str, str]) -> str:
    """A paragraph for the head of the evaluation."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    kernel = platform.release().split("-")[0]
    parts = [
        f"{os.cpu_count()} processors ({_cpu('model name')}{_virtual()})",
        f"{memory:.0f} GiB of memory",
        f"Linux {kernel}",
        f"perf hardware counters {'present' if _hardware_counters() else 'absent'}",
        f"perf_event_paranoid {_read('/proc/sys/kernel/perf_event_paranoid')}",
    ]
    versions = ", ".join(filter(None, (_version(python) for python in pythons.values())))
    return f"Measured {today} at {source_state.commit()} on {'; '.join(parts)}. CPython {versions}."


def _cpu(field: str) -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == field:
            return value.strip()
    return platform.machine()


def _virtual() -> str:
    flags = _cpu("flags").split()
    return ", a virtual machine" if "hypervisor" in flags else ""


def _hardware_counters() -> bool:
    return Path("/sys/bus/event_source/devices/cpu").exists()


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def _version(python: str) -> str | None:
    done = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None

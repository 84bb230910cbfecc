"""What a program that starts needs to join the session while the recorder is late.

The agent asks the recorder first. If that does not answer soon, it reads this file beside the
socket, arms itself (native/core/protocol/self_arm.c) and goes on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .recorder.capture_control import STACK_BITS, bits_of
from .recorder.options.options import RING_SIZE, SLOTS, online_memory
from .shm import layout as shm
from .system import perf_events

if TYPE_CHECKING:
    from .recorder.options.options import Options

FILE = "config"
_SELF_ARMED = {"cpu", "waits", "locks", "threads"}


def write_config(folder: str, options: Options) -> None:
    """Writes it, if a program may arm itself with these options."""
    if options.sampler not in ("auto", "perf") or not _SELF_ARMED.issuperset(options.what):
        return
    if perf_events.kernel_version() < perf_events.SIGTRAP_SAFE_FROM:
        return
    stacks = STACK_BITS.get(options.stacks, 0)
    if online_memory(options):
        stacks |= shm.WHAT_ACTIVATIONS
    config = shm.CONFIG.pack(
        shm.MAGIC,
        shm.PROTOCOL,
        shm.size_of(SLOTS, RING_SIZE),
        1_000_000_000 // options.rate,
        SLOTS,
        RING_SIZE,
        bits_of({*options.what, "cpu"}) | stacks,
        int(options.children),
    )
    arm = shm.ARM.pack(shm.MAGIC, shm.SAMPLER_PERF, int("waits" in options.what), 0)
    with open(os.path.join(folder, FILE), "wb") as f:
        f.write(config + arm)

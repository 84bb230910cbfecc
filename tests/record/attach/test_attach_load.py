"""Attached to and left many times while it serves requests: nobody notices, nothing grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target
from launching import TARGETS, Interpreter
from matrix import NEWEST, OLDEST_AND_NEWEST
from serving import CLIENTS, Load, record_once, size

pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)

CYCLES = 12
# Until everything is made that is made once.
SETTLED = 3
# New connections too, each a new thread over there.
NEW_EVERY = 20


@pytest.mark.versions(NEWEST)
def test_a_server_under_load_does_not_notice(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    # libc would go on giving new threads memory of their own, 64 MB of addresses each.
    one_arena = {"MALLOC_ARENA_MAX": "1"}
    with Target(python, TARGETS / "serving.py", env=one_arena) as target:
        load = Load(int(target.first[1]), NEW_EVERY)
        sizes, taken = [], 0
        try:
            for _ in range(CYCLES):
                taken += record_once(target.pid, keep("load"))
                sizes.append(size(target.pid))
        finally:
            load.end()
        code, out, err = target.end()
    assert load.failed == []
    assert load.answered.total() > 100
    assert taken > 100
    assert (code, err) == (0, "")
    assert json.loads(out)["answered"] >= load.answered.total()
    before, after = sizes[SETTLED - 1], sizes[-1]
    # Connections come and go meanwhile, and with them a thread and what libc keeps for one.
    assert after["descriptors"] <= before["descriptors"] + CLIENTS
    assert after["threads"] <= before["threads"] + CLIENTS
    assert after["maps"] <= before["maps"] + 6 * CLIENTS
    assert after["mapped_kb"] <= before["mapped_kb"] + CLIENTS * (8 << 10)
    assert after["resident_kb"] <= before["resident_kb"] + (8 << 10)
